package mesosrig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// imageVersion is to be raised when what makeImage does changes.
const imageVersion = "1"

// imageName names the base image by all that makes it what it is.
func imageName() string { return "tfmesos-test-" + debianRelease() + ":" + imageVersion }

// debianRelease is the release of the image: this machine's, so that a virtual environment of this machine works in it, or
// bookworm where the machine is no Debian.
func debianRelease() string {
	content, _ := os.ReadFile("/etc/os-release")
	fields := map[string]string{}
	for _, line := range strings.Split(string(content), "\n") {
		name, value, _ := strings.Cut(line, "=")
		fields[name] = strings.Trim(value, `"`)
	}
	if release := fields["VERSION_CODENAME"]; fields["ID"] == "debian" && release != "" {
		return release
	}
	return "bookworm"
}

// provideImage brings the base image to the daemon, and makes it if this machine has never had it.
func (d *Docker) provideImage(ctx context.Context, cfg Config) error {
	if d.hasImage(ctx) {
		return nil
	}
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, cache)
	if err != nil {
		return fmt.Errorf("lock %s: %w", cache, err)
	}
	defer unlock()
	archive := filepath.Join(cache, strings.ReplaceAll(imageName(), ":", "-")+".tar")
	if !exists(archive) {
		if err := checkImageMachine(); err != nil {
			return err
		}
		cfg.logf("making the Docker image %s in %s with debootstrap (once, 40 s)", imageName(), cache)
		if err := inScratch(cache, func(dir string) error { return makeImage(ctx, dir, archive) }); err != nil {
			return err
		}
	}
	_, err = d.output(ctx, "import", archive, imageName())
	return err
}

func (d *Docker) hasImage(ctx context.Context) bool {
	_, err := d.output(ctx, "image", "inspect", imageName())
	return err == nil
}

// makeImage makes the smallest Debian with python3, works in the empty directory dir, and moves the archive to target, which
// is there whole or not at all.
func makeImage(ctx context.Context, dir, target string) error {
	defer func() { _ = unmountBelow(dir) }() // of a debootstrap that was stopped
	root, archive := filepath.Join(dir, "root"), filepath.Join(dir, "image.tar")
	tar := []string{"tar", "-C", root, "--one-file-system", "-cf", archive}
	for _, useless := range []string{"var/cache/apt/*.bin", "var/cache/apt/archives/*.deb", "var/lib/apt/lists/*", "usr/share/doc/*", "usr/share/locale/*", "usr/share/man/*"} {
		tar = append(tar, "--exclude=./"+useless)
	}
	for _, argv := range [][]string{
		{findProgram("debootstrap"), "--variant=minbase", "--include=python3", debianRelease(), root},
		append(tar, "."),
	} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // debootstrap has children
		if output, err := cmd.CombinedOutput(); err != nil {
			text := strings.Split(strings.TrimSpace(string(output)), "\n")
			return fmt.Errorf("make Docker image: %s: %w: %s", strings.Join(argv, " "), err, strings.Join(text[max(0, len(text)-tailLines):], "\n"))
		}
	}
	return os.Rename(archive, target)
}

// PythonFor says how a container of the image runs the Python as this machine does, with all its virtual environment has: the path
// of the program, and the directories it must have mounted, each at the path it has here.
func PythonFor(ctx context.Context, python string) (program string, mounts []string, err error) {
	const ask = `import os, sys; print(sys.executable, *{d for p in (sys.prefix, sys.base_prefix) for d in (p, os.path.realpath(p))}, sep="\n")`
	out, err := exec.CommandContext(ctx, python, "-c", ask).Output()
	if err != nil {
		return "", nil, fmt.Errorf("ask %s where it is: %w", python, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	// What is below /usr the image has itself.
	return lines[0], slices.DeleteFunc(lines[1:], func(dir string) bool { return dir == "/usr" }), nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
