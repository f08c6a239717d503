package detector

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Scheme is what the address of an ensemble begins with.
const Scheme = "zk://"

// defaultPort is that of ZooKeeper.
const defaultPort = "2181"

// Ensemble is a ZooKeeper with the path at which masters elect their leader.
type Ensemble struct {
	// Servers are host:port; any of them will do.
	Servers []string
	// Path is where the masters' nodes are, like /mesos.
	Path string

	digest string // user:password; empty: none
}

// Parse reads zk://[user:password@]host1:port1,host2:port2,…/path, which is what Mesos' own programs take. A port may be left out,
// and blanks and slashes at the end are harmless. As in Mesos the first slash begins the path, and the last "@" before it ends
// the credentials; they are taken byte by byte. No error repeats what may be a password.
func Parse(text string) (*Ensemble, error) {
	text = strings.TrimSpace(text)
	if len(text) < len(Scheme) || !strings.EqualFold(text[:len(Scheme)], Scheme) {
		return nil, fmt.Errorf("zookeeper address: want %sHOST:PORT,HOST:PORT/PATH", Scheme)
	}
	servers, path, _ := strings.Cut(text[len(Scheme):], "/")
	e := &Ensemble{}
	if at := strings.LastIndex(servers, "@"); at >= 0 {
		e.digest, servers = servers[:at], servers[at+1:]
		if user, _, found := strings.Cut(e.digest, ":"); !found || user == "" {
			return nil, errors.New(`zookeeper address: want USER:PASSWORD before the "@" (not shown here)`)
		}
	}
	if path = strings.Trim(path, "/ "); path == "" {
		return nil, fmt.Errorf("zookeeper address %s%s has no path: want %sHOST:PORT,HOST:PORT/PATH, most often /mesos", Scheme, servers, Scheme)
	}
	if strings.ContainsAny(path, "?#@\x00") || strings.Contains("/"+path+"/", "//") || strings.Contains("/"+path+"/", "/./") || strings.Contains("/"+path+"/", "/../") {
		return nil, errors.New("zookeeper address: its path is none of a node (not shown here: it may hold a part of a password with a slash in it)")
	}
	e.Path = "/" + path
	for _, server := range strings.Split(servers, ",") {
		if server = strings.TrimSpace(server); server == "" {
			continue
		}
		address, err := serverAddress(server)
		if err != nil {
			return nil, err
		}
		e.Servers = append(e.Servers, address)
	}
	if len(e.Servers) == 0 {
		return nil, fmt.Errorf("zookeeper address: it names no server: want %sHOST:PORT,HOST:PORT/PATH", Scheme)
	}
	return e, nil
}

func serverAddress(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.Trim(text, "[]"), defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("zookeeper server %q: the port is not a number from 1 to 65535", text)
	}
	if _, err := netip.ParseAddr(host); err != nil && (host == "" || strings.ContainsAny(host, ":[]/@ \t?#%\"")) {
		return "", fmt.Errorf("zookeeper server %q: the host is not a name or IP address", text)
	}
	return net.JoinHostPort(host, port), nil
}

// String returns the address without its credentials.
func (e *Ensemble) String() string { return Scheme + strings.Join(e.Servers, ",") + e.Path }

// LogValue is that of String.
func (e *Ensemble) LogValue() slog.Value { return slog.StringValue(e.String()) }

// GoString is that of String.
func (e *Ensemble) GoString() string { return e.String() }
