//go:build integration

package docsite

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMain installs the generator once, where `make -C docs build` has it as well, unless TFMESOS_DOCS_VENV names another folder.
func TestMain(m *testing.M) {
	if os.Getenv("TFMESOS_DOCS_VENV") == "" {
		venv, err := filepath.Abs(filepath.Join(repository, ".cache", "docs-venv"))
		if err != nil {
			panic(err)
		}
		os.Setenv("TFMESOS_DOCS_VENV", venv)
	}
	for name, value := range map[string]string{ // git shall see nothing of the person who tests
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
	} {
		os.Setenv(name, value)
	}
	for _, name := range []string{"MAKEFLAGS", "MAKELEVEL", "MFLAGS"} { // as when a person types make
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

// needGenerator skips the test, loudly, where the generator cannot be had; with CI=true it fails.
func needGenerator(t *testing.T) {
	t.Helper()
	out, err := command(repository, "make", "-C", "docs", "venv")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("the generator of the pages cannot be installed:\n%s", out)
	default:
		t.Skipf("SKIPPED: the generator of the pages cannot be installed: %s", strings.TrimSpace(out))
	}
}

// command runs a program in a folder and returns all that it says.
func command(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}

// house is a clone of this repository with the pages as they are here, and the bare repository that it publishes to.
type house struct {
	*testing.T
	dir, remote string
}

func newHouse(t *testing.T) house {
	t.Helper()
	needGenerator(t)
	h := house{t, filepath.Join(t.TempDir(), "clone"), filepath.Join(t.TempDir(), "remote.git")}
	h.git(".", "init", "--quiet", "--bare", h.remote)
	h.git(".", "init", "--quiet", "--initial-branch=main", h.dir)
	for _, path := range strings.Fields(h.git(repository, "ls-files", "--cached", "--others", "--exclude-standard", "docs", "README.md", ".gitignore")) {
		h.copy(path)
	}
	h.git(h.dir, "add", "--all")
	h.git(h.dir, "commit", "--quiet", "-m", "first")
	h.git(h.dir, "remote", "add", "origin", h.remote)
	h.git(h.dir, "push", "--quiet", "origin", "main")
	return h
}

func (h house) copy(path string) {
	h.Helper()
	content, err := os.ReadFile(filepath.Join(repository, path))
	if errors.Is(err, fs.ErrNotExist) {
		return // removed, not yet committed
	}
	info, statErr := os.Stat(filepath.Join(repository, path))
	to := filepath.Join(h.dir, path)
	if err := errors.Join(err, statErr, os.MkdirAll(filepath.Dir(to), 0o755)); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(to, content, info.Mode()); err != nil {
		h.Fatal(err)
	}
}

func (h house) git(dir string, args ...string) string {
	h.Helper()
	out, err := command(dir, "git", args...)
	if err != nil {
		h.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// deploy publishes, and holds that the checkout is afterwards as it was before.
func (h house) deploy(args ...string) (string, error) {
	h.Helper()
	before := h.state()
	out, err := command(h.dir, "make", append([]string{"-C", "docs", "deploy"}, args...)...)
	if diff := cmp.Diff(before, h.state()); diff != "" {
		h.Errorf("make deploy %v changed the checkout (-before +after):\n%s\nit said:\n%s", args, diff, out)
	}
	return out, err
}

func (h house) mustDeploy(args ...string) string {
	h.Helper()
	out, err := h.deploy(args...)
	if err != nil {
		h.Fatalf("make deploy %v: %v\n%s", args, err, out)
	}
	return out
}

// state is all that somebody could miss in a checkout: branch, branches, index, files, worktrees, and what lies about in .cache.
func (h house) state() []string {
	h.Helper()
	state := []string{
		h.git(h.dir, "rev-parse", "--symbolic-full-name", "HEAD"), h.git(h.dir, "for-each-ref", "refs/heads", "refs/tags"),
		h.git(h.dir, "ls-files", "--stage"), h.git(h.dir, "status", "--porcelain"), h.git(h.dir, "diff"),
		h.git(h.dir, "worktree", "list"), h.git(h.dir, "config", "--local", "--list"),
	}
	lying, err := filepath.Glob(filepath.Join(h.dir, ".cache", "*"))
	if err != nil {
		h.Fatal(err)
	}
	return append(state, lying...)
}

// tip is the commit of a branch of the remote; "" if there is none.
func (h house) tip(branch string) string {
	h.Helper()
	return h.git(h.remote, "for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
}

func (h house) write(path, text string) {
	h.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, path), []byte(text), 0o755); err != nil {
		h.Fatal(err)
	}
}

func TestPagesArePublishedWhenTheyHaveChangedAndOnlyThen(t *testing.T) {
	h := newHouse(t)
	h.mustDeploy()
	first := h.tip("gh-pages")
	if first == "" {
		t.Fatal("the first deploy made no branch gh-pages")
	}
	if parents := h.git(h.remote, "log", "--format=%P", "gh-pages"); parents != "" {
		t.Errorf("the branch of the pages begins with a history: %s", parents)
	}
	if message, head := h.git(h.remote, "log", "--format=%B", "-1", "gh-pages"), h.git(h.dir, "rev-parse", "HEAD"); !strings.Contains(message, "Source: "+head) {
		t.Errorf("the commit of the pages does not name %s, of which they are made:\n%s", head, message)
	}
	files := "\n" + h.git(h.remote, "ls-tree", "-r", "--name-only", "gh-pages") + "\n"
	for _, want := range []string{"index.html", "quickstart.html", "troubleshooting.html", ".nojekyll"} {
		if !strings.Contains(files, "\n"+want+"\n") {
			t.Errorf("%s was not published", want)
		}
	}

	h.git(h.dir, "commit", "--quiet", "--allow-empty", "-m", "another commit, the same pages")
	if out := h.mustDeploy(); h.tip("gh-pages") != first || !strings.Contains(out, "nothing to push") {
		t.Errorf("nothing has changed, and it was pushed:\n%s\n%s", out, h.git(h.remote, "diff", "--stat", first, "gh-pages"))
	}

	h.write("docs/extra.md", "# Something new\n")
	out := h.mustDeploy()
	if parent := h.git(h.remote, "rev-parse", "gh-pages^"); parent != first || !strings.Contains(out, "changes that are not committed") {
		t.Errorf("a new page follows commit %s, want %s, and said:\n%s", parent, first, out)
	}
	if h.git(h.remote, "ls-tree", "--name-only", "gh-pages", "extra.html") == "" {
		t.Error("a page that no list names was not rendered")
	}

	if err := os.Remove(filepath.Join(h.dir, "docs/extra.md")); err != nil {
		t.Fatal(err)
	}
	h.mustDeploy()
	if h.git(h.remote, "ls-tree", "--name-only", "gh-pages", "extra.html") != "" {
		t.Error("a page that is gone is still published")
	}
}

func TestPagesGoWhereThePersonSays(t *testing.T) {
	h := newHouse(t)
	h.git(h.dir, "remote", "rename", "origin", "pages")
	h.write("docs/quickstart.md.orig", "staged, and not committed")
	h.git(h.dir, "add", "docs/quickstart.md.orig")
	h.mustDeploy("DEPLOY_REMOTE=pages", "DEPLOY_BRANCH=site/docs")
	if h.tip("site/docs") == "" || h.tip("gh-pages") != "" {
		t.Errorf("DEPLOY_BRANCH=site/docs: the remote has %s", h.git(h.remote, "branch"))
	}
}

// refuse makes the remote run a script before it takes a push.
func (h house) refuse(script string) {
	h.Helper()
	if err := os.MkdirAll(filepath.Join(h.remote, "hooks"), 0o755); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.remote, "hooks", "pre-receive"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		h.Fatal(err)
	}
}

func TestADeployThatFailsLeavesNothing(t *testing.T) {
	h := newHouse(t)
	fails := func(name, want string, args ...string) {
		t.Helper()
		out, err := h.deploy(args...)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want an error with %q; it said:\n%s", name, err, want, out)
		}
	}
	h.refuse("exit 1\n")
	fails("a remote that refuses the push", "origin did not take the push to gh-pages")
	fails("a remote that there is not", "no-such cannot be read", "DEPLOY_REMOTE=no-such")
	h.write("docs/extra.md", "[nowhere](no-such-page.md), [nowhere](redis.md#no-such-heading)\n")
	fails("a link to no page", "no-such-page.md")
	fails("a link to no heading", "no-such-heading")
	if branches := h.git(h.remote, "branch"); strings.Contains(branches, "gh-pages") {
		t.Errorf("none of them was to publish; the remote has %s", branches)
	}
}

func TestADeployThatIsEndedByASignalLeavesNothing(t *testing.T) {
	h := newHouse(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	h.refuse("echo pushing >" + fifo + "; exec sleep 600\n")
	before := h.state()
	var out bytes.Buffer
	deploy := exec.Command("make", "-C", "docs", "deploy")
	deploy.Dir, deploy.Stdout, deploy.Stderr, deploy.SysProcAttr = h.dir, &out, &out, &syscall.SysProcAttr{Setpgid: true}
	if err := deploy.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- deploy.Wait()
		file, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0) // who still waits for the push reads an end
		if err == nil {
			file.Close()
		}
	}()
	if _, err := os.ReadFile(fifo); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(-deploy.Process.Pid, syscall.SIGTERM) // as Ctrl-C does: all that runs in the terminal
	if err := <-ended; err == nil {
		t.Errorf("make deploy succeeded:\n%s", &out)
	}
	if diff := cmp.Diff(before, h.state()); diff != "" {
		t.Errorf("SIGTERM left something (-before +after):\n%s", diff)
	}
}

func TestAFolderInTheWayOfTheWorktreeIsRefused(t *testing.T) {
	h := newHouse(t)
	mine := filepath.Join(h.dir, ".cache", "docs-deploy", "mine")
	if err := os.MkdirAll(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := h.deploy()
	var said []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "make deploy:") {
			said = append(said, line)
		}
	}
	if err == nil || len(said) != 1 || !strings.Contains(said[0], filepath.Dir(mine)+" exists") {
		t.Errorf("%v, want one line that names %s; it said:\n%s", err, filepath.Dir(mine), out)
	}
	if _, err := os.Stat(mine); err != nil || h.tip("gh-pages") != "" {
		t.Errorf("the folder in the way: %v; published: %q", err, h.tip("gh-pages"))
	}
	if err := os.RemoveAll(filepath.Dir(mine)); err != nil {
		t.Fatal(err)
	}
	h.git(h.dir, "worktree", "add", "--quiet", "--detach", filepath.Dir(mine))
	if err := os.RemoveAll(filepath.Dir(mine)); err != nil { // it stays on git's list
		t.Fatal(err)
	}
	if out, err := command(h.dir, "make", "-C", "docs", "deploy"); err != nil {
		t.Errorf("a worktree that was removed by hand is in the way: %v\n%s", err, out)
	}
}
