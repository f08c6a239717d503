//go:build integration

package blackbox_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// process is one that a run has started, itself included.
type process struct {
	pid     int
	program string // the base of its executable
	task    string // as in TFMESOS_TASK_ID; empty for the scheduler
	line    string // its command line
}

func (p process) String() string { return fmt.Sprintf("%d %s", p.pid, p.line) }

// processes returns all processes of the run. The local ones inherit BLACKBOX, those of Mesos have a task_id, which begins
// with the name. A process may do what it likes but that: its environment at its start cannot be changed by accident.
func (r *run) processes() (found []process) {
	directories, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range directories {
		environ, err := os.ReadFile(filepath.Join(dir, "environ")) // empty once it has ended
		if err != nil || !bytes.Contains(environ, []byte("="+r.name+".")) {
			continue
		}
		p := process{task: variable(environ, "TFMESOS_TASK_ID")}
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		p.line = strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		exe, _ := os.Readlink(filepath.Join(dir, "exe"))
		p.program = filepath.Base(exe)
		found = append(found, p)
	}
	return found
}

func variable(environ []byte, name string) string {
	for pair := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(pair, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// left says what there still is of the run. A port that is listened on would be a process's.
func (r *run) left() (left []string) {
	for _, p := range r.processes() {
		left = append(left, "process "+p.String())
	}
	if r.place.rig == nil {
		return left
	}
	for _, f := range r.place.rig.State(r.t).Frameworks {
		if strings.Contains(f.Name, r.name) {
			left = append(left, fmt.Sprintf("framework %s with %d tasks", f.Name, len(f.Tasks)))
		}
	}
	return left
}

// leavesNothing fails the test if something is left of the run. A real Mesos ends its executors after the framework is gone,
// and a scheduler that was killed cannot wait for anything; in all other cases all has to be gone with the scheduler.
func (r *run) leavesNothing() {
	r.t.Helper()
	end := time.Now()
	if r.place.rig != nil || r.killed {
		end = end.Add(10 * time.Second)
	}
	left := r.left()
	for ; len(left) > 0 && time.Now().Before(end); left = r.left() {
		time.Sleep(10 * time.Millisecond) // the end of processes that are not our children is no event to wait for
	}
	for _, what := range left {
		r.t.Errorf("left: %s", what)
	}
}

// theProcess returns the one process of a task with this program.
func (r *run) theProcess(task, program string) process {
	r.t.Helper()
	for _, p := range r.processes() {
		if strings.Contains(p.task, "."+task+".") && strings.HasPrefix(p.program, program) {
			return p
		}
	}
	r.t.Fatalf("task %s has no process of %s; there are %v", task, program, r.processes())
	return process{}
}

// inARow is how many runs there are one after another: more on this machine, where each takes a tenth of a second.
const inARow, inARowOnMesos = 20, 5

// TestRunsOneAfterAnotherLeaveNothing has two rows of runs side by side on this machine, so that they could meet, and looks for
// what they have left beside processes: files in the home, which has the state, and in the folder for temporary ones.
func TestRunsOneAfterAnotherLeaveNothing(t *testing.T) {
	t.Parallel()
	t.Run("local", func(t *testing.T) {
		home, temporary := t.TempDir(), t.TempDir()
		p := local()
		p.extra = []string{"TMPDIR=" + temporary}
		names := []string{freshName(), freshName()}
		t.Run("rows", func(t *testing.T) {
			for _, name := range names {
				t.Run(name, func(t *testing.T) { t.Parallel(); p.runsInARow(t, name, home, inARow) })
			}
		})
		for _, left := range slices.Concat(undocumented(t, home, names), undocumented(t, temporary, nil)) {
			t.Errorf("left: %s", left)
		}
	})
	t.Run("mesos", func(t *testing.T) {
		t.Parallel()
		onMesos(t, os.Getenv("PATH")).runsInARow(t, freshName(), t.TempDir(), inARowOnMesos)
	})
}

// runsInARow wants each to print its own lines alone, and to leave nothing before the next begins.
func (p place) runsInARow(t *testing.T, name, home string, runs int) {
	t.Helper()
	for i := range runs {
		r := p.startNamed(t, name, home, "--worker", "2", "--", "echo", fmt.Sprint(name, " ", i))
		r.ends(0, "finished")
		own := len(r.stdout.matches(fmt.Sprint(`^worker:[01] \| `, name, " ", i, "$")))
		if printed, _, _ := r.stdout.lines(); own != 2 || len(printed) != 2 {
			t.Errorf("run %d printed\n%s", i, r.stdout.tail(9))
		}
	}
}

// undocumented returns the files and folders in a folder that docs/configuration.md does not have for ended runs of these names.
func undocumented(t *testing.T, folder string, names []string) (files []string) {
	t.Helper()
	documented := regexp.MustCompile(`^state(/tfmesos(/(` + strings.Join(names, "|") + `)(/final\.json|/lock|/sandboxes(/[^/]+\.worker-[01]\.1(/stdout|/stderr)?)?)?)?)?$`)
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		relative, _ := filepath.Rel(folder, path)
		if relative != "." && (names == nil || !documented.MatchString(relative)) {
			files = append(files, relative)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
