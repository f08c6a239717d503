//go:build integration

package blackbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestAFullDiskForSandboxesEndsTheRunInAWord(t *testing.T) {
	t.Parallel()
	for _, free := range []int{0, 4096} { // no room for run.json, and room for nothing but that
		t.Run(fmt.Sprint(free, " bytes are free"), func(t *testing.T) {
			home := fullDisk(t, free)
			since := time.Now()
			r := local().startNamed(t, freshName(), home, "--worker", "2", "--", "sleep", "1000")
			r.endsInTime(since, 1, "no space left on device")
		})
	}
}

func TestADiskThatFillsUpDuringARunLosesNoOutput(t *testing.T) {
	t.Parallel()
	r := local().startNamed(t, freshName(), fullDisk(t, 32768), "--worker", "1", "--", "sh", "-c", "seq 9000; exit 3") // 43 KB
	r.ends(1, "exit code 3: 9000")
	if lines, _, _ := r.stdout.lines(); len(lines) != 9000 {
		t.Errorf("%d lines arrived", len(lines))
	}
}

// fullDisk mounts a small file system that has only so many bytes free.
func fullDisk(t *testing.T, free int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		missing(t, "this user may not mount a tmpfs: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "filler")
	var full error
	for chunk := make([]byte, 4096); full == nil; {
		full = appendTo(path, chunk)
	}
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-int64(free))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func appendTo(path string, chunk []byte) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(chunk)
	return err
}
