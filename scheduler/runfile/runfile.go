// Package runfile keeps what a run leaves on the machine it was started on: run.json while it lives, so that the other
// commands find it, final.json when it is over, and the sandboxes of local tasks.
//
// Everything is below $XDG_STATE_HOME/tfmesos/NAME (~/.local/state/tfmesos/NAME), readable by the user alone: run.json
// holds the operator's token.
package runfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"tfmesos/shared/callback"
)

// ErrHeld is what Lock's error wraps when another process has the name.
var ErrHeld = errors.New("runfile: another process has it")

// ErrNotFound is what Read and ReadFinal return when there is no such file.
var ErrNotFound = errors.New("runfile: not found")

// Run is the content of run.json.
type Run struct {
	Name string `json:"name"`
	Run  int    `json:"run"`
	PID  int    `json:"pid"`
	// Address is the URL of the callback API, Token the operator's credential for it.
	Address string `json:"address"`
	Token   string `json:"token"`
	// Redis is the whole URL of the store, with its password.
	Redis string `json:"redis"`
	// Sandboxes is the directory of the tasks' sandboxes, in local mode.
	Sandboxes string `json:"sandboxes,omitempty"`
}

// Dir returns the directory of runs of that name; it need not exist. An empty name gives the directory of all.
func Dir(name string) (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the home directory: %w", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "tfmesos", name), nil
}

// Lock keeps other schedulers of this user and machine off the name until the returned function is called, or the process is
// gone. The error wraps ErrHeld if one has it.
func Lock(name string) (unlock func(), err error) {
	dir, err := Dir(name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock the name %s: %w", name, err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the name %s: %w", name, err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrHeld
		}
		return nil, fmt.Errorf("lock the name %s: %w", name, err)
	}
	return func() { file.Close() }, nil
}

// Write stores run.json and removes the final.json of the run before.
func Write(run Run) error {
	if err := remove(run.Name, "final.json"); err != nil {
		return err
	}
	return write(run.Name, "run.json", run)
}

// Read returns run.json.
func Read(name string) (Run, error) {
	var run Run
	err := read(name, "run.json", &run)
	return run, err
}

// Finish replaces run.json by final.json.
func Finish(name string, final callback.Status) error {
	if err := write(name, "final.json", final); err != nil {
		return err
	}
	return remove(name, "run.json")
}

// ReadFinal returns final.json.
func ReadFinal(name string) (callback.Status, error) {
	var final callback.Status
	err := read(name, "final.json", &final)
	return final, err
}

// Live returns the names that have a run.json, sorted. Their schedulers may be gone.
func Live() ([]string, error) {
	dir, err := Dir("")
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "run.json"))
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	names := make([]string, 0, len(found))
	for _, path := range found {
		names = append(names, filepath.Base(filepath.Dir(path)))
	}
	slices.Sort(names)
	return names, nil
}

// Sandboxes returns a fresh directory for the sandboxes of a local run; those of the run before are removed.
func Sandboxes(name string) (string, error) {
	dir, err := Dir(name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sandboxes")
	if err := os.RemoveAll(path); err != nil {
		return "", fmt.Errorf("remove old sandboxes: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("make room for sandboxes: %w", err)
	}
	return path, nil
}

// write puts the file in place whole or not at all.
func write(name, file string, content any) error {
	dir, err := Dir(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

func read(name, file string, into any) error {
	dir, err := Dir(name)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotFound
	case err != nil:
		return fmt.Errorf("read %s: %w", file, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(dir, file), err)
	}
	return nil
}

func remove(name, file string) error {
	dir, err := Dir(name)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", file, err)
	}
	return nil
}
