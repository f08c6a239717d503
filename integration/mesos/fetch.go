package mesosrig

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	// mesosVersion names the Mesos that is run, and its directory in the cache.
	mesosVersion = "mesos-1.11.0"
	// mesosPackage is the Python package that carries it.
	mesosPackage = "mesos-scheduler==1.11.0.linux-x86_64"
	// mesosLibrary is the file in the package that is all of Mesos; librarySHA256 is its checksum.
	mesosLibrary  = "_scheduler.so"
	librarySHA256 = "84d7ee9af27e912636b139de40257df1ee4f56c201de6bba834278aa1e8fd64c"
	// oldPip is a version that still knows version numbers like the package's; newer ones refuse them.
	oldPip = "pip==23.2.1"
)

// fetchLibrary brings Mesos' library to the path target, working in the empty directory dir.
//
// The package is a prebuilt archive, not a Python project. pip downloads and unpacks it, then refuses it; told not to
// clean up, it leaves behind what it unpacked, and that is what is wanted.
func fetchLibrary(ctx context.Context, target, dir string) error {
	out, found := pipDownload(ctx, dir, "")
	if found == "" {
		older := filepath.Join(dir, "pip")
		install := exec.CommandContext(ctx, python(), "-m", "pip", "install", "--quiet", "--target", older, oldPip)
		if more, err := install.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: pip did not bring %s: %s%s", ErrUnavailable, mesosPackage, out, more)
		}
		out, found = pipDownload(ctx, dir, older)
	}
	if found == "" {
		return fmt.Errorf("%w: pip did not bring %s: %s", ErrUnavailable, mesosPackage, out)
	}
	if sum, err := fileSHA256(found); err != nil || sum != librarySHA256 {
		return fmt.Errorf("check %s: SHA-256 is %s, want %s: %v", mesosLibrary, sum, librarySHA256, err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.Rename(found, target)
}

// pipDownload returns the library's path below dir, empty when it did not come, and what pip said. pythonPath is where to
// look for pip first.
func pipDownload(ctx context.Context, dir, pythonPath string) (out []byte, library string) {
	cmd := exec.CommandContext(ctx, python(), "-m", "pip", "download", "--quiet", "--no-clean", "--no-deps",
		"--no-build-isolation", "-d", dir, mesosPackage)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	if pythonPath != "" {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+pythonPath)
	}
	out, _ = cmd.CombinedOutput() // always an error, see fetchLibrary
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == mesosLibrary {
			library = path
		}
		return nil
	})
	return bytes.TrimSpace(out), library
}

func fileSHA256(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
