package mesosrig

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// sources is all a built rig depends on; its hash is the version of a build. (native/ is a directory of its own because Go
// takes no C++ beside a package without cgo.)
//
//go:embed native launcher/*.go setup.go shims.go
var sources embed.FS

// launcherParts are the names an agent calls the launcher by.
var launcherParts = []string{
	"mesos-containerizer", "mesos-docker-executor", "mesos-executor", "mesos-fetcher",
	"mesos-io-switchboard", "mesos-logrotate-logger", "mesos-tcp-connect", "mesos-usage",
}

// build is a rig in the cache, ready to run.
type build struct{ dir string }

func (b build) mesosd() string      { return filepath.Join(b.dir, "mesosd") }
func (b build) launcherDir() string { return filepath.Join(b.dir, "launcher") }

// Setup fetches and builds what is not in the cache yet: some seconds the first time, nothing after it. It is safe to call
// from several processes at once. It returns ErrUnavailable with a list of what the machine lacks.
func Setup(ctx context.Context, cfg Config) error {
	_, err := setup(ctx, cfg)
	return err
}

func setup(ctx context.Context, cfg Config) (build, error) {
	cache, err := cacheDir()
	if err != nil {
		return build{}, err
	}
	b := build{dir: filepath.Join(cache, sourcesHash())}
	library := filepath.Join(cache, mesosVersion, mesosLibrary)
	if err := checkMachine(ctx, !exists(b.dir), !exists(library)); err != nil {
		return build{}, err
	}
	if exists(b.dir) && exists(library) {
		return b, nil
	}
	unlock, err := lock(ctx, cache)
	if err != nil {
		return build{}, fmt.Errorf("lock %s: %w", cache, err)
	}
	defer unlock()
	if !exists(library) { // still, now that nobody else is at it
		cfg.logf("fetching %s through pip into %s", mesosVersion, cache)
		err = inScratch(cache, func(dir string) error { return fetchLibrary(ctx, library, dir) })
	}
	if err == nil && !exists(b.dir) {
		cfg.logf("building the rig in %s", b.dir)
		err = inScratch(cache, func(dir string) error { return buildRig(ctx, library, dir, b.dir) })
	}
	return b, err
}

func cacheDir() (string, error) {
	if dir := os.Getenv("TFMESOS_RIG"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".cache", "tfmesos", "rig"), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sourcesHash names the build of the embedded sources.
func sourcesHash() string {
	hash := sha256.New()
	_ = walkSources(".", func(path string, content []byte) error {
		fmt.Fprintf(hash, "%s %d\n%s", path, len(content), content)
		return nil
	})
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// walkSources calls do for each embedded file below dir, tests left out, in a fixed order.
func walkSources(dir string, do func(path string, content []byte) error) error {
	return fs.WalkDir(sources, dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := sources.ReadFile(path)
		if err != nil {
			return err
		}
		return do(path, content)
	})
}

// lock takes the cache's lock, which the kernel gives back when its holder dies.
func lock(ctx context.Context, cache string) (unlock func(), err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = poll(ctx, 50*time.Millisecond, func() (bool, error) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}

// inScratch calls do with an empty directory on the cache's file system. Only the holder of the lock may call it: it also
// clears away what a holder that was killed has left.
func inScratch(cache string, do func(dir string) error) error {
	scratch := filepath.Join(cache, "scratch")
	if err := os.RemoveAll(scratch); err != nil {
		return err
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	return do(scratch)
}

// buildRig builds in the empty directory dir and moves what came of it to target, which is there whole or not at all.
func buildRig(ctx context.Context, library, dir, target string) error {
	src, out := filepath.Join(dir, "src"), filepath.Join(dir, "out")
	if err := writeSources(library, src); err != nil {
		return err
	}
	for _, sub := range []string{"lib", "launcher"} {
		if err := os.MkdirAll(filepath.Join(out, sub), 0o755); err != nil {
			return err
		}
	}
	for _, argv := range buildCommands(out) {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = src
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build rig: %s: %w: %s", strings.Join(argv, " "), err, output)
		}
	}
	for _, part := range launcherParts { // hard links: an agent resolves symbolic ones, and the name would be lost
		if err := os.Link(filepath.Join(out, "launcher", "launcher"), filepath.Join(out, "launcher", part)); err != nil {
			return err
		}
	}
	if err := os.Symlink(filepath.Join("..", "..", mesosVersion, mesosLibrary), filepath.Join(out, "lib", mesosLibrary)); err != nil {
		return err
	}
	return os.Rename(out, target)
}

// buildCommands are run in the directory of the sources.
func buildCommands(out string) [][]string {
	shared := func(source, soname, versions string) []string {
		argv := []string{"gcc", "-shared", "-fPIC", "-w", "-o", filepath.Join(out, "lib", soname), source, "-Wl,-soname," + soname}
		if versions != "" {
			argv = append(argv, "-Wl,--version-script="+versions)
		}
		return append(argv, "-ldl")
	}
	return [][]string{
		shared("openssl.c", "libcrypto.so.1.0.0", "openssl.map"),
		shared("openssl.c", "libssl.so.1.0.0", "openssl.map"),
		shared("native/curl.c", "libcurl.so.4", "native/curl.map"),
		shared("python.c", "libpython2.so", ""),
		{"g++", "-O1", "-o", filepath.Join(out, "mesosd"), "native/mesosd.cpp", "-ldl"},
		{"go", "build", "-C", "launcher", "-o", filepath.Join(out, "launcher", "launcher"), "."},
	}
}

// writeSources writes the embedded sources and the generated ones into dir. The launcher becomes a module of its own, so
// that it is built from what is embedded wherever this program runs.
func writeSources(library, dir string) error {
	generated, err := shimsFor(library)
	if err != nil {
		return err
	}
	write := func(path string, content []byte) error {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o644)
	}
	return errors.Join(
		walkSources("native", write),
		walkSources("launcher", write),
		write("launcher/go.mod", []byte("module launcher\n\ngo 1.26.0\n")),
		write("openssl.c", []byte(generated.opensslC)),
		write("openssl.map", []byte(generated.opensslMap)),
		write("python.c", []byte(generated.pythonC)),
	)
}
