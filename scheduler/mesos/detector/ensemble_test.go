package detector

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mesos/mesos-go/api/v1/lib"
)

func TestKnownFault002ZooKeeperAddressForms(t *testing.T) {
	for text, want := range map[string]string{
		"zk://h:2181/mesos":                   "zk://h:2181/mesos",
		" ZK://h1:2181, h2:2182 ,/a/b/ ":      "zk://h1:2181,h2:2182/a/b",
		"zk://h/mesos":                        "zk://h:2181/mesos",
		"zk://u:p@h1,[::1]:2181,10.0.0.1/m":   "zk://h1:2181,[::1]:2181,10.0.0.1:2181/m",
		"zk://u:p@ss:w0rd@h_1.lab:2181/mesos": "zk://h_1.lab:2181/mesos",
	} {
		got, err := Parse(text)
		if err != nil || got.String() != want {
			t.Errorf("%q is %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestKnownFault002UnusableZooKeeperAddressesAreRefusedInOneLine(t *testing.T) {
	for text, say := range map[string]string{
		"zk://":                       "has no path",
		"zk://h:2181":                 "has no path",
		"zk://h:2181/":                "has no path",
		"zk:///mesos":                 "names no server",
		"zk://h:0/mesos":              "the port is not",
		"zk://h:zoo/mesos":            "the port is not",
		"zk://a b:2181/mesos":         "the host is not",
		"zk://secret55@h:2181/mesos":  "want USER:PASSWORD",
		"zk://:secret55@h:2181/mesos": "want USER:PASSWORD",
		"zk://h:2181/me?x":            "none of a node",
		"zk://h:2181/a//b":            "none of a node",
		"zk://u:pa/secret55@h/mesos":  "none of a node",
		"http://h:2181/mesos":         "want zk://",
	} {
		_, err := Parse(text)
		switch {
		case err == nil:
			t.Errorf("%q is accepted", text)
		case !strings.Contains(err.Error(), say) || strings.Contains(err.Error(), "\n"):
			t.Errorf("%q is refused with %q, want one line that says %q", text, err, say)
		case strings.Contains(err.Error(), "secret55"):
			t.Errorf("the refusal of %q shows the password: %v", text, err)
		}
	}
}

func TestTheLeaderIsTheLowestOfBothKinds(t *testing.T) {
	for _, c := range []struct {
		nodes []string
		want  string
	}{
		{nil, ""},
		{[]string{"log_replicas", "json.info_", "json.info_x", "info"}, ""},
		{[]string{"json.info_0000000010", "json.info_0000000009"}, "json.info_0000000009"},
		{[]string{"json.info_0000000003", "info_0000000002"}, "info_0000000002"},
		{[]string{"json.info_0000000003", "info_0000000004"}, "json.info_0000000003"},
		{[]string{"json.info_2147483647", "json.info_-2147483648"}, "json.info_-2147483648"},
		{[]string{"json.info_0000000003", "json.info_99999999999"}, "json.info_0000000003"},
	} {
		if got := leader(c.nodes); got != c.want {
			t.Errorf("of %v %q leads, want %q", c.nodes, got, c.want)
		}
	}
}

func TestTheAddressOfAMasterIsReadFromWhatItWrote(t *testing.T) {
	marshal := func(info mesos.MasterInfo) string {
		data, err := info.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	pid, host := "master@10.0.0.2:5051", "m2"
	ip, port := "10.0.0.1", uint32(5050)
	for _, c := range []struct {
		node, data, byIP, byName string
	}{
		{"json.info_0000000001", node("m1"), "10.0.0.1:5050", "m1:5050"},
		{"json.info_0000000001", `{"address":{"ip":"::1","port":5050},"ip":16777226}`, "[::1]:5050", "[::1]:5050"},
		{"json.info_0000000001", `{"pid":"master@10.0.0.2:5051","hostname":"m2","ip":16777226,"port":5050}`, "10.0.0.2:5051", "m2:5051"},
		{"json.info_0000000001", `{"ip":16777226,"port":5050}`, "", ""},
		{"json.info_0000000001", `{"address":{"hostname":"u:p@elsewhere/x","port":5050}}`, "", ""},
		{"json.info_0000000001", `{"address":{"ip":"10.0.0.1","port":0}}`, "", ""},
		{"json.info_0000000001", `not JSON`, "", ""},
		{"info_0000000001", marshal(mesos.MasterInfo{ID: "x", IP: 16777226, Port: &port, PID: &pid, Hostname: &host}), "10.0.0.2:5051", "m2:5051"},
		{"info_0000000001", marshal(mesos.MasterInfo{ID: "x", Port: &port, Address: &mesos.Address{IP: &ip, Hostname: &host, Port: 5050}}), "10.0.0.1:5050", "m2:5050"},
		{"info_0000000001", "\xff\xff\xff\xff", "", ""},
	} {
		got, err := parse(c.node, []byte(c.data))
		if c.byIP == "" && err == nil {
			t.Errorf("%s with %q is the master %+v, want an error", c.node, c.data, got)
		} else if c.byIP != "" && (err != nil || !cmp.Equal([]string{got.ByIP(), got.ByName()}, []string{c.byIP, c.byName})) {
			t.Errorf("%s with %q is %s and %s, %v; want %s and %s", c.node, c.data, got.ByIP(), got.ByName(), err, c.byIP, c.byName)
		}
	}
}
