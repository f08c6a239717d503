package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
)

// once sends text on a connection of its own and returns the answer to it.
func (a *api) once(text string) (answer, bool) {
	c := a.dial()
	defer c.Close()
	c.send(text)
	return c.answer()
}

func TestKnownFault065SegmentsAreNotMeltedAway(t *testing.T) {
	a := serve(t, newLoop(2))
	id := idOf(worker0, 2)
	for _, line := range []string{
		"PUT /v0/task//port/80", "PUT /v0//task/" + id, "GET //v0/status", "PUT /v0/task/" + id + "/./port/80",
		"PUT /v0/task/x/../" + id + "/port/80", "PUT /v0/task/" + id + "/port/80/", "PUT /v0/task/%2e%2e/port/80", "PUT /v0/task/" + id + "/port%2f80",
		"GET /v0/status/", "GET /", "GET http://x/v0/status", "PUT /v0/task/x\\" + id + "/port/80",
	} {
		got, ok := a.once(operatorRequest(line + " HTTP/1.1"))
		if !ok || got.status != 400 && got.status != 404 {
			t.Errorf("%s: %d, want 400 or 404", line, got.status)
		}
		got, ok = a.once(line + " HTTP/1.1\r\nHost: x\r\n\r\n")
		if !ok || got.status != 401 {
			t.Errorf("%s without credentials: %d, want 401", line, got.status)
		}
	}
	if got, _ := a.once(operatorRequest("GET //v0/status HTTP/1.1")); got.status != 404 {
		t.Errorf("GET //v0/status: %d, want 404", got.status)
	}
	if events := a.loop.submitted(); len(events) > 0 {
		t.Errorf("odd paths made events: %v", events)
	}
}

func TestKnownFault067OnlyPortsArePorts(t *testing.T) {
	a := serve(t, newLoop(2))
	at := func(port string) string { return "PUT /v0/task/" + idOf(worker0, 2) + "/port/" + port + " HTTP/1.1" }
	for _, port := range []string{"0", "65536", "-1", "+80", "080", "00", "4294967377", "99999999999999999999", "8e1", "80.0", "0x50", "80%20",
		"%EF%BC%98%EF%BC%90", "８０", ""} {
		if got, _ := a.once(operatorRequest(at(port))); got.status != 400 {
			t.Errorf("port %q: %d, want 400", port, got.status)
		}
	}
	if events := a.loop.submitted(); len(events) > 0 {
		t.Errorf("what is no port made events: %v", events)
	}
	for _, port := range []string{"1", "65535", "4000"} {
		if got, _ := a.once(operatorRequest(at(port))); got.status != 200 {
			t.Errorf("port %q: %d, want 200", port, got.status)
		}
	}
	if c, _ := a.loop.Snapshot(); c.Task(worker0).Port != 4000 {
		t.Errorf("the stored port is %d, want the last, 4000", c.Task(worker0).Port)
	}
}

// Known fault 72: fasthttp uses the memory of a request again. What an event keeps must not change with the next request.
func TestKnownFault072ValuesOfRequestsAreNotMixedUp(t *testing.T) {
	const clients, rounds = 60, 20
	a := serve(t, newLoop(clients))
	var wg sync.WaitGroup
	for i := range clients {
		name := worker0
		name.TaskIndex = i
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
			defer client.CloseIdleConnections()
			send := func(method, target, body string) {
				r, err := http.NewRequest(method, "http://"+a.addr+target, strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				asTask(name)(r)
				res, err := client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := readAnswer(res); err != nil {
					t.Error(err)
				}
			}
			for round := range rounds {
				port := 1000 + i*rounds + round
				send("GET", "/junk/"+strings.Repeat("j", i+round), "")
				if round%2 == 0 {
					send("PUT", fmt.Sprintf("/v0/task/%s/port/%d", idOf(name, 2), port), "")
				} else {
					send("PUT", path(callback.PathRegistration, name), fmt.Sprintf(`{"port": %d, "hostname": "host-%d"}`, port, port))
				}
			}
		})
	}
	wg.Wait()
	c, _ := a.loop.Snapshot()
	for i := range clients {
		name := worker0
		name.TaskIndex = i
		if want, got := 1000+i*rounds+rounds-1, c.Task(name).Port; got != want {
			t.Errorf("%s: port %d, want %d, the last it sent", name, got, want)
		}
	}
	for _, ev := range a.loop.submitted() {
		reg := ev.(cluster.Registered)
		task, _ := c.Launch(reg.TaskID), reg.Registration
		if task == nil {
			t.Fatalf("an event has the task_id %q, which no task has", reg.TaskID)
		}
		if i := (reg.Registration.Port - 1000) / rounds; i != task.Name.TaskIndex {
			t.Errorf("the event of %s has the port of worker:%d", task.Name, i)
		}
		if host := reg.Registration.Hostname; host != "" && host != fmt.Sprintf("host-%d", reg.Registration.Port) {
			t.Errorf("the event with port %d has the hostname %q", reg.Registration.Port, host)
		}
	}
}

func TestKnownFault073WrongMethods(t *testing.T) {
	a := serve(t, newLoop(2))
	id := idOf(worker0, 2)
	methods := []string{"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "get", "TRACE", "BREW"}
	for _, row := range routes {
		target := strings.NewReplacer("{task_id}", id, "{port}", "4000", "{file}", "f").Replace(row.path)
		for _, method := range methods {
			if method == row.method {
				continue
			}
			request := method + " " + target + " HTTP/1.1"
			got, _ := a.onceBodyless(operatorRequest(request+"\r\nX-HTTP-Method-Override: PUT"), method)
			if row.method == "GET" && method == "HEAD" {
				full, _ := a.once(operatorRequest("GET " + target + " HTTP/1.1"))
				if got.status != full.status || got.body != "" || got.header.Get("Content-Type") != full.header.Get("Content-Type") {
					t.Errorf("%s: %d %q, want GET's %d and no body", request, got.status, got.body, full.status)
				}
				continue
			}
			allow := strings.Split(got.header.Get("Allow"), ", ")
			if got.status != 405 || !slices.Contains(allow, row.method) || slices.Contains(allow, method) {
				t.Errorf("%s: %d, Allow %v, want 405 and Allow with %s", request, got.status, allow, row.method)
			}
			if got, _ := a.onceBodyless(request+"\r\nHost: x\r\n\r\n", method); got.status != 401 && !(row.path == callback.PathHealth && method == "HEAD") {
				t.Errorf("%s without credentials: %d, want 401", request, got.status)
			}
		}
	}
	if events := a.loop.submitted(); len(events) > 0 {
		t.Errorf("wrong methods made events: %v", events)
	}
}

// onceBodyless is once for a method whose answer may have no body.
func (a *api) onceBodyless(text, method string) (answer, bool) {
	c := a.dial()
	defer c.Close()
	c.send(text)
	res, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		return answer{}, false
	}
	got, err := readAnswer(res)
	return got, err == nil
}

func TestKnownFault075LongHeadersAndPathsAreAnswered(t *testing.T) {
	a := serve(t, newLoop(2))
	for _, c := range []struct {
		name, text string
		want       []int
	}{
		{"header of 3 kB", operatorRequest("GET /v0/status HTTP/1.1\r\nX: " + strings.Repeat("x", 3<<10)), []int{204}},
		{"header of 5 kB", operatorRequest("GET /v0/status HTTP/1.1\r\nX: " + strings.Repeat("x", 5<<10)), []int{204}},
		{"header of 17 kB", operatorRequest("GET /v0/status HTTP/1.1\r\nX: " + strings.Repeat("x", 17<<10)), []int{431}},
		{"1000 headers", operatorRequest("GET /v0/status HTTP/1.1" + strings.Repeat("\r\nX-Small: header", 1000)), []int{431}},
		{"path of 17 kB", operatorRequest("GET /" + strings.Repeat("p", 17<<10) + " HTTP/1.1"), []int{431, 414, 400}},
		{"path of 10 kB", operatorRequest("GET /" + strings.Repeat("p", 10<<10) + " HTTP/1.1"), []int{404}},
	} {
		if got, ok := a.once(c.text); !ok || !slices.Contains(c.want, got.status) {
			t.Errorf("%s: %d, want one of %v", c.name, got.status, c.want)
		}
	}
	a.want(a.call(asOperator, "GET", callback.PathCluster, ""), 200, "a plain request after them")
	a.stop()
	if logs := a.logs.text(); strings.Contains(logs, "b3BlcmF0b3I6") || strings.Contains(logs, "Basic") {
		t.Errorf("the log has credentials:\n%s", logs)
	}
}

func TestKnownFault078ConnectionsAreClosedWhenAsked(t *testing.T) {
	a := serve(t, newLoop(2))
	for _, c := range []struct {
		name, text string
		status     int
		closed     bool
	}{
		{"Connection: close", operatorRequest("GET /v0/status HTTP/1.1\r\nConnection: close"), 204, true},
		{"HTTP/1.0", "GET /v0/status HTTP/1.0\r\n" + basicOperator + "\r\n", 204, true},
		{"HTTP/1.0 that keeps", "GET /v0/status HTTP/1.0\r\nConnection: keep-alive\r\n" + basicOperator + "\r\n", 204, false},
		{"HTTP/1.1", operatorRequest("GET /v0/status HTTP/1.1"), 204, false},
		{"HTTP/1.1 without Host", "GET /v0/status HTTP/1.1\r\n" + basicOperator + "\r\n", 400, true},
	} {
		conn := a.dial()
		conn.send(c.text)
		if got, ok := conn.answer(); !ok || got.status != c.status {
			t.Errorf("%s: %d, want %d", c.name, got.status, c.status)
		}
		if c.closed && !conn.closed() {
			t.Errorf("%s: the connection stays open", c.name)
		}
		if !c.closed {
			conn.send(operatorRequest("GET /v0/status HTTP/1.1"))
			if got, ok := conn.answer(); !ok || got.status != 204 {
				t.Errorf("%s: a second request on the connection: %d, want 204", c.name, got.status)
			}
		}
		conn.Close()
	}
}

func TestKnownFault118MangledHeadersAreNoCredentials(t *testing.T) {
	a := serve(t, newLoop(2))
	line := "GET /v0/status HTTP/1.1\r\nHost: x\r\n"
	authorization := strings.TrimSuffix(basicOperator, "\r\n")
	for _, text := range []string{
		line + "\r" + authorization + "\r\n\r\n",
		"GET /v0/status HTTP/1.1\r\n " + authorization + "\r\nHost: x\r\n\r\n",
		line + "X: y\r\n " + authorization + "\r\n\r\n",
		line + strings.Replace(authorization, ":", "\x00:", 1) + "\r\n\r\n",
		line + strings.Replace(authorization, ":", " :", 1) + "\r\n\r\n",
		line + authorization + "\x00\r\n\r\n",
		line + strings.Replace(authorization, "Basic ", "Basic\x00", 1) + "\r\n\r\n",
		"GET  /v0/status HTTP/1.1\r\nHost: x\r\n" + authorization + "\r\n\r\n",
		"GET\t/v0/status\tHTTP/1.1\r\nHost: x\r\n" + authorization + "\r\n\r\n",
		"GET /v0/sta\ttus HTTP/1.1\r\nHost: x\r\n" + authorization + "\r\n\r\n",
		"GET /v0/status?\x01 HTTP/1.1\r\nHost: x\r\n" + authorization + "\r\n\r\n",
	} {
		if got, ok := a.once(text); ok && got.status != 400 && got.status != 401 {
			t.Errorf("%q: %d, want 400, 401 or a closed connection", text, got.status)
		}
	}
}

func TestKnownFault119NothingSentComesBackAsAHeader(t *testing.T) {
	a := serve(t, newLoop(2))
	const evil = "x%0d%0aX-Evil:%201"
	for _, target := range []string{"/v0/download/" + evil, "/v0/task/" + evil + "/job", "/v0/status?" + evil, "/" + evil,
		path(callback.PathClusterDef, worker0) + "?wait=" + evil} {
		got, _ := a.once(operatorRequest("GET " + target + " HTTP/1.1"))
		if got.header.Get("X-Evil") != "" || got.status == 0 || strings.Contains(got.body, "\n") {
			t.Errorf("GET %s: %d %v %q, want an answer without X-Evil", target, got.status, got.header, got.body)
		}
	}
	a.stop()
	for _, line := range strings.Split(strings.TrimSpace(a.logs.text()), "\n") {
		if !strings.HasPrefix(line, "time=") {
			t.Errorf("a log line was broken: %q", line)
		}
	}
}
