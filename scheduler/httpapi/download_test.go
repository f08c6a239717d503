package httpapi

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tfmesos/scheduler/cluster"
)

// downloads is a folder to download from, beside one that is none of anybody's business.
func downloads(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) error {
		path := filepath.Join(dir, name)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	}
	files := filepath.Join(dir, "download")
	err := errors.Join(write("download/train.py", "print(1)"), write("download/data/x.csv", "1,2"), write("download/a..b", "dots"),
		write("download-secret/f", "SECRET"), write("SECRET", "SECRET"),
		os.Symlink("../SECRET", filepath.Join(files, "link")), os.Symlink("/", filepath.Join(files, "root")), os.Symlink("train.py", filepath.Join(files, "inside")),
		syscall.Mkfifo(filepath.Join(files, "fifo"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestDownloadSendsFilesOfTheFolder(t *testing.T) {
	a := serve(t, newLoop(2), func(c *Config) { c.DownloadDir = downloads(t) })
	for file, want := range map[string]string{"train.py": "print(1)", "data/x.csv": "1,2", "a..b": "dots", "inside": "print(1)"} {
		for _, who := range []string{"operator", "task"} {
			as := asOperator
			if who == "task" {
				as = asTask(worker1)
			}
			if got := a.call(as, "GET", "/v0/download/"+file, ""); got.status != 200 || got.body != want {
				t.Errorf("%s gets %s as %d %q, want %q", who, file, got.status, got.body, want)
			}
		}
	}
	head := a.call(asOperator, "HEAD", "/v0/download/train.py", "")
	if head.status != 200 || head.header.Get("Content-Length") != "8" {
		t.Errorf("HEAD says %d, %q bytes, want 200 and 8: Mesos' fetcher asks before it caches", head.status, head.header.Get("Content-Length"))
	}
	if got := a.call(nobody, "GET", "/v0/download/train.py", ""); got.status != 401 {
		t.Errorf("without credentials a file comes with %d", got.status)
	}
}

func TestKnownFault114TheDownloadFolderIsNotLeft(t *testing.T) {
	a := serve(t, newLoop(2), func(c *Config) { c.DownloadDir = downloads(t) })
	for _, file := range []string{"../SECRET", "..%2fSECRET", "%2e%2e/SECRET", "..%5cSECRET", "....//SECRET", "/etc/passwd", "//etc/passwd", "train.py%00.txt",
		"../download-secret/f", "", ".", "data", "data/", "no-such", "../download/train.py"} {
		a.refusesDownload(file)
	}
}

func TestKnownFault115LinksAndPipesOfTheDownloadFolder(t *testing.T) {
	a := serve(t, newLoop(2), func(c *Config) { c.DownloadDir = downloads(t) })
	for _, file := range []string{"link", "root/etc/hostname", "root", "fifo"} {
		a.refusesDownload(file)
	}
}

func (a *api) refusesDownload(file string) {
	a.t.Helper()
	got, ok := a.once(operatorRequest("GET /v0/download/" + file + " HTTP/1.1"))
	if !ok || got.status != 400 && got.status != 403 && got.status != 404 || strings.Contains(got.body, "SECRET") {
		a.t.Errorf("download of %q: %d %s", file, got.status, got.body)
	}
}

func TestAFetcherGetsWhatTheSpecNamesForItsLaunchAlone(t *testing.T) {
	l := newLoop(2)
	capability := strings.Repeat("c0ffee00", 8)
	l.change(func(c *cluster.Cluster) {
		c.Spec.Jobs[jobAt(c, "worker")].URIs = []cluster.URI{{Value: "/v0/download/train.py"}}
		c.Task(worker1).DownloadSHA256 = cluster.HashToken(capability)
	})
	a := serve(t, l, func(c *Config) { c.DownloadDir = downloads(t) })
	path := "/v0/download/~" + capability + "/"
	if got := a.call(nobody, "GET", path+"train.py", ""); got.status != 200 || got.body != "print(1)" {
		t.Errorf("the fetcher gets %d %q", got.status, got.body)
	}
	for what, target := range map[string]string{"a file that the spec does not name": path + "data/x.csv", "another launch's": "/v0/download/~" + strings.Repeat("0", 64) + "/train.py",
		"a route that is no download": "/v0/status", "a way out": path + "../train.py"} {
		if got := a.call(nobody, "GET", target, ""); got.status == 200 {
			t.Errorf("%s comes with 200: %q", what, got.body)
		}
	}
	l.change(func(c *cluster.Cluster) { c.Task(worker1).Phase = cluster.TaskFailed })
	if got := a.call(nobody, "GET", path+"train.py", ""); got.status != 401 {
		t.Errorf("a launch that is over still fetches: %d", got.status)
	}
}

func jobAt(c *cluster.Cluster, name string) int {
	for i := range c.Spec.Jobs {
		if c.Spec.Jobs[i].Name == name {
			return i
		}
	}
	return -1
}

// nobody sends no credentials.
func nobody(*http.Request) {}
