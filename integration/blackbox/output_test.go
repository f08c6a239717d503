//go:build integration

package blackbox_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// manyLines are more than a sidecar keeps, written faster than anybody takes them.
const manyLines = 50_000

func TestAllLinesArriveInOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		r := p.start(t, "--worker", "2", "--", "seq", fmt.Sprint(manyLines))
		r.ends(0, "finished")
		next := map[string]int{}
		lines, _, _ := r.stdout.lines()
		for _, line := range lines {
			task, text, _ := strings.Cut(line, " | ")
			next[task]++
			if text != fmt.Sprint(next[task]) {
				t.Fatalf("line %d of %s is %q", next[task], task, line)
			}
		}
		if len(next) != 2 || next["worker:0"] != manyLines || next["worker:1"] != manyLines {
			t.Errorf("lines of each task: %v", next)
		}
	})
}

func TestStdoutIsTheProgramsAndStderrIsJSONWhereWanted(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		r := p.start(t, "--log-format", "json", "--worker", "1", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
		if code := r.exit(); code != 1 {
			t.Errorf("exit code %d", code)
		}
		r.leavesNothing()
		if lines, _, _ := r.stdout.lines(); len(lines) != 2 || !strings.Contains("out err out", strings.Join(lines, " ")) {
			t.Errorf("stdout is %q", lines)
		}
		lines, _, _ := r.stderr.lines()
		var record struct{ Msg string }
		for _, line := range lines {
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Errorf("a line on stderr is not JSON: %v: %s", err, line)
			}
		}
		if !strings.HasSuffix(record.Msg, "exit code 1") || !strings.Contains(record.Msg, "exit code 3: err") {
			t.Errorf("the last record is %s", r.stderr.last())
		}
	})
}
