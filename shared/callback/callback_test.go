package callback

import (
	"strings"
	"testing"
)

func TestARegistrationNeedsAPort(t *testing.T) {
	for port, want := range map[int]string{
		1:     "",
		65535: "",
		0:     "callback: port 0: want 1 to 65535",
		-1:    "callback: port -1: want 1 to 65535",
		65536: "callback: port 65536: want 1 to 65535",
	} {
		if got := errorText(Registration{Port: port}.Validate()); got != want {
			t.Errorf("port %d: got %q, want %q", port, got, want)
		}
	}
}

func TestAPhaseReportIsRefusedWithTheFieldAndTheRule(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*PhaseReport)
		want   string
	}{
		{"as it is", func(*PhaseReport) {}, ""},
		{"no phase", func(r *PhaseReport) { r.Phase = "" }, `callback: phase "": want python_started, imported, training, serving or ended`},
		{"another phase", func(r *PhaseReport) { r.Phase = "Ended" }, `callback: phase "Ended": want python_started, imported, training, serving or ended`},
		{"the longest message", func(r *PhaseReport) { r.Message = strings.Repeat("x", MaxMessage) }, ""},
		{"a longer message", func(r *PhaseReport) { r.Message = strings.Repeat("x", MaxMessage+1) }, "callback: message of 4097 bytes: want 4096 at most"},
		{"the lowest exit code", func(r *PhaseReport) { r.ExitCode = 0 }, ""},
		{"the highest exit code", func(r *PhaseReport) { r.ExitCode = 255 }, ""},
		{"a negative exit code", func(r *PhaseReport) { r.ExitCode = -1 }, "callback: exit_code -1: want 0 to 255"},
		{"an exit code too high", func(r *PhaseReport) { r.ExitCode = 256 }, "callback: exit_code 256: want 0 to 255"},
		{"no time", func(r *PhaseReport) { *r = PhaseReport{Phase: r.Phase} }, "callback: at: want the time, as in 2026-01-31T12:00:00Z"},
	} {
		r := PhaseReport{Phase: PhaseEnded, At: at(0), ExitCode: 1, Cause: CauseProgram}
		c.change(&r)
		if got := errorText(r.Validate()); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestEachPhaseOfASidecarIsTaken(t *testing.T) {
	for _, phase := range []Phase{PhasePythonStarted, PhaseImported, PhaseTraining, PhaseServing, PhaseEnded} {
		if err := (PhaseReport{Phase: phase, At: at(0)}).Validate(); err != nil {
			t.Errorf("%s: %v", phase, err)
		}
	}
}

func TestPathsTakeTheTaskID(t *testing.T) {
	const id = "my-run.abc123.worker-11.2"
	for path, want := range map[string]string{
		PathRegistration:  "/v1/task/" + id + "/registration",
		PathClusterDef:    "/v1/task/" + id + "/cluster_def",
		PathPhase:         "/v1/task/" + id + "/phase",
		PathLog:           "/v1/task/" + id + "/log",
		PathV0Job:         "/v0/task/" + id + "/job",
		PathV0Port:        "/v0/task/" + id + "/port/{port}",
		PathV0Initialised: "/v0/task/" + id,
		PathCluster:       "/v1/cluster",
	} {
		if got := For(path, id); got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
}

func TestThreeLongPollsMayBeLostWithinALease(t *testing.T) {
	if 3*MaxWaitSeconds > LeaseSeconds || MaxWaitSeconds < 1 {
		t.Errorf("polls are held %d s of a lease of %d s", MaxWaitSeconds, LeaseSeconds)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
