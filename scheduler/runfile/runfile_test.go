package runfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tfmesos/shared/callback"
)

// state makes a folder of its own the place of runs.
func state(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	return filepath.Join(dir, "tfmesos")
}

func write1(t *testing.T, run Run) {
	t.Helper()
	if err := Write(run); err != nil {
		t.Fatal(err)
	}
}

func TestARunIsFoundUntilItFinishes(t *testing.T) {
	state(t)
	run := Run{Name: "ctr", Run: 7, PID: 4711, Address: "http://127.0.0.1:11000", Token: "t0k3n", Redis: "redis://:p@h:1/0", Sandboxes: "/s"}
	write1(t, run)
	write1(t, Run{Name: "another"})
	got, err := Read("ctr")
	if diff := cmp.Diff(run, got); err != nil || diff != "" {
		t.Errorf("Read: %v (-written +read):\n%s", err, diff)
	}
	if names, err := Live(); err != nil || !cmp.Equal(names, []string{"another", "ctr"}) {
		t.Errorf("Live: %q, %v", names, err)
	}
	code := 0
	final := callback.Status{Name: "ctr", Run: 7, Phase: "ended", ExitCode: &code, Events: []callback.EventStatus{{Kind: "ended", Text: "chief:0 finished"}}}
	if err := Finish("ctr", final); err != nil {
		t.Fatal(err)
	}
	if _, err := Read("ctr"); !errors.Is(err, ErrNotFound) {
		t.Errorf("run.json of a finished run: %v, want ErrNotFound", err)
	}
	if names, err := Live(); err != nil || !cmp.Equal(names, []string{"another"}) {
		t.Errorf("Live after the end: %q, %v", names, err)
	}
	read, err := ReadFinal("ctr")
	if diff := cmp.Diff(final, read); err != nil || diff != "" {
		t.Errorf("ReadFinal: %v (-written +read):\n%s", err, diff)
	}
}

func TestANewRunHidesTheEndOfTheOneBefore(t *testing.T) {
	state(t)
	if err := Finish("ctr", callback.Status{Name: "ctr"}); err != nil {
		t.Fatal(err)
	}
	write1(t, Run{Name: "ctr"})
	if _, err := ReadFinal("ctr"); !errors.Is(err, ErrNotFound) {
		t.Errorf("final.json while a new run lives: %v, want ErrNotFound", err)
	}
}

func TestNothingIsFoundWhereNothingRan(t *testing.T) {
	state(t)
	if _, err := Read("ctr"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Read: %v, want ErrNotFound", err)
	}
	if _, err := ReadFinal("ctr"); !errors.Is(err, ErrNotFound) {
		t.Errorf("ReadFinal: %v, want ErrNotFound", err)
	}
	if names, err := Live(); err != nil || len(names) != 0 {
		t.Errorf("Live: %q, %v", names, err)
	}
}

func TestOnlyTheUserMayReadTheToken(t *testing.T) {
	dir := state(t)
	write1(t, Run{Name: "ctr", Token: "t0k3n"})
	write1(t, Run{Name: "ctr", Token: "t0k3n"}) // a file that is there already keeps its mode only if it is made anew
	for path, want := range map[string]os.FileMode{filepath.Join(dir, "ctr", "run.json"): 0o600, filepath.Join(dir, "ctr"): 0o700, dir: 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, mode %v, want %v", path, err, info.Mode().Perm(), want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "ctr", "*.new")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestADamagedFileIsNamed(t *testing.T) {
	dir := state(t)
	write1(t, Run{Name: "ctr"})
	path := filepath.Join(dir, "ctr", "run.json")
	if err := os.WriteFile(path, []byte(`{"name":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read("ctr"); err == nil || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), path) {
		t.Errorf("Read of half a file: %v, want an error that names %s", err, path)
	}
}

func TestARelativeStateFolderIsIgnored(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, value := range []string{"", "state", "./state"} {
		t.Setenv("XDG_STATE_HOME", value)
		if got, err := Dir("ctr"); err != nil || got != filepath.Join(home, ".local", "state", "tfmesos", "ctr") {
			t.Errorf("with XDG_STATE_HOME=%q runs are in %s, %v", value, got, err)
		}
	}
}

func TestSandboxesAreFreshForEachRun(t *testing.T) {
	dir := state(t)
	path, err := Sandboxes("ctr")
	if err != nil || path != filepath.Join(dir, "ctr", "sandboxes") {
		t.Fatalf("sandboxes in %s, %v", path, err)
	}
	old := filepath.Join(path, "ctr.0a1b2c.ps-0.1")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Sandboxes("ctr"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("a sandbox of the run before is still there: %v", err)
	}
}

func TestNoPlaceForSandboxesIsAnError(t *testing.T) {
	dir := state(t)
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	if _, err := Sandboxes("ctr"); err == nil {
		t.Error("a file in the way of the folder is no error")
	}
	if err := Write(Run{Name: "ctr"}); err == nil {
		t.Error("run.json cannot be written, and that is no error")
	}
}

func TestANameIsHeldByOneUntilItIsGivenFree(t *testing.T) {
	state(t)
	unlock, err := Lock("ctr")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock("ctr"); !errors.Is(err, ErrHeld) {
		t.Errorf("a second lock of the name: %v, want ErrHeld", err)
	}
	other, err := Lock("another")
	if err != nil {
		t.Fatalf("lock another name: %v", err)
	}
	other()
	unlock()
	again, err := Lock("ctr")
	if err != nil {
		t.Fatalf("lock a name that was given free: %v", err)
	}
	again()
}
