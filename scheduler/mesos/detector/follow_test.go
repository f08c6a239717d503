package detector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tfmesos/shared/backoff"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// node is what a master writes.
func node(host string) string {
	return fmt.Sprintf(`{"address":{"hostname":%q,"ip":"10.0.0.1","port":5050},"hostname":"not-this","ip":16777226,"pid":"master@10.9.9.9:1","port":1,"version":"1.11.0"}`, host)
}

// following is a Follow that goes on.
type following struct {
	t        *testing.T
	findings chan Finding
	done     chan struct{}
	log      *synced
}

type synced struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *synced) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *synced) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// hasty waits less than a user would, but for lists: by default a change is seen by its watch alone.
func hasty() timing {
	return timing{answer: patience, relist: time.Hour, leaderless: time.Hour, backoff: backoff.Policy{First: time.Millisecond, Max: 10 * time.Millisecond, Factor: 2}}
}

func follow(t *testing.T, address string, change ...func(*timing)) *following {
	t.Helper()
	e, err := Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	wait := hasty()
	for _, f := range change {
		f(&wait)
	}
	f := &following{t: t, findings: make(chan Finding, 100), done: make(chan struct{}), log: &synced{}}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(f.done)
		e.follow(ctx, slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})), wait, func(found Finding) { f.findings <- found })
	}()
	t.Cleanup(func() {
		cancel()
		<-f.done
	})
	return f
}

func (f *following) next() Finding {
	f.t.Helper()
	select {
	case found := <-f.findings:
		return found
	case <-time.After(patience):
		f.t.Fatalf("nothing is found within %s", patience)
		return Finding{}
	}
}

func (f *following) wants(host string) {
	f.t.Helper()
	if found := f.next(); found.Err != nil || found.Master.ByName() != host+":5050" {
		f.t.Fatalf("found %+v, want %s", found, host)
	}
}

func (f *following) fails(kind error, words ...string) {
	f.t.Helper()
	found := f.next()
	if !errors.Is(found.Err, kind) || !found.Master.Zero() {
		f.t.Fatalf("found %+v, want %v", found, kind)
	}
	for _, word := range words {
		if !strings.Contains(found.Err.Error(), word) {
			f.t.Errorf("%q does not say %q", found.Err, word)
		}
	}
}

func TestTheLowestNumberLeadsWhateverStandsBeforeIt(t *testing.T) {
	z := newZooKeeper(t, map[string]string{"json.info_0000000009": node("nine"), "json.info_0000000010": node("ten"), "log_replicas": "", "info_0000000011": "", "other_0000000001": ""})
	f := follow(t, "zk://"+z.address()+"/mesos")
	f.wants("nine")
	z.change(func() { delete(z.nodes, "json.info_0000000009") })
	f.wants("ten")
}

func TestALeaderThatComesAndGoesIsTold(t *testing.T) {
	z := newZooKeeper(t, nil)
	f := follow(t, "zk://"+z.address()+"/mesos/", func(c *timing) { c.leaderless = 10 * time.Millisecond })
	f.fails(ErrNoLeader, "zk://"+z.address()+"/mesos has no such node")
	z.change(func() { z.nodes = map[string]string{"log_replicas": ""} })
	f.fails(ErrNoLeader, "no node of a master")
	z.change(func() { z.nodes["json.info_0000000000"] = node("first") })
	f.wants("first")
	z.change(func() { clear(z.nodes) })
	f.fails(ErrNoLeader)
}

func TestAWatchThatGotLostDoesNotHideANewLeader(t *testing.T) {
	z := newZooKeeper(t, map[string]string{"json.info_0000000001": node("one")})
	z.deaf = true
	f := follow(t, "zk://"+z.address()+"/mesos", func(c *timing) { c.relist = 10 * time.Millisecond })
	f.wants("one")
	z.change(func() { z.nodes = map[string]string{"json.info_0000000002": node("two")} })
	f.wants("two")
	if defaultTiming.relist > 30*time.Second {
		t.Errorf("nodes are listed each %s, seldom", defaultTiming.relist)
	}
}

func TestANodeThatVanishesBetweenListAndGetIsNoEnd(t *testing.T) {
	z := newZooKeeper(t, map[string]string{"json.info_0000000001": node("one"), "json.info_0000000002": node("two")})
	z.vanish = "json.info_0000000001"
	f := follow(t, "zk://"+z.address()+"/mesos", func(c *timing) { c.leaderless = 10 * time.Millisecond })
	f.wants("two")
}

func TestAnExpiredSessionIsOpenedAnewAndTheNodesAreReadAgain(t *testing.T) {
	z := newZooKeeper(t, map[string]string{"json.info_0000000001": node("one")})
	f := follow(t, "zk://"+z.address()+"/mesos")
	f.wants("one")
	z.mu.Lock()
	z.expired, z.nodes = true, map[string]string{"json.info_0000000002": node("two")} // no watch strikes: there is no session
	clear(z.watchers)
	z.mu.Unlock()
	z.cut()
	for {
		found := f.next()
		if found.Err == nil {
			if found.Master.ByName() != "two:5050" {
				t.Errorf("after the session has expired %+v leads", found)
			}
			break
		}
		if !errors.Is(found.Err, ErrAway) {
			t.Errorf("an expired session is told as %v", found.Err)
		}
	}
	if z.sessions < 2 {
		t.Errorf("there were %d sessions", z.sessions)
	}
}

func TestZooKeeperThatComesLaterOrGoesIsTold(t *testing.T) {
	z := newZooKeeper(t, map[string]string{"json.info_0000000001": node("one")})
	address := z.address()
	z.stop()
	f := follow(t, "zk://"+address+",127.0.0.1:1/mesos", func(c *timing) { c.relist = 10 * time.Millisecond })
	f.fails(ErrAway, "zk://"+address+",127.0.0.1:1/mesos", "connection refused")
	z.listen(address)
	for found := f.next(); found.Err != nil; found = f.next() {
	}
	z.stop()
	f.fails(ErrAway)
}

func TestAServerThatDoesNotAnswerIsGivenUp(t *testing.T) {
	z := newZooKeeper(t, map[string]string{})
	z.mute = true
	f := follow(t, "zk://"+z.address()+"/mesos", func(c *timing) { c.answer = 50 * time.Millisecond })
	f.fails(ErrAway, z.address()+": no answer")
}

func TestAPortOfSomethingElseIsToldAsSuch(t *testing.T) {
	web := httptest.NewServer(nil)
	defer web.Close()
	shouting, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer shouting.Close()
	go func() {
		for {
			conn, err := shouting.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "220 mail.example.com ESMTP\r\n")
			conn.Close()
		}
	}()
	follow(t, "zk://"+shouting.Addr().String()+"/mesos").fails(ErrAway, "this is no ZooKeeper")
	follow(t, "zk://"+strings.TrimPrefix(web.URL, "http://")+"/mesos", func(c *timing) { c.answer = 200 * time.Millisecond }).fails(ErrAway)
}

func TestKnownFault105CredentialsAreSentByteByByteAndShownNowhere(t *testing.T) {
	z := newZooKeeper(t, map[string]string{"json.info_0000000001": node("one")})
	z.digest = "me:pa@55:#%é"
	f := follow(t, "zk://"+z.digest+"@"+z.address()+"/mesos")
	f.wants("one")
	z.cut() // the credentials go with the next connection as well
	z.change(func() { z.nodes = map[string]string{"json.info_0000000002": node("two")} })
	refused := follow(t, "zk://me:wrong55@"+z.address()+"/mesos")
	refused.fails(ErrRefused, z.address(), "credentials")
	<-refused.done
	follow(t, "zk://"+z.address()+"/mesos").fails(ErrRefused, "zk://USER:PASSWORD@")
	for _, text := range []string{f.log.String(), refused.log.String()} {
		if strings.Contains(text, "55") && (strings.Contains(text, "pa@55") || strings.Contains(text, "wrong55")) {
			t.Errorf("the log has a password:\n%s", text)
		}
	}
	e, err := Parse("zk://me:pa@55:#%é@h/mesos")
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", e, e, e, e.LogValue()); strings.Contains(shown, "55") || strings.Contains(shown, "me:") {
		t.Errorf("the credentials are in %s", shown)
	}
}
