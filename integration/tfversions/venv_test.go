//go:build tfversions

package tfversions_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// oldest is the first minor version of TensorFlow 2 that servers are tried with.
const oldest = 12

// venvs is where the virtual environments stay from one run to the next.
const venvs = "../../.cache/tfversions"

// venv returns the Python of a virtual environment, which is made with the packages unless it is there, whole.
func venv(t *testing.T, name string, packages ...string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(venvs, name))
	if err != nil {
		t.Fatal(err)
	}
	python, complete := filepath.Join(dir, "bin", "python"), filepath.Join(dir, ".complete")
	if _, err := os.Stat(complete); err == nil {
		return python
	}
	t.Logf("installing %s into %s (once)", cmp.Or(strings.Join(packages, " "), "pip"), dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	output(t, cmp.Or(os.Getenv("PYTHON"), "python3"), "-m", "venv", dir)
	if len(packages) > 0 {
		output(t, python, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...)...)
	}
	if err := os.WriteFile(complete, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return python
}

// offered returns the newest patch of each minor version that pip has for this Python, the oldest first. Without an answer
// from pip's index it skips the test; with CI=true it fails it.
func offered(t *testing.T) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), venv(t, "pip"), "-m", "pip", "index", "versions", "tensorflow-cpu")
	out, err := list.CombinedOutput()
	versions := newestPatches(string(out))
	if err == nil && len(versions) > 0 {
		return versions
	}
	missing := fmt.Sprintf("pip names no version of tensorflow-cpu from 2.%d on for this Python: %v\n%s", oldest, err, out)
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip("SKIPPED: " + missing)
	return nil
}

// newestPatches reads the list of pip, which has the newest version first.
func newestPatches(listed string) (versions []string) {
	_, list, _ := strings.Cut(listed, "Available versions: ")
	list, _, _ = strings.Cut(list, "\n")
	seen := map[string]bool{}
	for version := range strings.SplitSeq(list, ", ") {
		parts := strings.SplitN(version, ".", 3)
		if len(parts) < 3 || seen[minor(version)] {
			continue
		}
		first, _ := strconv.Atoi(parts[0])
		second, _ := strconv.Atoi(parts[1])
		if first > 2 || first == 2 && second >= oldest {
			seen[minor(version)] = true
			versions = append([]string{version}, versions...)
		}
	}
	return versions
}

// minor is 2.15 of 2.15.1.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// output runs a program to its end, which must be a good one, and returns its stdout.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "TF_CPP_MIN_LOG_LEVEL=2", "CUDA_VISIBLE_DEVICES=-1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, &stderr)
	}
	return string(out)
}

func TestNewestPatchOfEachMinorVersionIsTried(t *testing.T) {
	const listed = "tensorflow-cpu (3.0.0)\nAvailable versions: 3.0.0, 2.15.1, 2.15.0.post1, 2.15.0, 2.12.1, 2.12.0, 2.11.1, 1.15.5\n  INSTALLED: 2.15.1\n"
	if got := fmt.Sprint(newestPatches(listed)); got != "[2.12.1 2.15.1 3.0.0]" {
		t.Errorf("got %s", got)
	}
	if got := newestPatches("ERROR: No matching distribution found"); got != nil {
		t.Errorf("of no list: %s", got)
	}
}
