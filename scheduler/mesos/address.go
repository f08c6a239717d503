package mesos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tfmesos/scheduler/mesos/detector"
)

// apiPath is where a master takes calls. It redirects to a path of its own choice.
const apiPath = "/api/v1/scheduler"

// dialTimeout is what a master costs that is not there, before the next is tried: enough for a lost packet.
const dialTimeout = 3 * time.Second

// masters is where to look for the leading one: at each of the list in turn, or where a ZooKeeper says.
type masters struct {
	list      []*url.URL
	zookeeper *detector.Ensemble // nil: the list
	scheme    string             // of an address that names none
}

// String shows them without credentials.
func (m *masters) String() string {
	if m.zookeeper != nil {
		return m.zookeeper.String()
	}
	var hosts []string
	for _, u := range m.list {
		hosts = append(hosts, u.Host)
	}
	return strings.Join(hosts, ",")
}

// parseMasters reads what people write as the address of masters: one, several with commas, or zk://… of a ZooKeeper. Blanks around
// an address, a slash behind it, empty ones in a list and the "master@" of a libprocess address are harmless. secure is for those
// that name no scheme. Errors never repeat a text with an "@" in it, as that may hold a password.
func parseMasters(text string, secure bool) (*masters, error) {
	m := &masters{scheme: "http"}
	if secure {
		m.scheme = "https"
	}
	text = strings.TrimSpace(text)
	if isZooKeeper(text) {
		ensemble, err := detector.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("mesos: %w", err)
		}
		m.zookeeper = ensemble
		return m, nil
	}
	var entries []string
	for _, entry := range strings.Split(text, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
		if _, rest := cutScheme(entry, m.scheme); strings.Contains(rest, "@") {
			return nil, errors.New(`mesos: the master address has an "@": want HOST:PORT; principal and secret are given separately`)
		}
	}
	if len(entries) == 0 {
		return nil, errors.New("mesos: the master address is empty: want HOST:PORT, several with commas, or zk://HOST:PORT/PATH")
	}
	for _, entry := range entries {
		u, err := parseMaster(entry, m.scheme)
		if err != nil {
			return nil, err
		}
		m.list = append(m.list, u)
	}
	return m, nil
}

func isZooKeeper(text string) bool {
	return len(text) >= len(detector.Scheme) && strings.EqualFold(text[:len(detector.Scheme)], detector.Scheme)
}

// cutScheme takes scheme, last slash and "master@" off an address.
func cutScheme(text, standard string) (scheme, rest string) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = standard, text
	}
	return strings.ToLower(scheme), strings.TrimPrefix(strings.TrimSuffix(rest, "/"), "master@")
}

// parseMaster turns one address into the URL of the master's scheduler API.
func parseMaster(text, standard string) (*url.URL, error) {
	refuse := func(why string) (*url.URL, error) { return nil, fmt.Errorf("mesos: master address %q: %s", text, why) }
	scheme, rest := cutScheme(text, standard)
	switch {
	case isZooKeeper(text):
		return refuse("a ZooKeeper stands alone, as zk://HOST:PORT,HOST:PORT/PATH")
	case scheme != "http" && scheme != "https":
		return refuse("want HOST:PORT, http://HOST:PORT or https://HOST:PORT")
	case strings.ContainsAny(rest, "/?#"):
		return refuse("want nothing after HOST:PORT")
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		return refuse("want HOST:PORT, as in 10.0.0.1:5050 or [::1]:5050")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return refuse("the port is not a number from 1 to 65535")
	}
	if !validHost(host) {
		return refuse("the host is not a name or IP address")
	}
	return masterURL(scheme, net.JoinHostPort(host, port)), nil
}

func masterURL(scheme, address string) *url.URL {
	return &url.URL{Scheme: scheme, Host: address, Path: apiPath}
}

// validHost accepts IP addresses and what can be a DNS name; underscores occur in names of containers.
func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool {
		return !(r == '-' || r == '.' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	})
}

// redirected resolves the Location of a redirect. Mesos sends "//host:port/path" (Master::Http::redirect): the scheme
// stays that of the request, also against a Location that names one. A Location without a path keeps the path too.
func redirected(from *url.URL, location string) (*url.URL, error) {
	to, err := url.Parse(location)
	if err != nil || to.Host == "" || location == "" {
		return nil, fmt.Errorf("%s redirects to %q, which is no address", from.Host, oneLine(location))
	}
	path := to.Path
	if path == "" || path == "/" {
		path = from.Path
	}
	return &url.URL{Scheme: from.Scheme, Host: to.Host, Path: path}, nil
}

// CheckMaster returns the error that New would have for the address of masters, so that it can be told before anything is started.
func CheckMaster(master string) error {
	_, err := parseMasters(master, false)
	return err
}

// ShowMaster returns the address of masters for people: without credentials, and empty if it is none.
func ShowMaster(master string) string {
	m, err := parseMasters(master, false)
	if err != nil {
		return ""
	}
	return m.String()
}

// LocalAddress returns the IP address that this machine uses towards the masters, the first of them whose name is known; with
// ZooKeeper, towards that. It is what agents in the same network most likely reach us at. Nothing is sent: the answer is that of
// the routing table, and masters may come later. The master's text is as in Config.
func LocalAddress(ctx context.Context, master string) (netip.Addr, error) {
	m, err := parseMasters(master, false)
	if err != nil {
		return netip.Addr{}, err
	}
	hosts := strings.Split(m.String(), ",")
	if m.zookeeper != nil {
		hosts = m.zookeeper.Servers
	}
	for _, host := range hosts {
		var local netip.Addr
		if local, err = localTowards(ctx, host); err == nil {
			return local, nil
		}
	}
	return netip.Addr{}, err
}

func localTowards(ctx context.Context, host string) (netip.Addr, error) {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "udp", host)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the way to %s: %w", host, err)
	}
	defer conn.Close()
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return netip.Addr{}, fmt.Errorf("read own address towards %s: %w", host, err)
	}
	return local.Addr().Unmap(), nil
}
