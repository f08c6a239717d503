package tf

import (
	"strings"
	"testing"
)

func TestKnownFault086AddressesOfIPv6HostsHaveBrackets(t *testing.T) {
	for _, c := range []struct {
		host string
		port int
		want string
	}{
		{"fd00::5", 4000, "[fd00::5]:4000"},
		{"::1", 11000, "[::1]:11000"},
		{"fe80::1%eth0", 1, "[fe80::1%eth0]:1"},
		{"::ffff:10.0.0.1", 2, "[::ffff:10.0.0.1]:2"},
		{"10.0.0.1", 65535, "10.0.0.1:65535"},
		{"a7.lab", 80, "a7.lab:80"},
	} {
		got := JoinAddress(c.host, c.port)
		if got != c.want {
			t.Errorf("host %s and port %d make %s, want %s", c.host, c.port, got, c.want)
		}
		if err := (ClusterDef{Worker: {got}}).Validate(); err != nil {
			t.Errorf("the address of host %s is refused: %v", c.host, err)
		}
	}
	for _, address := range []string{"fd00::5:4000", "::1:4000", "[fd00::5:4000", "fd00::5]:4000"} {
		if err := (ClusterDef{Worker: {address}}).Validate(); err == nil || !strings.Contains(err.Error(), "brackets") {
			t.Errorf("%s: got %v, want an error that asks for brackets", address, err)
		}
	}
}

func TestValidateNamesTheJobAndTheEntry(t *testing.T) {
	for _, c := range []struct {
		name string
		def  ClusterDef
		want string // "" is: valid
	}{
		{"two jobs", ClusterDef{PS: {"a:1"}, Worker: {"a:2", "b:1"}}, ""},
		{"a job for plain servers", ClusterDef{"local": {"a:1"}}, ""},
		{"nil", nil, "tf: cluster_def is empty"},
		{"no job", ClusterDef{}, "tf: cluster_def is empty"},
		{"a job without a task", ClusterDef{PS: {}, Worker: {"a:1"}}, `tf: cluster_def: job "ps" has no task`},
		{"a hole", ClusterDef{Worker: {"a:1", "", "a:3"}}, `tf: cluster_def: worker:1: address "": want host:port`},
		{"no host", ClusterDef{Worker: {":80"}}, `tf: cluster_def: worker:0: address ":80": want host:port`},
		{"no port", ClusterDef{Worker: {"a"}}, `tf: cluster_def: worker:0: address "a": want host:port`},
		{"a port of 0", ClusterDef{Worker: {"a:0"}}, `tf: cluster_def: worker:0: address "a:0": the port is no decimal from 1 to 65535`},
		{"a port too high", ClusterDef{Worker: {"a:65536"}}, `tf: cluster_def: worker:0: address "a:65536": the port is no decimal from 1 to 65535`},
		{"a port that is none", ClusterDef{Worker: {"a:http"}}, `tf: cluster_def: worker:0: address "a:http": the port is no decimal from 1 to 65535`},
		{"a port in two spellings", ClusterDef{Worker: {"a:80", "a:080"}}, `tf: cluster_def: worker:1: address "a:080": the port is no decimal from 1 to 65535`},
		{"a port with a sign", ClusterDef{Worker: {"a:+80"}}, `tf: cluster_def: worker:0: address "a:+80": the port is no decimal from 1 to 65535`},
		{"one address twice in a job", ClusterDef{Worker: {"a:1", "a:2", "a:1"}}, "tf: cluster_def: worker:0 and worker:2 have the same address a:1"},
		{"one address in two jobs", ClusterDef{Worker: {"a:1"}, PS: {"a:1"}}, "tf: cluster_def: ps:0 and worker:0 have the same address a:1"},
	} {
		var got string
		if err := c.def.Validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestEqualComparesJobsAddressesAndTheirOrder(t *testing.T) {
	def := ClusterDef{PS: {"a:1"}, Worker: {"a:2", "b:1"}}
	if !def.Equal(def.Clone()) {
		t.Error("a ClusterDef differs from its copy")
	}
	for name, other := range map[string]ClusterDef{
		"another order":      {PS: {"a:1"}, Worker: {"b:1", "a:2"}},
		"another address":    {PS: {"a:1"}, Worker: {"a:2", "b:2"}},
		"one task less":      {PS: {"a:1"}, Worker: {"a:2"}},
		"one job less":       {Worker: {"a:2", "b:1"}},
		"another job's name": {Chief: {"a:1"}, Worker: {"a:2", "b:1"}},
	} {
		if def.Equal(other) || other.Equal(def) {
			t.Errorf("%s makes no difference", name)
		}
	}
}

func TestACloneSharesNothing(t *testing.T) {
	if ClusterDef(nil).Clone() != nil {
		t.Error("the copy of no cluster_def is one; tasks would take it for complete")
	}
	def := ClusterDef{Worker: {"a:1"}}
	clone := def.Clone()
	clone[Worker][0] = "b:1"
	clone[PS] = []string{"c:1"}
	if !def.Equal(ClusterDef{Worker: {"a:1"}}) {
		t.Errorf("a change of the copy changed the original to %v", def)
	}
}
