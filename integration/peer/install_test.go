//go:build integration

package peer_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tfmesos/integration/tfpython"
)

// installWithin is how long pip may take.
const installWithin = 2 * time.Minute

// peer is a Python with TensorFlow, and the folder that has tfmesos2 for it.
type peer struct{ python, packages string }

// path is a PATH in which python3 is the peer's.
func (p peer) path() string { return filepath.Dir(p.python) + ":" + os.Getenv("PATH") }

// withPeer returns the peer. Where it cannot be had the test is skipped, or fails with CI=true.
func withPeer(t *testing.T) peer {
	t.Helper()
	python := tfpython.Find(t)
	packages, err := install(t.Context(), python)
	switch {
	case err == nil:
		return peer{python, packages}
	case os.Getenv("CI") == "true":
		t.Fatalf("no tfmesos2: %v", err)
	}
	t.Skipf("SKIPPED: no tfmesos2: %v", err)
	return peer{}
}

var installing sync.Mutex

// install returns the folder with the packages of requirements.txt for this Python, which pip fills once.
func install(ctx context.Context, python string) (string, error) {
	installing.Lock()
	defer installing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, installWithin)
	defer cancel()
	version, err := exec.CommandContext(ctx, python, "-c", "import sys; print(sys.executable, sys.version)").Output()
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", python, err)
	}
	if err := exec.CommandContext(ctx, python, "-c", "import socket; socket.getaddrinfo('localhost', 0)").Run(); err != nil {
		return "", errors.New("this machine does not know the name localhost (there is no line for it in /etc/hosts), to which tfmesos2 binds")
	}
	requirements, err := os.ReadFile("requirements.txt")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(version, requirements...))
	target := filepath.Join(root, ".cache", "peer-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(target), "scratch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	return target, fill(ctx, python, filepath.Join(scratch, "packages"), target)
}

// fill installs into scratch, and moves that to target when the sidecar can be imported from it: what is there is whole.
func fill(ctx context.Context, python, scratch, target string) error {
	pip := exec.CommandContext(ctx, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input",
		"--no-deps", "--only-binary", ":all:", "--target", scratch, "-r", "requirements.txt")
	if out, err := pip.CombinedOutput(); err != nil {
		return fmt.Errorf("pip install -r integration/peer/requirements.txt: %w: %s", err, out)
	}
	look := exec.CommandContext(ctx, python, "-c", "import tfmesos2.server")
	look.Env = append(os.Environ(), "PYTHONPATH="+scratch)
	if out, err := look.CombinedOutput(); err != nil {
		return fmt.Errorf("import tfmesos2.server: %w: %s", err, out)
	}
	if err := os.Rename(scratch, target); err != nil {
		if _, there := os.Stat(target); there != nil { // else another test run was faster
			return err
		}
	}
	return nil
}
