package launch

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Port is a TCP port that is bound and never listened on, so that no bind(0) of another process gets it while a server
// that asks for this very port does.
//
// It is bound on the wildcard of both families: a hold on one address loses the port to a bind(0) on another. SO_REUSEADDR
// lets the server bind beside it; gRPC and Python's servers set that too.
type Port struct {
	fd     int
	number int
}

// HoldPort takes a free port.
func HoldPort() (*Port, error) {
	p, err := hold(unix.AF_INET6, &unix.SockaddrInet6{})
	if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EADDRNOTAVAIL) { // no IPv6 here
		p, err = hold(unix.AF_INET, &unix.SockaddrInet4{})
	}
	if err != nil {
		return nil, fmt.Errorf("launch: bind a port: %w", err)
	}
	return p, nil
}

func hold(family int, wildcard unix.Sockaddr) (*Port, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	number, err := bind(fd, family, wildcard)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Port{fd, number}, nil
}

func bind(fd, family int, wildcard unix.Sockaddr) (int, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if family == unix.AF_INET6 {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
			return 0, err
		}
	}
	if err := unix.Bind(fd, wildcard); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	switch name := name.(type) {
	case *unix.SockaddrInet6:
		return name.Port, nil
	case *unix.SockaddrInet4:
		return name.Port, nil
	}
	return 0, net.UnknownNetworkError("socket name")
}

// Number is the port's number.
func (p *Port) Number() int { return p.number }

// Close gives the port up.
func (p *Port) Close() error { return unix.Close(p.fd) }
