package mesos

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/mesos/tlstest"
)

// works wants SUBSCRIBE and a call to get through to the master.
func works(t *testing.T, m *fakeMaster, r *running) {
	t.Helper()
	m.subscribe(t, r)
	if err := r.Call(context.Background(), cluster.Revive{}); err != nil {
		t.Errorf("a call: %v", err)
	}
	m.call(t, scheduler.Call_REVIVE)
}

func TestKnownFault005CertificatesAreCheckedOrNotForStreamAndCallsAlike(t *testing.T) {
	ca, m := tlstest.NewCA(t), newFakeMaster(t, nil)
	address := tlstest.Proxy(t, ca.Certificate(t, "127.0.0.1"), m.host())
	for name, c := range map[string]struct {
		change func(*Config)
		refuse []string // words of the refusal; none: it works
	}{
		"no CA":       {func(*Config) {}, []string{address, "unknown authority", `"CN=127.0.0.1"`, "tests' own CA", "MESOS_CA_FILE"}},
		"its CA":      {func(c *Config) { c.CA = ca.PEM }, nil},
		"another CA":  {func(c *Config) { c.CA = tlstest.NewCA(t).PEM }, []string{"unknown authority"}},
		"not checked": {func(c *Config) { c.SkipVerify = true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, master := range []string{address, "https://" + address} {
				config := testConfig(master)
				config.Secure = master == address
				c.change(&config)
				r := start(t, config, "")
				if c.refuse == nil {
					works(t, m, r)
					continue
				}
				got := event[cluster.Refused](t, r).Message
				for _, word := range c.refuse {
					if !strings.Contains(got, word) {
						t.Errorf("the refusal does not say %q: %s", word, got)
					}
				}
				if err := next(t, r.ended, "end of Run"); !errors.Is(err, ErrRefused) || len(m.requests) > 0 {
					t.Errorf("Run ends with %v, after %d requests", err, len(m.requests))
				}
			}
		})
	}
}

func TestACertificateForAnotherNameIsRefusedByItsNames(t *testing.T) {
	ca, m := tlstest.NewCA(t), newFakeMaster(t, nil)
	config := testConfig("https://" + tlstest.Proxy(t, ca.Certificate(t, "master.lab"), m.host()))
	config.CA = ca.PEM
	if got := event[cluster.Refused](t, start(t, config, "")).Message; !strings.Contains(got, "for master.lab") || !strings.Contains(got, "127.0.0.1") {
		t.Errorf("the refusal is %s", got)
	}
}

func TestKnownFault057ARedirectKeepsTLS(t *testing.T) {
	ca, leader := tlstest.NewCA(t), newFakeMaster(t, nil)
	front := tlstest.Proxy(t, ca.Certificate(t, "127.0.0.1"), leader.host())
	for _, location := range []string{"//" + front, "http://" + front + "/api/v1/scheduler"} {
		standby := newFakeMaster(t, redirectTo(location))
		config := testConfig(tlstest.Proxy(t, ca.Certificate(t, "127.0.0.1"), standby.host()))
		config.CA, config.Secure = ca.PEM, true
		works(t, leader, start(t, config, ""))
	}
}

func TestABadCertificateAfterAGoodOneIsWaitedFor(t *testing.T) {
	ca, m := tlstest.NewCA(t), newFakeMaster(t, nil)
	good := tlstest.Proxy(t, ca.Certificate(t, "127.0.0.1"), m.host())
	bad := tlstest.Proxy(t, tlstest.NewCA(t).Certificate(t, "127.0.0.1"), m.host())
	config := testConfig("https://" + good)
	config.CA = ca.PEM
	r := start(t, config, "")
	s := m.subscribe(t, r)
	// The leader has moved to a master with a certificate of another CA: somebody is about to renew them.
	m.refuse = func(w http.ResponseWriter, call *scheduler.Call) bool {
		return call.Type == scheduler.Call_SUBSCRIBE && redirectTo("//"+bad)(w, call)
	}
	s.chunks <- nil
	for why := ""; !strings.Contains(why, "unknown authority"); why = event[cluster.Disconnected](t, r).Why {
	}
}

func TestTheWrongSchemeIsToldAsSuch(t *testing.T) {
	ca, m := tlstest.NewCA(t), newFakeMaster(t, nil)
	for master, want := range map[string]string{
		"https://" + m.host(): "there is no TLS at this port",
		"http://" + tlstest.Proxy(t, ca.Certificate(t, "127.0.0.1"), m.host()): "",
	} {
		if got := event[cluster.Disconnected](t, start(t, testConfig(master), "")).Why; !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", master, got, want)
		}
	}
}

func TestAFileOfCAsWithoutACertificateIsRefused(t *testing.T) {
	config := testConfig("127.0.0.1:5050")
	config.CA = []byte("hello")
	if _, err := New(config); err == nil || !strings.Contains(err.Error(), "has no certificate") {
		t.Errorf("a file of CAs without one: %v", err)
	}
}
