package mesos

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/mesos/detector"
	"tfmesos/shared/backoff"
)

// nobody is an address where nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	return listener.Addr().String()
}

func TestC01EachMasterOfAListIsTriedInTurn(t *testing.T) {
	leader := newFakeMaster(t, nil)
	standby := newFakeMaster(t, redirectTo("//"+leader.host()+"/api/v1/scheduler"))
	electing := newFakeMaster(t, func(w http.ResponseWriter, _ *scheduler.Call) bool {
		http.Error(w, "No leader elected", http.StatusServiceUnavailable)
		return true
	})
	r := start(t, testConfig(nobody(t)+" , "+electing.URL+"/,"+standby.host()+","+nobody(t)), "")
	leader.subscribe(t, r)
	if n := len(electing.requests) + len(standby.requests); n != 2 {
		t.Errorf("the other masters got %d requests, want one each", n)
	}
}

func TestC01AListWithoutALeaderIsWaitedForAndEachIsNamed(t *testing.T) {
	gone, m := nobody(t), newFakeMaster(t, nil)
	hung, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hung.Close()
	leaderless := true
	m.refuse = func(w http.ResponseWriter, _ *scheduler.Call) bool {
		if leaderless {
			http.Error(w, "No leader elected", http.StatusServiceUnavailable)
		}
		defer func() { leaderless = false }()
		return leaderless
	}
	r := start(t, testConfig(gone+","+hung.Addr().String()+","+m.host()), "", func(c *timing) { c.answer = 100 * time.Millisecond })
	why := event[cluster.Disconnected](t, r).Why
	for _, want := range []string{gone + ": ", "connection refused", hung.Addr().String() + ": no answer to SUBSCRIBE within 100ms", m.host() + ": ", "503", "No leader elected"} {
		if !strings.Contains(why, want) {
			t.Errorf("why does not say %q: %s", want, why)
		}
	}
	m.subscribe(t, r)
	if dialTimeout > 5*time.Second {
		t.Errorf("a machine that is gone costs %s", dialTimeout)
	}
}

// found is what a ZooKeeper says while this master leads.
func found(address string) detector.Finding {
	host, port, _ := net.SplitHostPort(address)
	var n int
	for _, digit := range port {
		n = n*10 + int(digit-'0')
	}
	return detector.Finding{Master: detector.Master{Hostname: "named.invalid", IP: host, Port: n}}
}

func TestC10TheMasterThatZooKeeperNamesIsTheOne(t *testing.T) {
	first, second := newFakeMaster(t, nil), newFakeMaster(t, nil)
	r := start(t, testConfig("zk://u:pa55@"+nobody(t)+"/mesos"), "")
	for why := ""; !strings.Contains(why, "out of reach"); why = event[cluster.Disconnected](t, r).Why {
		if strings.Contains(why, "pa55") {
			t.Errorf("the password is in %q", why)
		}
	}
	r.elect(found(first.host()))
	stream := next(t, first.streams, "SUBSCRIBE at the elected master")
	stream.subscribed("F", 0)
	until[cluster.Subscribed](t, r)

	r.elect(detector.Finding{Err: detector.ErrAway})
	r.elect(detector.Finding{Err: detector.ErrNoLeader})
	r.elect(found(first.host()))
	select {
	case <-stream.gone:
		t.Error("the stream of a master that goes on to lead is left")
	default:
	}

	r.elect(found(second.host()))
	next(t, stream.gone, "end of the stream at the master that leads no more")
	if got := until[cluster.Disconnected](t, r).Why; !strings.Contains(got, second.host()) {
		t.Errorf("why: %q", got)
	}
	if s := next(t, second.streams, "SUBSCRIBE at the new one"); s.FrameworkID.GetValue() != "F" {
		t.Errorf("SUBSCRIBE at the new master has the framework id %v", s.FrameworkID)
	}
}

func TestC10ARefusalOfZooKeeperEndsRun(t *testing.T) {
	r := start(t, testConfig("zk://"+nobody(t)+"/mesos"), "")
	until[cluster.Disconnected](t, r)
	r.elect(detector.Finding{Err: detector.ErrRefused})
	until[cluster.Refused](t, r)
	if err := next(t, r.ended, "end of Run"); !errors.Is(err, ErrRefused) || !errors.Is(err, detector.ErrRefused) {
		t.Errorf("Run ends with %v", err)
	}
}

// hoarder is an intermediary that passes the head of an answer on at once and its body when it is complete, as nginx does by default.
func hoarder(t *testing.T, to string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		onward, err := http.NewRequestWithContext(r.Context(), r.Method, to+r.URL.Path, r.Body)
		if err != nil {
			return
		}
		onward.Header = r.Header
		answer, err := http.DefaultTransport.RoundTrip(onward)
		if err != nil {
			return
		}
		defer answer.Body.Close()
		maps.Copy(w.Header(), answer.Header)
		w.WriteHeader(answer.StatusCode)
		_ = http.NewResponseController(w).Flush()
		body, _ := io.ReadAll(answer.Body)
		_, _ = w.Write(body)
	}))
	t.Cleanup(func() {
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return server.URL
}

func TestC11AProxyThatHoldsBackTheStreamIsNoticed(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(hoarder(t, m.URL)), "", func(c *timing) { c.subscribe = 200 * time.Millisecond })
	s := next(t, m.streams, "SUBSCRIBE")
	s.subscribed("F", 15)
	if why := event[cluster.Disconnected](t, r).Why; !strings.Contains(why, "a proxy before the master holds back the stream") {
		t.Errorf("why: %q", why)
	}
	next(t, s.gone, "end of the stream that nothing comes of")
}

func TestC10AfterNewsOfALeaderPausesBeginShortAgain(t *testing.T) {
	recovering := true
	m := newFakeMaster(t, func(w http.ResponseWriter, _ *scheduler.Call) bool {
		defer func() { recovering = false }()
		if recovering {
			http.Error(w, "Master has not finished recovery", http.StatusServiceUnavailable)
		}
		return recovering
	})
	config, log := testConfig("zk://"+nobody(t)+"/mesos"), make(lines, 1000)
	config.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r := start(t, config, "", func(c *timing) { c.backoff = backoff.Policy{First: time.Millisecond, Max: time.Hour, Factor: 1e9} })
	for line := ""; !strings.Contains(line, "attempt=1"); line = next(t, log, "second attempt") { // the pause after it lasts half an hour
	}
	r.elect(found(m.host()))
	next(t, m.streams, "SUBSCRIBE soon after the one that was too early")
}

// lines are those of a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
