//go:build integration

package masters_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"

	mesosrig "tfmesos/integration/mesos"
	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/mesos"
	"tfmesos/scheduler/mesos/tlstest"
)

func TestKnownFault005TLSBeforeARealMaster(t *testing.T) {
	t.Parallel()
	rig, ca := mesosrig.Start(t), tlstest.NewCA(t)
	address := tlstest.Proxy(t, ca.Certificate(t, "127.0.0.1"), rig.Master())
	trusted, other := write(t, string(ca.PEM)), write(t, string(tlstest.NewCA(t).PEM))
	for name, c := range map[string]struct {
		env   []string
		code  int
		words []string
	}{
		"its CA":           {[]string{"MESOS_SSL=true", "MESOS_CA_FILE=" + trusted}, 0, []string{"finished"}},
		"its CA, as Mesos": {[]string{"MESOS_SSL=1", "LIBPROCESS_SSL_CA_FILE=" + trusted}, 0, []string{"finished"}},
		"unchecked":        {[]string{"MESOS_SSL=true", "MESOS_VERIFY_SSL=False"}, 0, []string{"finished"}},
		"no CA":            {[]string{"MESOS_SSL=true"}, 4, []string{address, "certificate is not accepted", "unknown authority", "tests' own CA", "MESOS_CA_FILE"}},
		"another CA":       {[]string{"MESOS_SSL=true", "MESOS_VERIFY_SSL=true", "MESOS_CA_FILE=" + other}, 4, []string{"unknown authority"}},
		"a typo":           {[]string{"MESOS_SSL=true", "MESOS_VERIFY_SSL=flase"}, 2, []string{"MESOS_VERIFY_SSL", `"flase"`}},
		"no such CA":       {[]string{"MESOS_SSL=true", "MESOS_CA_FILE=/no/such/file"}, 2, []string{"MESOS_CA_FILE", "/no/such/file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, append(c.env, "MESOS_MASTER="+address), "--worker", "1", "--", "true")
			r.ends(c.code, c.words...)
			if told := strings.Contains(r.said(), "certificates are not checked"); told != (name == "unchecked") {
				t.Errorf("that certificates are not checked is said: %v\n%s", told, r.said())
			}
		})
	}
}

func TestAListWithMastersThatAreGone(t *testing.T) {
	t.Parallel()
	rig := mesosrig.Start(t)
	start(t, nil, "--master", "127.0.0.1:9, http://"+rig.Master()+"/,", "--worker", "1", "--", "true").ends(0, "finished")
	start(t, nil, "--master", "127.0.0.1:9,127.0.0.1:19", "--orphan-timeout", "1s", "--worker", "1", "--", "true").
		ends(4, "out of reach for 1s", "127.0.0.1:9", "127.0.0.1:19", "connection refused")
	start(t, []string{"MESOS_MASTER=zk://tf:" + secret + "@127.0.0.1:9/mesos"}, "--orphan-timeout", "1s", "--worker", "1", "--", "true").
		ends(4, "zk://127.0.0.1:9/mesos", "connection refused")
}

// seen is what Mesos' own page has of a framework.
type seen struct {
	Frameworks []struct {
		Name, Principal string
		WebUI           string `json:"webui_url"`
		Tasks           []struct {
			Name   string
			Labels []struct{ Key, Value string }
		}
	}
}

func look(t *testing.T, rig *mesosrig.Rig) (state seen) {
	t.Helper()
	answer, err := http.Get("http://" + rig.Master() + "/master/state")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&state); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestARunIsRecognisedInMesos(t *testing.T) {
	t.Parallel()
	rig := mesosrig.Start(t)
	r := start(t, []string{"MESOS_USERNAME=tf"}, "--master", rig.Master(), "--worker", "2", "--", "sleep", "1000")
	r.awaits("all 2 tasks ready")
	state := look(t, rig)
	if len(state.Frameworks) != 1 || len(state.Frameworks[0].Tasks) != 2 {
		t.Fatalf("Mesos shows %+v", state)
	}
	f := state.Frameworks[0]
	if !strings.HasPrefix(f.Name, "tfmesos "+r.name+" (") || f.Principal != "tf" {
		t.Errorf("the framework is %q of principal %q", f.Name, f.Principal)
	}
	answer, err := http.Get(f.WebUI)
	if err != nil {
		t.Fatalf("the framework's link leads nowhere: %v", err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized || !strings.HasSuffix(f.WebUI, "/v1/cluster") {
		t.Errorf("the framework's link %s answers %s, want to be asked for credentials", f.WebUI, answer.Status)
	}
	for _, task := range f.Tasks {
		labels := map[string]string{}
		for _, l := range task.Labels {
			labels[l.Key] = l.Value
		}
		index := strings.TrimPrefix(task.Name, "worker:")
		want := map[string]string{"tfmesos_cluster": r.name, "tfmesos_run": "1", "tfmesos_generation": "1", "tfmesos_job": "worker", "tfmesos_task_index": index}
		if diff := cmp.Diff(want, labels); diff != "" {
			t.Errorf("labels of %s (-want +got):\n%s", task.Name, diff)
		}
	}
	_ = r.cmd.Process.Signal(syscall.SIGINT)
	r.ends(130)
}

func TestC18ThePrincipalStaysAndASecretMayComeLater(t *testing.T) {
	t.Parallel()
	rig, redis := mesosrig.Start(t), "redis://"+miniredis.RunT(t).Addr()
	args := []string{"--port", ownPort(t), "--master", rig.Master(), "--redis", redis, "--worker", "1", "--", "sh", "-c", `until [ -e "$0" ]; do sleep 0.05; done`, t.TempDir() + "/end"}
	first := start(t, []string{"MESOS_USERNAME=tf"}, args...)
	framework := first.awaits(`registered with master .* as framework (\S+)$`)[1]
	first.awaits("all 1 tasks ready")
	_ = first.cmd.Process.Kill()
	<-first.exited

	args = append([]string{"--name", first.name}, args...)
	start(t, nil, args...).ends(2, `registered with principal "tf"`, "MESOS_USERNAME")
	later := start(t, []string{"MESOS_USERNAME=tf", "MESOS_PASSWORD=" + secret}, args...)
	later.awaits("registered with master .* as framework " + framework)
	_ = later.cmd.Process.Signal(syscall.SIGTERM)
	later.ends(143)
}

// TestC18TheMasterKeepsThePrincipal shows why the scheduler asks for the same: this is what the master says otherwise.
func TestC18TheMasterKeepsThePrincipal(t *testing.T) {
	t.Parallel()
	rig, id := mesosrig.Start(t), ""
	for _, principal := range []string{"", "tf"} {
		client, err := mesos.New(mesos.Config{Master: rig.Master(), Principal: principal, Logger: slog.New(slog.DiscardHandler),
			Framework: mesos.Framework{Name: "t", User: "nobody", FailoverTimeout: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err = client.Run(ctx, id, func(e cluster.Event) {
			if subscribed, ok := e.(cluster.Subscribed); ok {
				id = subscribed.FrameworkID
				cancel()
			}
		})
		cancel()
		if refused := errors.Is(err, mesos.ErrRefused); refused != (principal == "tf") || refused && !strings.Contains(err.Error(), "MESOS_USERNAME") {
			t.Errorf("framework %s, registered without a principal, as %q: %v", id, principal, err)
		} else if refused {
			t.Log(err)
		}
	}
}

// ownPort is a free port below those that the system hands out, so that nobody else takes it while no scheduler has it.
func ownPort(t *testing.T) string {
	for t.Context().Err() == nil {
		port := fmt.Sprint(12_000 + rand.N(8_000))
		if free, err := net.Listen("tcp", ":"+port); err == nil {
			free.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}
