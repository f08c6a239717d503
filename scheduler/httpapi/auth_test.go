package httpapi

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
)

func basic(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }

func TestKnownFault110MalformedCredentialsAreRefused(t *testing.T) {
	a := serve(t, newLoop(2))
	good := strings.TrimPrefix(strings.TrimSuffix(basicOperator, "\r\n"), "Authorization: ")
	id := idOf(worker0, 2)
	conn := a.dial()
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{nil, 401}, {[]string{""}, 401}, {[]string{"Basic"}, 401}, {[]string{"Basic "}, 401}, {[]string{"Basic !!!"}, 401},
		{[]string{basic("nocolon")}, 401}, {[]string{basic(":")}, 401}, {[]string{basic("operator:")}, 401}, {[]string{basic("operator")}, 401},
		{[]string{basic(":" + operatorToken)}, 401}, {[]string{basic(id + ":" + operatorToken)}, 401}, {[]string{basic("operator:" + tokenOf(id))}, 401},
		{[]string{basic(idOf(worker1, 2) + ":" + tokenOf(id))}, 401}, {[]string{basic(id + ":")}, 401},
		{[]string{"Bearer"}, 401}, {[]string{"Bearer "}, 401}, {[]string{"Bearer x"}, 401}, {[]string{"Bearer  " + tokenOf(id)}, 401},
		{[]string{"Bearer " + cluster.HashToken(tokenOf(id))}, 401}, {[]string{"Digest " + tokenOf(id)}, 401}, {[]string{tokenOf(id)}, 401},
		{[]string{good, good}, 401}, {[]string{good, "Basic"}, 401}, {[]string{strings.TrimRight(good, "=")}, 204},
		{[]string{strings.TrimRight(basic(id+":"+tokenOf(id)), "=")}, 401},
		{[]string{good}, 204}, {[]string{strings.Replace(good, "Basic", "basic", 1)}, 204}, {[]string{"BEARER " + operatorToken}, 204},
		{[]string{"Bearer " + tokenOf(id)}, 204}, {[]string{basic(id + ":" + tokenOf(id))}, 204},
	} {
		text := "GET /v0/status HTTP/1.1\r\nHost: x\r\n"
		for _, h := range c.headers {
			text += "Authorization: " + h + "\r\n"
		}
		conn.send(text + "\r\n")
		if got, ok := conn.answer(); !ok || got.status != c.status {
			t.Fatalf("%q: %d, want %d on a connection that stays usable", c.headers, got.status, c.status)
		}
	}
	if got, ok := a.once("GET /v0/status HTTP/1.1\r\nHost: x\r\nAuthorization: Basic " + strings.Repeat("A", 100000) + "\r\n\r\n"); ok && got.status != 431 {
		t.Errorf("a credential of 100 kB: %d, want 431 or a closed connection", got.status)
	}
	a.want(a.call(asOperator, "GET", callback.PathCluster, ""), 200, "a plain request after them")
}

func TestKnownFault111EveryStrangerGetsTheSameAnswer(t *testing.T) {
	a := serve(t, newLoop(2))
	var first *answer
	check := func(got answer, what string) {
		got.header.Del("Date")
		if first == nil {
			first = &got
		}
		if diff := cmp.Diff(*first, got, cmp.AllowUnexported(answer{})); diff != "" {
			t.Errorf("%s can be told from others (-first +this):\n%s", what, diff)
		}
	}
	targets := []string{"/", "/unknown", "/v1/task", "/metrics", "//v0/status", "/v0/task/%zz", "/v0/task/" + idOf(worker0, 2), "/healthz/"}
	for _, row := range routes[1:] {
		targets = append(targets, strings.NewReplacer("{task_id}", idOf(worker0, 2), "{port}", "80", "{file}", "f").Replace(row.path))
	}
	for _, target := range targets {
		for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
			for _, header := range []string{"", basic("nobody:x"), basic("operator:x"), basic(idOf(worker0, 2) + ":x"), "Bearer x"} {
				text := method + " " + target + " HTTP/1.1\r\nHost: x\r\n"
				if header != "" {
					text += "Authorization: " + header + "\r\n"
				}
				got, _ := a.once(text + "\r\n")
				check(got, method+" "+target+" with "+header)
			}
		}
	}
	if first.status != 401 || first.header.Get("WWW-Authenticate") != `Basic realm="tfmesos"` {
		t.Errorf("strangers get %d %v, want 401 with a challenge", first.status, first.header)
	}
}

func TestKnownFault112EmptyCredentialsNeverOpen(t *testing.T) {
	for _, empty := range []string{"", " ", "\t\n"} {
		if s, err := New(Config{Listen: "127.0.0.1:0", OperatorToken: empty, Logger: slog.New(slog.DiscardHandler)}, newLoop(1)); err == nil {
			s.listener.Close()
			t.Errorf("New with the operator token %q: no error, so anyone could be the operator", empty)
		}
	}
	l := newLoop(2)
	l.change(func(c *cluster.Cluster) { c.Task(worker0).TokenSHA256 = "" })
	l.change(func(c *cluster.Cluster) { c.Task(worker1).TokenSHA256 = cluster.HashToken("") })
	a := serve(t, l)
	for _, header := range []string{"Basic Og==", basic("operator:"), basic(idOf(worker0, 2) + ":"), basic(idOf(worker1, 2) + ":"), "Bearer "} {
		got := a.call(func(r *http.Request) { r.Header.Set("Authorization", header) }, "GET", callback.PathCluster, "")
		a.want(got, 401, header)
	}
}

// A task reads the cluster and acts on itself; whether another id is known is not its business.
func TestATaskActsOnItselfOnly(t *testing.T) {
	a := serve(t, newLoop(2))
	a.want(a.call(asTask(worker0), "GET", callback.PathCluster, ""), 200, "the cluster")
	for _, id := range []string{idOf(worker1, 2), "unknown", idOf(worker1, 9)} {
		for _, row := range routes {
			if !strings.Contains(row.path, "{task_id}") {
				continue
			}
			target := strings.Replace(callback.For(row.path, id), "{port}", "80", 1)
			a.want(a.call(asTask(worker0), row.method, target, ""), 403, row.method+" "+target)
		}
	}
	if events := a.loop.submitted(); len(events) > 0 {
		t.Errorf("acting on others made events: %v", events)
	}
}
