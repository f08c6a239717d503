package store

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tfmesos/scheduler/cluster"
)

// nasty has all that breaks URLs.
const nasty = `p@ss/w:o#r%d+ =?ü`

func TestKnownFault105SpecialCharactersInTheRedisPassword(t *testing.T) {
	raw := startServer(t, "--requirepass", nasty)
	host := strings.TrimPrefix(raw, "redis://")
	ctx := t.Context()
	for name, u := range map[string]string{
		"encoded":            "redis://:" + url.PathEscape(nasty) + "@" + host,
		"only % encoded":     "redis://:" + strings.ReplaceAll(nasty, "%", "%25") + "@" + host + "/1",
		"with the user":      "redis://default:" + url.PathEscape(nasty) + "@" + host + "/0",
		"encoded by net/url": (&url.URL{Scheme: "redis", User: url.UserPassword("", nasty), Host: host}).String(),
	} {
		s, err := Open(ctx, u, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s.Close()
	}
	for name, u := range map[string]string{
		"wrong password": "redis://:geheim@" + host,
		"wrong user":     "redis://geheim:geheim@" + host,
		"no password":    raw,
	} {
		_, err := Open(ctx, u, Options{})
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if text := err.Error(); strings.Contains(text, "geheim") || !strings.Contains(text, "does not take the user and password") || !strings.Contains(text, host) {
			t.Errorf("%s: the error shows the password, or not what is wrong: %v", name, err)
		}
	}
}

func TestKnownFault105ACLUser(t *testing.T) {
	r := newRig(t, startServer(t))
	if err := r.redis.Do(t.Context(), "ACL", "SETUSER", "ann:b", "on", ">"+nasty, "~*", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	open(t, strings.Replace(r.url, "redis://", "redis://"+"ann%3Ab:"+url.PathEscape(nasty)+"@", 1))
}

func TestABadURLIsRefusedWithoutItsPassword(t *testing.T) {
	for _, u := range []string{
		"", "redis", "http://h:1", "rediss://:geheim@h:1", "redis://", "redis://:geheim@", "redis://:geheim@h:0", "redis://:geheim@h:99999",
		"redis://:geheim@h:x", "redis://:geheim@h/x", "redis://:geheim@h/-1", "redis://:geheim%zz@h", "redis://geheim@h", "redis://:geheim@h/0?timeout=1",
		"redis://:geheim@h:1:2", "REDIS://:geheim@h",
	} {
		_, err := Open(t.Context(), u, Options{Timeout: time.Second})
		if err == nil {
			t.Errorf("%q: accepted", u)
		} else if text := err.Error(); strings.Contains(text, "geheim") || !strings.Contains(text, "want redis://") {
			t.Errorf("%q: the error shows the password, or not what is wrong: %v", u, err)
		}
	}
}

func TestTheURLSaysWhereRedisIs(t *testing.T) {
	for u, want := range map[string]string{
		"redis://h":                "h:6379",
		"redis://h:1/":             "h:1",
		"redis://[::1]:1/3":        "[::1]:1",
		"redis://[::1]":            "[::1]:6379",
		"redis://:p@h/w@10.0.0.1/": "10.0.0.1:6379",
	} {
		opts, err := parseURL(u)
		if err != nil {
			t.Errorf("%s: %v", u, err)
		} else if opts.Addr != want {
			t.Errorf("%s is taken for %s, want %s", u, opts.Addr, want)
		}
	}
}

func TestARedisThatIsNotThereIsSaidInTime(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // its backlog takes the connection, nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, address := range map[string]string{"silent": silent.Addr().String(), "nobody": "127.0.0.1:" + freePort(t)} {
		began := time.Now()
		_, err := Open(t.Context(), "redis://:geheim@"+address, Options{Timeout: 300 * time.Millisecond})
		if err == nil || strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: the error does not name %s, or shows the password: %v", name, address, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: said after %s only", name, took)
		}
	}
}

func TestDurabilityIsSaid(t *testing.T) {
	for name, c := range map[string]struct{ url, want string }{
		"embedded":  {startEmbedded(t), "does not say what it keeps on disk"},
		"append":    {startServer(t, "--appendonly", "yes"), "is append-only (fsync everysec)"},
		"nothing":   {startServer(t), "keeps nothing on disk"},
		"snapshots": {startServer(t, "--save", "3600 1"), "loses what came after its last snapshot"},
	} {
		if got := open(t, c.url).Durability(); !strings.Contains(got, c.want) || strings.Contains(got, "@") {
			t.Errorf("%s: %q, want %q in it", name, got, c.want)
		}
	}
}

func TestKnownFault108NoCommandThatLooksThroughTheWholeServer(t *testing.T) {
	r := newRig(t, startServer(t))
	if err := r.redis.Do(t.Context(), "ACL", "SETUSER", "plain", "on", ">pw", "~tfmesos:*", "resetchannels", "+@all", "-@dangerous", "-scan").Err(); err != nil {
		t.Fatal(err)
	}
	s := open(t, strings.Replace(r.url, "redis://", "redis://plain:pw@", 1))
	if !strings.Contains(s.Durability(), "does not say") {
		t.Errorf("without the right to ask: %q", s.Durability())
	}
	lease, err := s.Acquire(t.Context(), "ctr", anyLeader(1))
	if err != nil {
		t.Fatal(err)
	}
	c := training("ctr")
	complete(c)
	if err := lease.SaveOwner(t.Context(), Owner{User: "u"}); err != nil {
		t.Fatal(err)
	}
	save(t, lease, nil, c, cluster.Note{Kind: "x"})
	load(t, s, "ctr")
	for name, err := range map[string]error{"Renew": lease.Renew(t.Context()), "Finish": lease.Finish(t.Context(), c, time.Hour)} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	log, err := r.redis.Do(t.Context(), "ACL", "LOG").Slice()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range log {
		// Asking for the durability is the one thing that may be refused.
		if text := strings.ToLower(fmt.Sprint(entry)); !strings.Contains(text, "object:info") && !strings.Contains(text, "object:config") {
			t.Errorf("refused by the server: %s", text)
		}
	}
}

func TestThePrintedCommandShowsTheEmbeddedRedisAndNothingElseDoes(t *testing.T) {
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		missing(t, "redis-cli")
	}
	e := startEmbedded(t)
	s := open(t, e)
	lease, err := s.Acquire(t.Context(), "ctr", anyLeader(1))
	if err != nil {
		t.Fatal(err)
	}
	save(t, lease, nil, training("ctr"))
	out, err := exec.Command(cli, "-u", e, "HGET", TasksKey("ctr"), "worker:1").Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != "waiting since 02:15:09Z: no agent has 2 gpus" {
		t.Errorf("redis-cli -u URL says %q, %v", got, err)
	}
	if _, err := Open(context.Background(), "redis://"+s.Address(), Options{}); err == nil {
		t.Error("the embedded Redis lets in who has no password")
	}
	if host, _, _ := net.SplitHostPort(s.Address()); host != "127.0.0.1" {
		t.Errorf("the embedded Redis listens on %s", host)
	}
}

func TestScriptsAreLoadedBeforeTheyAreNeeded(t *testing.T) {
	r := newRig(t, startServer(t))
	save(t, r.acquire(t, "ctr", 1), nil, training("ctr"))
	stats := r.redis.Info(t.Context(), "commandstats").Val()
	if strings.Contains(stats, "cmdstat_eval:") || !strings.Contains(stats, "cmdstat_evalsha:") {
		t.Errorf("whole scripts were sent with a Save:\n%s", stats)
	}
}
