package schedclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
	"tfmesos/sidecar/boot"
)

func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func client(t *testing.T, urls ...string) *Client {
	t.Helper()
	c := New(Config{URLs: urls, TaskID: "demo.1.ps-0.1", Token: "t0ken", VerifySSL: true, RequestTimeout: 200 * time.Millisecond})
	t.Cleanup(c.Close)
	return c
}

// dead is a URL at which nobody listens.
func dead(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(nil)
	s.Close()
	return s.URL
}

func wantFailure(t *testing.T, err error, want boot.Failure) {
	t.Helper()
	var failed *Error
	if !errors.As(err, &failed) || failed.Failure() != want {
		t.Errorf("got %v, want failure %v", err, want)
	}
	if err != nil && strings.Contains(err.Error(), "t0ken") {
		t.Errorf("the error shows the token: %v", err)
	}
}

func TestRequestsAreThoseOfTheContract(t *testing.T) {
	var got []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Authorization"), strings.TrimSpace(string(body))))
		switch r.URL.Path {
		case "/v1/task/demo.1.ps-0.1/registration":
			fmt.Fprint(w, `{"job_name":"ps","task_index":0,"callbacks":[]}`)
		case "/v1/task/demo.1.ps-0.1/cluster_def":
			fmt.Fprint(w, `{"generation":2,"cluster_def":{"ps":["h:1"]},"callbacks":null}`)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	c := client(t, url)
	registered, err := c.Register(t.Context(), callback.Registration{Port: 4001})
	if err != nil || registered.JobName != "ps" {
		t.Errorf("%+v, %v", registered, err)
	}
	assignment, err := c.Poll(t.Context(), 1)
	if err != nil || !assignment.ClusterDef.Equal(tf.ClusterDef{"ps": {"h:1"}}) || assignment.Generation != 2 {
		t.Errorf("%+v, %v", assignment, err)
	}
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	if err := c.Report(t.Context(), callback.PhaseReport{Phase: callback.PhaseServing, At: at}); err != nil {
		t.Error(err)
	}
	if err := c.Log(t.Context(), callback.Log{Lines: []callback.LogLine{{Stream: "stdout", Text: "a <b>"}}}); err != nil {
		t.Error(err)
	}
	want := []string{
		`PUT /v1/task/demo.1.ps-0.1/registration Bearer t0ken {"port":4001}`,
		`GET /v1/task/demo.1.ps-0.1/cluster_def?generation=1&wait=10 Bearer t0ken `,
		`PUT /v1/task/demo.1.ps-0.1/phase Bearer t0ken {"phase":"serving","at":"2026-01-31T12:00:00Z"}`,
		`POST /v1/task/demo.1.ps-0.1/log Bearer t0ken {"lines":[{"stream":"stdout","text":"a <b>"}]}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestKnownFault094AnswersMeanWhatTheyMean(t *testing.T) {
	const said = `{"error":"launch 1 is over"}`
	for _, c := range []struct {
		status int
		body   string
		want   boot.Failure
	}{
		{401, said, boot.Refused},
		{403, "", boot.Refused},
		{404, said, boot.Superseded},
		{409, said, boot.Superseded},
		{410, said, boot.Superseded},
		{404, "<html>not here</html>", boot.Away}, // another program has the port
		{400, said, boot.Invalid},
		{413, said, boot.Invalid},
		{302, "", boot.Away},
		{429, said, boot.Away},
		{500, said, boot.Away},
		{503, said, boot.Away},
		{200, "<html>log in</html>", boot.Away},
		{200, `{"generation":1,"cluster_def":{"ps":["h`, boot.Away},
		{200, `{} {}`, boot.Away},
		{200, "null", boot.Away},
		{200, "", boot.Away},
		{200, `{"why":"` + strings.Repeat("x", maxAnswer) + `"}`, boot.Away},
	} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://elsewhere.invalid/")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		t.Run(fmt.Sprintf("%d %.20s", c.status, c.body), func(t *testing.T) {
			_, err := client(t, url).Poll(t.Context(), 0)
			wantFailure(t, err, c.want)
		})
	}
}

func TestKnownFault094HangingSchedulerIsLeft(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // only then does the server see that the client has gone
		<-r.Context().Done()
	})
	err := client(t, url).Report(t.Context(), callback.PhaseReport{})
	wantFailure(t, err, boot.Away)
	if err == nil || !strings.Contains(err.Error(), "no answer within 200ms") {
		t.Errorf("%v does not say how long it has waited", err)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	arrived := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { close(arrived); <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := client(t, url, dead(t)).Poll(ctx, 0)
	wantFailure(t, err, boot.Away)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestURLsAreTriedInTurnAndTheOneThatWorksIsKept(t *testing.T) {
	var asked atomic.Int32
	refuses := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); w.WriteHeader(http.StatusUnauthorized) })
	works := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	c := client(t, dead(t), refuses, works)
	for range 3 {
		if err := c.Report(t.Context(), callback.PhaseReport{}); err != nil {
			t.Fatal(err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("the URL that refuses was asked %d times, want once", asked.Load())
	}
	wantFailure(t, client(t, dead(t), refuses).Report(t.Context(), callback.PhaseReport{}), boot.Refused)
	err := client(t, dead(t)).Report(t.Context(), callback.PhaseReport{})
	wantFailure(t, err, boot.Away)
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v does not say what is wrong", err)
	}
}

func TestAnswersMoveTheClientToWhereTheSchedulerIs(t *testing.T) {
	var asked atomic.Int32
	second := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); w.WriteHeader(http.StatusNoContent) })
	first := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"job_name":"ps","callbacks":["gopher://x","%s/"]}`, second)
	})
	c := client(t, first)
	if _, err := c.Register(t.Context(), callback.Registration{Port: 1}); err != nil {
		t.Fatal(err)
	}
	if err := c.Report(t.Context(), callback.PhaseReport{}); err != nil || asked.Load() != 1 {
		t.Errorf("the new URL was asked %d times, %v", asked.Load(), err)
	}
}

func TestKnownFault088NoProxyIsAsked(t *testing.T) {
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	t.Setenv("http_proxy", "http://"+proxy.Addr().String())
	if c := client(t, "http://h:1"); c.http.Transport.(*http.Transport).Proxy != nil {
		t.Error("the client would ask a proxy") // loopback is never proxied, so the call itself proves nothing
	}
}

func TestCertificateIsCheckedUnlessSwitchedOff(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer s.Close()
	s.Config.ErrorLog = nil
	err := client(t, s.URL).Report(t.Context(), callback.PhaseReport{})
	wantFailure(t, err, boot.Away)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v does not name the certificate", err)
	}
	c := New(Config{URLs: []string{s.URL}, TaskID: "x", Token: "x", RequestTimeout: time.Second})
	defer c.Close()
	if err := c.Report(t.Context(), callback.PhaseReport{}); err != nil {
		t.Error(err)
	}
}
