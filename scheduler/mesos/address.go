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
)

// apiPath is where a master takes calls. It redirects to a path of its own choice.
const apiPath = "/api/v1/scheduler"

const dialTimeout = 10 * time.Second

// parseMaster turns what people write as the master's address into the URL of its scheduler API. Blanks around it, a
// slash behind it and the "master@" of a libprocess address are harmless. Errors never repeat a text with an "@"
// in it, as that may hold a password.
func parseMaster(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	refuse := func(why string) (*url.URL, error) { return nil, fmt.Errorf("mesos: master address %q: %s", text, why) }
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "http", text
	}
	scheme, rest = strings.ToLower(scheme), strings.TrimPrefix(strings.TrimSuffix(rest, "/"), "master@")
	switch {
	case text == "":
		return nil, errors.New("mesos: the master address is empty: want HOST:PORT")
	case strings.Contains(rest, "@"):
		return nil, errors.New(`mesos: the master address has an "@": want HOST:PORT; principal and secret are given separately`)
	case scheme == "zk":
		return refuse("ZooKeeper is not supported by this version: give the HOST:PORT of one master, it redirects to the leader")
	case scheme != "http" && scheme != "https":
		return refuse("want HOST:PORT, http://HOST:PORT or https://HOST:PORT")
	case strings.Contains(rest, ","):
		return refuse("lists are not supported by this version: give one master, it redirects to the leader")
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
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port), Path: apiPath}, nil
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

// CheckMaster returns the error that New would have for the address of a master, so that it can be told before anything
// is started.
func CheckMaster(master string) error {
	_, err := parseMaster(master)
	return err
}

// LocalAddress returns the IP address that this machine uses towards the master, by connecting to it. The address is what
// agents in the same network most likely reach us at. The master's text is as in Config.
func LocalAddress(ctx context.Context, master string) (netip.Addr, error) {
	to, err := parseMaster(master)
	if err != nil {
		return netip.Addr{}, err
	}
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", to.Host)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("connect to master %s: %w", to.Host, err)
	}
	defer conn.Close()
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return netip.Addr{}, fmt.Errorf("read own address towards master %s: %w", to.Host, err)
	}
	return local.Addr().Unmap(), nil
}
