package mesos

import (
	"net/url"
	"strings"
	"testing"
)

func TestKnownFault002MasterAddressForms(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:5050":          "http://127.0.0.1:5050/api/v1/scheduler",
		" 127.0.0.1:5050 ":        "http://127.0.0.1:5050/api/v1/scheduler",
		"127.0.0.1:5050/":         "http://127.0.0.1:5050/api/v1/scheduler",
		"http://127.0.0.1:5050":   "http://127.0.0.1:5050/api/v1/scheduler",
		"HTTPS://Mesos.lab:443/":  "https://Mesos.lab:443/api/v1/scheduler",
		"master@127.0.0.1:5050":   "http://127.0.0.1:5050/api/v1/scheduler",
		"[::1]:5050":              "http://[::1]:5050/api/v1/scheduler",
		"mesos_master-1.lab:5050": "http://mesos_master-1.lab:5050/api/v1/scheduler",
	} {
		got, err := parseMasters(text, false)
		if err != nil || len(got.list) != 1 || got.list[0].String() != want {
			t.Errorf("%q is %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestKnownFault002SeveralMastersAndZooKeeper(t *testing.T) {
	for text, want := range map[string]string{
		" 127.0.0.1:1 , 127.0.0.1:2/ ":       "https://127.0.0.1:1 https://127.0.0.1:2",
		"http://a:1,https://b:2,master@c:3,": "http://a:1 https://b:2 https://c:3",
		"zk://h:2181/mesos":                  "zk://h:2181/mesos",
		" zk://u:pa55@h1:2181,h2/mesos/":     "zk://h1:2181,h2:2181/mesos",
	} {
		m, err := parseMasters(text, true)
		if err != nil {
			t.Errorf("%q is refused: %v", text, err)
			continue
		}
		got := m.String()
		if m.zookeeper == nil {
			got = ""
			for _, u := range m.list {
				got += " " + strings.TrimSuffix(u.String(), apiPath)
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if shown := ShowMaster(text); shown != m.String() || strings.Contains(shown, "pa55") {
			t.Errorf("%q is shown as %q", text, shown)
		}
	}
}

func TestKnownFault002UnusableMasterAddressesAreRefusedInOneLine(t *testing.T) {
	for text, say := range map[string]string{
		"":                              "is empty",
		" ":                             "is empty",
		"127.0.0.1":                     "want HOST:PORT",
		"::1:5050":                      "want HOST:PORT",
		":5050":                         "host is not",
		"a b:5050":                      "host is not",
		"127.0.0.1:0":                   "the port is not",
		"127.0.0.1:65536":               "the port is not",
		"127.0.0.1:http":                "the port is not",
		"zk://h:2181":                   "has no path",
		"zk://u:pa55/@h:2181/mesos":     "none of a node",
		"127.0.0.1:5050,zk://h:2181/m":  "stands alone",
		"127.0.0.1:5050,127.0.0.1":      "want HOST:PORT",
		" , ":                           "is empty",
		"tf:pa55,x@127.0.0.1:5050":      `has an "@"`,
		"a:1,http://tf:pa55@b:2":        `has an "@"`,
		"ftp://127.0.0.1:5050":          "want HOST:PORT",
		"http://http://127.0.0.1:5050":  "nothing after HOST:PORT",
		"127.0.0.1:5050/api/v1":         "nothing after HOST:PORT",
		"http://tf:pa55@127.0.0.1:5050": `has an "@"`,
		"http://":                       "want HOST:PORT",
	} {
		_, err := New(testConfig(text))
		switch {
		case err == nil:
			t.Errorf("%q is accepted as a master address", text)
		case !strings.Contains(err.Error(), say) || strings.Contains(err.Error(), "\n"):
			t.Errorf("%q is refused with %q, want one line that says %q", text, err, say)
		case strings.Contains(err.Error(), "pa55"):
			t.Errorf("the refusal of %q shows the password: %v", text, err)
		}
	}
}

func TestRedirectsKeepTheScheme(t *testing.T) {
	for _, c := range []struct{ from, location, want string }{
		{"http://a:1/api/v1/scheduler", "//b:2/master/api/v1/scheduler", "http://b:2/master/api/v1/scheduler"},
		{"https://a:1/api/v1/scheduler", "//b:2", "https://b:2/api/v1/scheduler"},
		{"https://a:1/api/v1/scheduler", "//b:2/", "https://b:2/api/v1/scheduler"},
		{"https://a:1/api/v1/scheduler", "http://b:2/x", "https://b:2/x"},
		{"http://a:1/api/v1/scheduler", "http://u:p@b:2/x?y#z", "http://b:2/x"},
		{"http://a:1/api/v1/scheduler", "", ""},
		{"http://a:1/api/v1/scheduler", "/elsewhere", ""},
		{"http://a:1/api/v1/scheduler", "//[::1", ""},
	} {
		from, err := url.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		got, err := redirected(from, c.location)
		if c.want == "" && err == nil {
			t.Errorf("Location %q leads to %v, want an error", c.location, got)
		} else if c.want != "" && (err != nil || got.String() != c.want) {
			t.Errorf("from %s, Location %q leads to %v, %v; want %s", c.from, c.location, got, err, c.want)
		}
	}
}

func TestLocalAddressIsTheOneTowardsTheMasters(t *testing.T) {
	for _, master := range []string{"127.0.0.1:9", "https://no-such-host.invalid:5050,127.0.0.1:9", "zk://127.0.0.1:2181/mesos"} {
		if got, err := LocalAddress(t.Context(), master); err != nil || got.String() != "127.0.0.1" {
			t.Errorf("the address towards %s is %v, %v", master, got, err)
		}
	}
	if _, err := LocalAddress(t.Context(), "nonsense"); err == nil {
		t.Error("a master address that is none gives an address")
	}
}
