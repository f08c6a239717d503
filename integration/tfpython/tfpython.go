// Package tfpython finds the Python with TensorFlow that tests run.
package tfpython

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Find returns the path of a Python that has TensorFlow: TFMESOS_TEST_PYTHON, else .venv/bin/python of the repository, else
// python3 in PATH. Without one it skips the test and says what is missing; with CI=true it fails it.
func Find(t testing.TB) string {
	t.Helper()
	python, err := find()
	switch {
	case err == nil:
		return python
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	}
	t.Skipf("SKIPPED: %v", err)
	return ""
}

var find = sync.OnceValues(func() (string, error) {
	if python := os.Getenv("TFMESOS_TEST_PYTHON"); python != "" {
		if err := hasTensorFlow(python); err != nil {
			return "", fmt.Errorf("TFMESOS_TEST_PYTHON names no Python with TensorFlow: %w", err)
		}
		return python, nil
	}
	missing := []error{errors.New("no Python with TensorFlow: run make venv, or name one with TFMESOS_TEST_PYTHON")}
	for _, candidate := range []func() (string, error){ofRepository, func() (string, error) { return exec.LookPath("python3") }} {
		python, err := candidate()
		if err == nil {
			err = hasTensorFlow(python)
		}
		if err == nil {
			return python, nil
		}
		missing = append(missing, err)
	}
	return "", errors.Join(missing...)
})

// ofRepository returns the path that make venv fills.
func ofRepository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".venv", "bin", "python"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the working directory")
		}
	}
}

// hasTensorFlow looks for the package; an import would take seconds.
func hasTensorFlow(python string) error {
	const look = `import importlib.util, sys; sys.exit(0 if importlib.util.find_spec("tensorflow") else "no module tensorflow")`
	if out, err := exec.Command(python, "-c", look).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", python, err, bytes.TrimSpace(out))
	}
	return nil
}
