package mesos

import (
	"context"
	"net"
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
		got, err := parseMaster(text)
		if err != nil || got.String() != want {
			t.Errorf("%q is %v, %v; want %s", text, got, err, want)
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
		"zk://h:2181/mesos":             "ZooKeeper is not supported",
		"127.0.0.1:5050,127.0.0.1:5051": "lists are not supported",
		"127.0.0.1:5050 , 127.0.0.1:51": "lists are not supported",
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

func TestLocalAddressIsTheOneTowardsTheMaster(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	got, err := LocalAddress(context.Background(), listener.Addr().String())
	if err != nil || got.String() != "127.0.0.1" {
		t.Errorf("the address towards %s is %v, %v", listener.Addr(), got, err)
	}
	listener.Close()
	if _, err := LocalAddress(context.Background(), listener.Addr().String()); err == nil {
		t.Error("a master that does not listen gives an address")
	}
	if _, err := LocalAddress(context.Background(), "nonsense"); err == nil {
		t.Error("a master address that is none gives an address")
	}
}
