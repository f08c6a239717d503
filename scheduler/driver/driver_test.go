package driver

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/callback"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs a shell line and returns how it ended and what it wrote; each gets every line as it comes.
func run(ctx context.Context, line string, each func(string)) (cluster.DriverEnded, []string) {
	var mu sync.Mutex
	var lines []string
	cfg := Config{Environ: os.Environ(), Grace: 200 * time.Millisecond, Output: func(l callback.LogLine) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, l.Stream+": "+l.Text)
		if each != nil {
			each(l.Text)
		}
	}}
	end := Run(ctx, cfg, cluster.Drive{Argv: []string{"/bin/sh", "-c", line}, Env: []cluster.EnvVar{{Name: "TF_CONFIG", Value: `{"cluster":{}}`}}})
	return end, lines
}

func TestADriverSeesTheClusterAndItsOutputIsTaken(t *testing.T) {
	end, lines := run(t.Context(), `echo "$TF_CONFIG"; exit 0`, nil)
	if end != (cluster.DriverEnded{}) || strings.Join(lines, "\n") != `stdout: {"cluster":{}}` {
		t.Errorf("it ended with %+v and wrote %q", end, lines)
	}
}

func TestTheExitCodeAndLastWordsOfADriverAreKept(t *testing.T) {
	end, _ := run(t.Context(), "echo first; sleep 0; echo no data >&2; exit 3", nil)
	if end.ExitCode != 3 || !strings.Contains(end.Message, "no data") {
		t.Errorf("it ended with %+v, want exit code 3 and its last words", end)
	}
	if end, _ := run(t.Context(), "kill -9 $$", nil); end.ExitCode != 137 {
		t.Errorf("killed by SIGKILL it ended with %+v, want 137", end)
	}
}

func TestADriverThatCannotBeStartedSaysSo(t *testing.T) {
	end := Run(t.Context(), Config{}, cluster.Drive{Argv: []string{"/no/such/program"}})
	if end.ExitCode != 127 || !strings.Contains(end.Message, "/no/such/program") {
		t.Errorf("it ended with %+v, want 127 and the program's name", end)
	}
}

func TestADriverEndsWithItsContextWithAllItStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	end, _ := run(ctx, `trap '' TERM; sleep 1000 & echo up; while :; do wait; done`, func(string) { cancel() })
	if end.ExitCode != 137 {
		t.Errorf("it ignores TERM and ended with %+v, want 137 after the grace", end)
	}
}
