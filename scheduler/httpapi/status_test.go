package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
)

func TestStatusShowsACluster(t *testing.T) {
	c := newLoop(1).current
	c.Phase, c.Why = cluster.PhaseStarting, "worker:0 starts"
	c.Framework.ID, c.Framework.Master = "f-1", "10.0.0.9:5050"
	berlin := time.FixedZone("", 3600)
	task := c.Task(worker0)
	task.Phase, task.Port, task.AgentID, task.Hostname = cluster.TaskServing, 4000, "a-1", "a7.lab"
	task.ServingAt = time.Date(2026, 1, 31, 13, 0, 5, 0, berlin)
	got := StatusOf(c)
	if got.Name != "ctr" || got.Run != 7 || got.Phase != "starting" || got.Ready != 1 || got.Total != 4 || got.Why != "worker:0 starts" ||
		got.Framework != "f-1" || got.Master != "10.0.0.9:5050" || got.ExitCode != nil || got.EndedAt != nil {
		t.Errorf("status of a starting cluster: %+v", got)
	}
	served := time.Date(2026, 1, 31, 12, 0, 5, 0, time.UTC)
	want := callback.TaskStatus{Task: "worker:0", Phase: "serving", State: "TASK_RUNNING", Launch: 2, TaskID: idOf(worker0, 2), AgentID: "a-1",
		Hostname: "a7.lab", Address: "10.0.3.14:4000", PhaseAt: &c.StartedAt, ServingAt: &served}
	if diff := cmp.Diff(want, got.Tasks[3]); diff != "" {
		t.Errorf("its worker (-want +got):\n%s", diff)
	}
	if got.Tasks[0].Address != "10.0.3.14" {
		t.Errorf("a task without a port has the address %q, want the host alone", got.Tasks[0].Address)
	}
}

func TestStatusShowsHowItEnded(t *testing.T) {
	c := newLoop(1).current
	c.Phase, c.ExitCode, c.Reason = cluster.PhaseEnded, 1, "worker:0 failed"
	task := c.Task(worker0)
	task.Phase, task.ExitCode, task.Reason = cluster.TaskFailed, 3, "COMMAND_EXITED"
	killed := c.Task(ps0)
	killed.Phase, killed.ExitCode = cluster.TaskDone, -1
	got := StatusOf(c)
	if got.ExitCode == nil || *got.ExitCode != 1 || got.Why != "worker:0 failed" {
		t.Errorf("status of an ended cluster: %+v", got)
	}
	if w := got.Tasks[3]; w.ExitCode == nil || *w.ExitCode != 3 || w.Reason != "COMMAND_EXITED" {
		t.Errorf("its failed worker: %+v", w)
	}
	if p := got.Tasks[1]; p.ExitCode != nil {
		t.Errorf("its killed ps has exit code %d, want none: nobody told one", *p.ExitCode)
	}
	if chief := got.Tasks[0]; chief.ExitCode != nil {
		t.Errorf("a task that is not over has exit code %d", *chief.ExitCode)
	}
}

func TestStatusHoldsNoSecret(t *testing.T) {
	c := newLoop(1).current
	marker := "MARKER"
	c.Settings.Secret = []byte(marker)
	c.Settings.Values = map[string]string{"KEY": marker}
	c.Tasks[0].TokenSHA256 = marker
	text, err := json.Marshal(StatusOf(c))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), marker) || strings.Contains(string(text), "TUFSS0VS") {
		t.Errorf("status shows a secret: %s", text)
	}
}
