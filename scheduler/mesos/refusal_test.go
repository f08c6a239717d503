package mesos

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/cluster"
)

func TestC18WrongCredentialsAreSaidOnceWithTheVariableToMend(t *testing.T) {
	for _, c := range []struct {
		code              int
		principal, secret string
		want              string
	}{
		{401, "", "", "set MESOS_USERNAME and MESOS_PASSWORD"},
		{401, "tf", "", `MESOS_USERNAME is "tf", and there is no MESOS_PASSWORD`},
		{401, "tf", "pa55", `does not know MESOS_USERNAME "tf" with this MESOS_PASSWORD`},
		{403, "tf", "pa55", `principal "tf" (MESOS_USERNAME)`},
	} {
		m := newFakeMaster(t, func(w http.ResponseWriter, _ *scheduler.Call) bool {
			w.WriteHeader(c.code)
			return true
		})
		config := testConfig(m.URL)
		config.Principal, config.Secret = c.principal, Secret(c.secret)
		r := start(t, config, "")
		if got := event[cluster.Refused](t, r).Message; !strings.Contains(got, c.want) || strings.Contains(got, "pa55") {
			t.Errorf("%d for %q: %s", c.code, c.principal, got)
		}
		next(t, r.ended, "end of Run")
		if n := len(m.requests); n != 1 {
			t.Errorf("%d for %q: the master got %d requests", c.code, c.principal, n)
		}
	}
}

// The messages are those of a real master 1.11.0.
func TestC19RefusalsNameTheSettingAndTheRule(t *testing.T) {
	config := testConfig("127.0.0.1:5050")
	config.Principal = "tf"
	for message, want := range map[string][]string{
		"Roles { ml } are not present in the master's --roles":                        {`"ml"`, "--role, MESOS_FRAMEWORK_ROLE", "is not among the master's --roles"},
		"Not authorized to register framework with roles { ml }":                      {`role "ml"`, "principal tf", "MESOS_USERNAME", "register_frameworks"},
		"User 'root' is not allowed to run frameworks without --root_submissions set": {`"nobody"`, "--no-root_submissions"},
		"Changing framework's principal is not allowed.":                              {`MESOS_USERNAME is "tf" now`},
	} {
		got := config.refusalOf(message).message
		for _, word := range append(want, message) {
			if !strings.Contains(got, word) {
				t.Errorf("%q does not say %q", got, word)
			}
		}
	}
}

func TestC19ATaskThatIsNotAllowedNamesTheRule(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "")
	s := m.subscribe(t, r)
	failed, reason := mesos.TASK_ERROR, mesos.REASON_TASK_UNAUTHORIZED
	message := "Principal 'tf' no authorized to launch task t of framework F under user 'root'"
	s.send(&scheduler.Event{Type: scheduler.Event_UPDATE, Update: &scheduler.Event_Update{
		Status: mesos.TaskStatus{TaskID: mesos.TaskID{Value: "t"}, State: &failed, Reason: &reason, Message: &message}}})
	if got := event[cluster.Updated](t, r).Message; !strings.HasPrefix(got, message) || !strings.Contains(got, "run_tasks") {
		t.Errorf("the update says %q", got)
	}
}
