package schedclient

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
	"tfmesos/sidecar/boot"
)

// fakeV0 is a scheduler with /v0 alone, for one task. Each request is noted with its credentials.
type fakeV0 struct {
	url string

	mu     sync.Mutex
	asked  []string
	status []int // of /v0/status, one after the other; the last stays
	job    string
	answer func(w http.ResponseWriter, r *http.Request) bool // true: it has answered instead
}

const v0TaskID = "0b7c1a52-6a0c-4c43-9d7e-6f2b1c4d5e6f"

func newV0(t *testing.T) *fakeV0 {
	f := &fakeV0{status: []int{200}, job: `{"job_name":"worker","task_index":0,"cpus":1.0,"mem":1024.0,"gpus":0.5,"cluster_def":{"worker":["10.0.0.8:4001"]}}`}
	f.url = serve(t, f.serve)
	return f
}

func (f *fakeV0) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	user, password, _ := r.BasicAuth()
	f.asked = append(f.asked, strings.TrimSpace(fmt.Sprintf("%s %s %s:%s", r.Method, r.URL.Path, user, password)))
	if f.answer != nil && f.answer(w, r) {
		return
	}
	task := "/v0/task/" + v0TaskID
	switch r.Method + " " + r.URL.Path {
	case "GET /v0/status":
		w.WriteHeader(f.status[0])
		if f.status[0] == 200 {
			fmt.Fprint(w, "ok")
		}
		f.status = f.status[min(1, len(f.status)-1):]
	case "GET " + task + "/job":
		fmt.Fprint(w, f.job)
	case "PUT " + task + "/port/4001", "PUT " + task:
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<!doctype html><h1>Not Found</h1>") // as Flask does
	}
}

func either(t *testing.T, url string) *Either {
	t.Helper()
	c := NewEither(Config{URLs: []string{url}, TaskID: v0TaskID, User: "me", Token: "t0ken", VerifySSL: true, RequestTimeout: 200 * time.Millisecond})
	t.Cleanup(c.Close)
	return c
}

func TestASchedulerWithoutV1IsSpokenToAsTFMesos2Does(t *testing.T) {
	f := newV0(t)
	f.status = []int{204, 204, 200}
	c := either(t, f.url)
	registered, err := c.Register(t.Context(), callback.Registration{Port: 4001})
	if err != nil || registered.JobName != "worker" || registered.TaskIndex != 0 || !c.OnlyV0() {
		t.Fatalf("%+v, %v", registered, err)
	}
	for _, phase := range []callback.Phase{callback.PhasePythonStarted, callback.PhaseImported} {
		if err := c.Report(t.Context(), callback.PhaseReport{Phase: phase}); err != nil {
			t.Error(err)
		}
	}
	began := time.Now()
	assignment, err := c.Poll(t.Context(), 0)
	if err != nil || assignment.Generation != 1 || !assignment.ClusterDef.Equal(tf.ClusterDef{"worker": {"10.0.0.8:4001"}}) || assignment.Why != "" {
		t.Errorf("%+v, %v", assignment, err)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("the cluster_def was taken after %s, before it had stayed as it was", took)
	}
	if err := c.Log(t.Context(), callback.Log{}); err != nil {
		t.Error(err)
	}
	if err := c.Report(t.Context(), callback.PhaseReport{Phase: callback.PhaseServing}); err != nil {
		t.Error(err)
	}
	var want []string
	for _, line := range []string{"PUT /v1/task/ID/registration", "GET /v0/task/ID/job", "PUT /v0/task/ID/port/4001", "GET /v0/status", "GET /v0/task/ID/job", "PUT /v0/task/ID"} {
		want = append(want, strings.Replace(line, "ID", v0TaskID, 1)+" me:t0ken")
	}
	var got []string // without repetitions
	for _, line := range f.asked {
		if len(got) < 5 || line == want[5] {
			if len(got) == 0 || got[len(got)-1] != line {
				got = append(got, line)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s\nall: %s", diff, strings.Join(f.asked, "\n"))
	}
}

func TestASchedulerWithV1IsNeverAskedByV0(t *testing.T) {
	var asked []string
	answers := http.StatusOK
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.WriteHeader(answers)
		fmt.Fprint(w, `{"job_name":"worker","task_index":1}`)
	})
	c := either(t, url)
	if registered, err := c.Register(t.Context(), callback.Registration{Port: 4001}); err != nil || registered.TaskIndex != 1 {
		t.Fatalf("%+v, %v", registered, err)
	}
	answers = http.StatusNotFound // somebody else has its port for a moment
	_, err := c.Register(t.Context(), callback.Registration{Port: 4001})
	wantFailure(t, err, boot.Away)
	wantFailure(t, c.Report(t.Context(), callback.PhaseReport{Phase: callback.PhaseServing}), boot.Away)
	wantFailure(t, c.Log(t.Context(), callback.Log{}), boot.Away)
	for _, path := range asked {
		if strings.HasPrefix(path, "/v0") {
			t.Errorf("the sidecar asked for %s", path)
		}
	}
}

func TestWhatV0AnswersMeansWhatItMeans(t *testing.T) {
	answering := func(path string, status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, path) {
				return false
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		}
	}
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request) bool
		want   boot.Failure
		words  string
	}{
		{"an unknown task has an empty job", answering("/job", 200, ""), boot.Superseded, "does not know the task_id " + v0TaskID},
		{"no /v0 either", answering("/", 404, "<html>"), boot.Away, "neither /v1 nor /v0"},
		{"credentials are wanted", answering("/v0/", 401, "no"), boot.Refused, `answers 401: "no"`},
		{"credentials are refused", answering("/v0/", 403, ""), boot.Refused, "answers 403"},
		{"credentials are wanted before all else", answering("/", 401, ""), boot.Refused, "answers 401"},
		{"a job that is none", answering("/job", 200, "[]"), boot.Away, "not a scheduler's"},
		{"a job without a name", answering("/job", 200, "{}"), boot.Away, "the job has no job_name"},
		{"a fault", answering("/port/", 500, "oops"), boot.Away, "answers 500"},
		{"slow", func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, "/v0") {
				<-r.Context().Done()
			}
			return false
		}, boot.Away, "no answer within 200ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newV0(t)
			f.answer = c.answer
			_, err := either(t, f.url).Register(t.Context(), callback.Registration{Port: 4001})
			wantFailure(t, err, c.want)
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%v does not say %q", err, c.words)
			}
		})
	}
}

// TestWithoutCredentialsNoneAreSent: tfmesos2's scheduler sets none.
func TestWithoutCredentialsNoneAreSent(t *testing.T) {
	f := newV0(t)
	f.answer = func(_ http.ResponseWriter, r *http.Request) bool {
		if got := r.Header.Get("Authorization"); got != "" {
			t.Errorf("sent %q", got)
		}
		return false
	}
	c := NewEither(Config{URLs: []string{f.url}, TaskID: v0TaskID, RequestTimeout: time.Second})
	defer c.Close()
	if _, err := c.Register(t.Context(), callback.Registration{Port: 4001}); err != nil {
		t.Error(err)
	}
}

func TestAPortThatIsNotKnownYetIsSaidAndAskedForAgain(t *testing.T) {
	f := newV0(t)
	c := either(t, f.url)
	if _, err := c.Register(t.Context(), callback.Registration{Port: 4001}); err != nil {
		t.Fatal(err)
	}
	complete := f.job
	f.job = strings.Replace(complete, `["10.0.0.8:4001"]`, `[]`, 1)
	why, err := c.gather(t.Context())
	if err != nil || !strings.Contains(why, "has no task") || c.assignment.Generation != 0 {
		t.Errorf("%q, %v", why, err)
	}
	f.status = []int{204, 200}
	if why, err = c.gather(t.Context()); err != nil || !strings.Contains(why, "not say yet that all tasks run") {
		t.Errorf("%q, %v", why, err)
	}
	f.job = complete
	if a, err := c.Poll(t.Context(), 0); err != nil || a.Generation != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	f.job = strings.Replace(complete, "8:4001", "9:4001", 1)
	if a, err := c.look(t.Context(), time.Now()); err != nil || a.Generation != 2 {
		t.Errorf("a cluster_def that has changed is no news: %+v, %v", a, err)
	}
	f.job = strings.Replace(complete, `["10.0.0.8:4001"]`, `[]`, 1)
	if a, err := c.look(t.Context(), time.Now()); err != nil || a.Generation != 2 || len(a.ClusterDef) == 0 {
		t.Errorf("one with a hole is news: %+v, %v", a, err)
	}
	f.job = ""
	_, err = c.look(t.Context(), time.Now())
	wantFailure(t, err, boot.Superseded)
}
