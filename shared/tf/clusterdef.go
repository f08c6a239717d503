package tf

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ClusterDef maps each job name to the addresses ("host:port") of its tasks: entry i is the task with
// index i, as in TensorFlow's ClusterSpec. A ClusterDef that is handed to a task is complete.
type ClusterDef map[string][]string

// Validate returns an error that names the job and the entry when the ClusterDef has a hole, an address
// that is no host:port, or one address twice. An empty one is an error too: TensorFlow dies of it.
func (d ClusterDef) Validate() error {
	if len(d) == 0 {
		return fmt.Errorf("tf: cluster_def is empty")
	}
	seen := map[string]string{}
	for _, job := range slices.Sorted(maps.Keys(d)) {
		if len(d[job]) == 0 {
			return fmt.Errorf("tf: cluster_def: job %q has no task", job)
		}
		for i, address := range d[job] {
			task := TaskName{job, i}.String()
			if err := CheckAddress(address); err != nil {
				return fmt.Errorf("tf: cluster_def: %s: %w", task, err)
			}
			if other, twice := seen[address]; twice {
				return fmt.Errorf("tf: cluster_def: %s and %s have the same address %s", other, task, address)
			}
			seen[address] = task
		}
	}
	return nil
}

// CheckAddress returns an error that says what keeps the text from being a host:port that a peer can dial: a host of
// letters, digits, '.', '-' and '_' or an IP address, IPv6 in brackets, and a plain decimal port from 1 to 65535.
func CheckAddress(address string) error {
	colon := strings.LastIndexByte(address, ':')
	if colon < 1 {
		return fmt.Errorf("address %q: want host:port", address)
	}
	text := address[colon+1:]
	if port, err := strconv.Atoi(text); err != nil || port < 1 || port > 65535 || strconv.Itoa(port) != text {
		return fmt.Errorf("address %q: the port is no decimal from 1 to 65535", address)
	}
	host := address[:colon]
	inner, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		if ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]")); err != nil || !ip.Is6() || !strings.HasSuffix(inner, "]") {
			return fmt.Errorf("address %q: there is no IPv6 address in the brackets", address)
		}
		return nil
	}
	if strings.Contains(host, ":") {
		return fmt.Errorf("address %q: an IPv6 host needs brackets", address)
	}
	if strings.ContainsFunc(host, notInHost) {
		return fmt.Errorf("address %q: the host has a character that no host name has", address)
	}
	return nil
}

func notInHost(r rune) bool {
	return !(r == '-' || r == '.' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
}

// JoinAddress returns "host:port", with brackets around an IPv6 host.
func JoinAddress(host string, port int) string {
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

// Targets maps each task's device name, "/job:worker/task:0", to the target of its server, "grpc://host:port", as a
// session of TensorFlow 1 or tf.config.experimental_connect_to_host wants it.
func (d ClusterDef) Targets() map[string]string {
	targets := map[string]string{}
	for job, addresses := range d {
		for i, address := range addresses {
			targets[TaskName{job, i}.Device()] = "grpc://" + address
		}
	}
	return targets
}

// Equal reports whether both name the same tasks at the same addresses.
func (d ClusterDef) Equal(e ClusterDef) bool {
	return maps.EqualFunc(d, e, func(a, b []string) bool { return slices.Equal(a, b) })
}

// Clone returns a deep copy; that of a nil ClusterDef is nil.
func (d ClusterDef) Clone() ClusterDef {
	if d == nil {
		return nil
	}
	c := make(ClusterDef, len(d))
	for job, addresses := range d {
		c[job] = slices.Clone(addresses)
	}
	return c
}
