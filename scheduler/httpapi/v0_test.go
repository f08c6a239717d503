package httpapi

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// The table of the routes that tfmesos2 has.
func TestTheRoutesOfTfmesos2(t *testing.T) {
	l := newLoop(2)
	a := serve(t, l)
	port := func(id, port string) string { return "/v0/task/" + id + "/port/" + port }
	mine, other := idOf(worker1, 2), idOf(worker0, 2)
	a.want(a.call(asTask(worker1), "GET", "/v0/status", ""), 204, "status before cluster_def")
	job := a.call(asTask(worker1), "GET", "/v0/task/"+mine+"/job", "")
	if want := `{"job_name":"worker","task_index":1,"cpus":0.5,"mem":1024,"gpus":2,"cluster_def":{}}`; job.body != want {
		t.Errorf("job before cluster_def: %s, want %s", job.body, want)
	}
	a.want(a.call(asTask(worker1), "PUT", port(mine, "4000"), ""), 200, "port")
	a.want(a.call(asTask(worker1), "PUT", port(mine, "4000"), ""), 200, "port again")
	want := []cluster.Event{cluster.Registered{TaskID: mine, Registration: callback.Registration{Port: 4000}}}
	if diff := cmp.Diff(want, l.submitted()); diff != "" {
		t.Errorf("the same port twice, where Mesos alone tells the address (-want +got):\n%s", diff)
	}
	a.want(a.call(asOperator, "PUT", port("x", "4000"), ""), 404, "port of an unknown task")
	a.want(a.call(asTask(worker1), "PUT", port(other, "4000"), ""), 403, "port of another task")
	a.want(a.call(asTask(worker1), "PUT", port("x", "4000"), ""), 403, "port of an unknown task, asked by a task")
	a.want(a.call(asTask(worker1), "GET", "/v0/task/"+other+"/job", ""), 403, "job of another task")
	a.want(a.call(asTask(worker1), "PUT", "/v0/task/"+mine, ""), 200, "initialised")
	a.want(a.call(asOperator, "PUT", "/v0/task/x", ""), 404, "unknown task initialised")
	a.want(a.call(asOperator, "GET", "/v0/download/train.py", ""), 404, "download")
	if got := a.call(asOperator, "GET", "/v0/task/x/job", ""); got.status != 200 || got.body != "" {
		t.Errorf("job of an unknown task: %d %q, want 200 and nothing", got.status, got.body)
	}

	l.change(complete)
	if got := a.call(asTask(worker1), "GET", "/v0/status", ""); got.status != 200 || got.body != "ok" {
		t.Errorf("status when all is up: %d %q, want 200 ok", got.status, got.body)
	}
	l.change(func(c *cluster.Cluster) { c.Task(ps0).State = cluster.TaskStateLost })
	a.want(a.call(asTask(worker1), "GET", "/v0/status", ""), 204, "status without the ps")
}

// Known fault 82: job and TF_CONFIG have the same cluster, in which only the evaluator sees the evaluator.
func TestKnownFault082JobHasTheClusterOfTFConfig(t *testing.T) {
	l := newLoop(12)
	l.change(complete)
	a := serve(t, l)
	for _, task := range l.current.Tasks {
		job := parse[callback.V0Job](t, a.call(asTask(task.Name), "GET", path(callback.PathV0Job, task.Name), "").body)
		want, err := tf.ConfigFor(l.current.ClusterDef, task.Name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Cluster, job.ClusterDef); diff != "" {
			t.Errorf("cluster_def of %s (-want +got):\n%s", task.Name, diff)
		}
		if got := job.ClusterDef[job.JobName][job.TaskIndex]; got != tf.JoinAddress(task.Address, task.Port) {
			t.Errorf("%s stands in its cluster_def with %s, want port %d", task.Name, got, task.Port)
		}
	}
}

// ofPeer is the text of a request as tfmesos2's sidecar sends it, with the credentials that the scheduler sets per launch.
func ofPeer(line string, name tf.TaskName) string {
	id := idOf(name, 2)
	text := line + " HTTP/1.1\r\nHost: 10.0.0.1:11000\r\nUser-Agent: python-requests/2.34.2\r\nAccept-Encoding: gzip, deflate\r\n" +
		"Accept: */*\r\nConnection: keep-alive\r\n"
	if strings.HasPrefix(line, "PUT ") {
		text += "Content-Length: 0\r\n"
	}
	return text + "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+tokenOf(id))) + "\r\n\r\n"
}

// What tfmesos2's sidecar sends, byte for byte, until its server serves.
func TestTheRequestsOfThePeerAreAnsweredAsItReadsThem(t *testing.T) {
	l := newLoop(2)
	a := serve(t, l)
	c := a.dial()
	says := func(line string) answer {
		t.Helper()
		c.send(ofPeer(line, worker1))
		got, ok := c.answer()
		if !ok || got.header.Get("Content-Encoding") != "" {
			t.Fatalf("%s: no plain answer: %+v", line, got)
		}
		return got
	}
	id := idOf(worker1, 2)
	for range 2 { // it repeats itself every 10 s
		if got := says("PUT /v0/task/" + id + "/port/4000"); got.status != 200 {
			t.Errorf("port: %d %q, want 200", got.status, got.body)
		}
		if got := says("GET /v0/status"); got.status != 204 || got.body != "" {
			t.Errorf("status before cluster_def: %d %q, want 204 and nothing", got.status, got.body)
		}
	}
	l.change(func(c *cluster.Cluster) {
		complete(c)
		c.Task(worker1).Port = 4000
		c.ClusterDef[tf.Worker][1] = "10.0.3.14:4000"
	})
	if got := says("PUT /v0/task/" + id + "/port/4000"); got.status != 200 {
		t.Errorf("the same port when cluster_def is out: %d %q, want 200", got.status, got.body)
	}
	if got := says("GET /v0/status"); got.status != 200 || got.body != "ok" || got.header.Get("Content-Length") != "2" {
		t.Errorf("status: %d %q, want 200 and the two bytes ok", got.status, got.body)
	}
	const job = `{"job_name":"worker","task_index":1,"cpus":0.5,"mem":1024,"gpus":2,"cluster_def":` +
		`{"chief":["10.0.3.14:4000"],"ps":["10.0.3.14:4001"],"worker":["10.0.3.14:4003","10.0.3.14:4000"]}}`
	if got := says("GET /v0/task/" + id + "/job"); got.status != 200 || got.body != job {
		t.Errorf("job: %d\n%s, want\n%s", got.status, got.body, job)
	}
	if n := len(l.submitted()); n != 1 {
		t.Errorf("all of that was stored %d times, want once", n)
	}
}

func TestStatusOfV0WaitsForClusterDefAndForEachTask(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*cluster.Cluster)
		want int
	}{
		{"all run and there is no cluster_def", func(*cluster.Cluster) {}, 204},
		{"cluster_def is there and one is staging", func(c *cluster.Cluster) { complete(c); c.Task(worker1).State = cluster.TaskStateStaging }, 204},
		{"all run and cluster_def is there", complete, 200},
		{"one has finished before a late ps asks", func(c *cluster.Cluster) { complete(c); c.Task(worker1).State = cluster.TaskStateFinished }, 200},
		{"one has finished and there is no cluster_def", func(c *cluster.Cluster) { c.Task(worker1).State = cluster.TaskStateFinished }, 204},
		{"one has failed", func(c *cluster.Cluster) { complete(c); c.Task(worker1).State = cluster.TaskStateFailed }, 204},
		{"a side task has ended", func(c *cluster.Cluster) {
			complete(c)
			c.Spec.Jobs = append(c.Spec.Jobs, cluster.Job{Name: "fetch", Num: 1, Side: true})
			c.Tasks = append(c.Tasks, cluster.Task{Name: tf.TaskName{JobName: "fetch"}, State: cluster.TaskStateFinished})
		}, 200},
	} {
		l := newLoop(2)
		l.change(c.edit)
		a := serve(t, l)
		a.want(a.call(asTask(worker1), "GET", "/v0/status", ""), c.want, c.name)
	}
}

func TestAPortOfV0MayChangeUntilClusterDefIsOut(t *testing.T) {
	l := newLoop(2)
	a := serve(t, l)
	port := func(port string) answer {
		return a.call(asTask(worker1), "PUT", "/v0/task/"+idOf(worker1, 2)+"/port/"+port, "")
	}
	a.want(port("4000"), 200, "the first port")
	a.want(port("4001"), 200, "another")
	if c, _ := l.Snapshot(); c.Task(worker1).Port != 4001 {
		t.Errorf("the port is %d, want the last, 4001", c.Task(worker1).Port)
	}
	l.change(complete)
	out, _ := l.Snapshot()
	a.want(port("4001"), 409, "another than in cluster_def")
	if c, _ := l.Snapshot(); c.Task(worker1).Port != out.Task(worker1).Port {
		t.Errorf("the port is %d, want that of cluster_def, %d", c.Task(worker1).Port, out.Task(worker1).Port)
	}
}

func TestInitialisedChangesNothing(t *testing.T) {
	l := newLoop(2)
	a := serve(t, l)
	a.want(a.call(asTask(worker1), "PUT", "/v0/task/"+idOf(worker1, 2), ""), 200, "initialised")
	a.want(a.call(asTask(worker1), "PUT", "/v0/task/"+idOf(worker0, 2), ""), 403, "another task initialised")
	if events := l.submitted(); len(events) > 0 {
		t.Errorf("it made events: %v", events)
	}
}

func TestNobodySeesV0WithoutCredentials(t *testing.T) {
	l := newLoop(2)
	l.change(complete)
	a := serve(t, l)
	id := idOf(worker1, 2)
	for _, c := range []struct{ method, path string }{
		{"GET", "/v0/status"}, {"GET", "/v0/task/" + id + "/job"}, {"PUT", "/v0/task/" + id + "/port/4000"},
		{"PUT", "/v0/task/" + id}, {"GET", "/v0/download/train.py"}, {"GET", "/v0/task/x/job"},
	} {
		got := a.call(asNobody, c.method, c.path, "")
		a.want(got, 401, c.method+" "+c.path)
		if !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("%s %s does not ask for Basic", c.method, c.path)
		}
	}
}

// There is no folder to download from: whatever the name, not a byte comes.
func TestDownloadLeadsNowhere(t *testing.T) {
	a := serve(t, newLoop(2))
	for _, file := range []string{"v0.go", "../v0.go", "..%2fv0.go", "%2e%2e/v0.go", "/etc/passwd", "..", ".", "", "x/v0.go", "v0.go%00"} {
		got, ok := a.once(operatorRequest("GET /v0/download/" + file + " HTTP/1.1"))
		if !ok || got.status != 400 && got.status != 403 && got.status != 404 || strings.Contains(got.body, "package") {
			t.Errorf("download of %q: %d %s", file, got.status, got.body)
		}
	}
}
