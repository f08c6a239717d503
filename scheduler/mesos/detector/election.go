package detector

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/mesos/mesos-go/api/v1/lib"
)

const (
	jsonLabel     = "json.info" // since Mesos 0.24
	protobufLabel = "info"      // before it
)

// Master is where a master says that it listens.
type Master struct {
	// Hostname and IP may be empty, but not both.
	Hostname, IP string
	Port         int
}

// Zero tells whether there is no master.
func (m Master) Zero() bool { return m == Master{} }

// ByIP returns host:port with the IP address, else the name. Names of masters need not resolve everywhere.
func (m Master) ByIP() string { return m.address(m.IP, m.Hostname) }

// ByName returns host:port with the name, else the IP address: what a certificate is for.
func (m Master) ByName() string { return m.address(m.Hostname, m.IP) }

func (m Master) address(first, second string) string {
	if first == "" {
		first = second
	}
	return net.JoinHostPort(first, strconv.Itoa(m.Port))
}

// leader returns the node of the leading master: that of the lowest sequence number, whatever stands before it. It is empty if there
// is none. Other nodes, as log_replicas, have no number.
func leader(nodes []string) (node string) {
	lowest := int64(0)
	for _, name := range nodes {
		label, number, ok := cutSequence(name)
		if !ok || label != jsonLabel && label != protobufLabel {
			continue
		}
		if node == "" || number < lowest {
			node, lowest = name, number
		}
	}
	return node
}

func cutSequence(name string) (label string, number int64, ok bool) {
	at := strings.LastIndex(name, "_")
	if at < 0 {
		return "", 0, false
	}
	number, err := strconv.ParseInt(name[at+1:], 10, 32) // ZooKeeper counts in 32 bits, and with a sign
	return name[:at], number, err == nil
}

// parse reads what a master has written into its node. Of its two addresses `address` counts: the older `ip` is a number whose bytes
// are in network order, which reads as another address here and there.
func parse(node string, data []byte) (Master, error) {
	label, _, _ := cutSequence(node)
	m, err := parseJSON(data)
	if label == protobufLabel {
		m, err = parseProtobuf(data)
	}
	switch {
	case err != nil:
		return Master{}, fmt.Errorf("read node %s: %w", node, err)
	case m.Port < 1 || m.Port > 65535 || m.Hostname == "" && m.IP == "" || strings.ContainsAny(m.Hostname+m.IP, "/@?# \t\r\n"):
		return Master{}, fmt.Errorf("read node %s: it has no usable address of a master", node)
	}
	return m, nil
}

func parseJSON(data []byte) (Master, error) {
	var info struct {
		Address *struct {
			Hostname, IP string
			Port         int
		}
		Hostname, PID string
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return Master{}, errors.New("it is no JSON of a master") // the error would quote what is there
	}
	if a := info.Address; a != nil {
		return Master{a.Hostname, a.IP, a.Port}, nil
	}
	return fromPID(info.PID, info.Hostname), nil
}

func parseProtobuf(data []byte) (m Master, err error) {
	defer func() { // the generated code can panic on bytes that are no message
		if recover() != nil {
			m, err = Master{}, errors.New("it is no message of a master")
		}
	}()
	info := &mesos.MasterInfo{}
	if err := info.Unmarshal(data); err != nil {
		return Master{}, errors.New("it is no message of a master")
	}
	if a := info.Address; a != nil {
		return Master{a.GetHostname(), a.GetIP(), int(a.Port)}, nil
	}
	return fromPID(info.GetPID(), info.GetHostname()), nil
}

// fromPID reads master@10.0.0.1:5050.
func fromPID(pid, hostname string) Master {
	_, address, _ := strings.Cut(pid, "@")
	ip, port, err := net.SplitHostPort(address)
	if err != nil {
		return Master{}
	}
	n, _ := strconv.Atoi(port) // 0 is refused by parse
	return Master{Hostname: hostname, IP: ip, Port: n}
}
