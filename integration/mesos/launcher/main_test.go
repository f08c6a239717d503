package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDockerTaskIsRunAsItsTaskInfoSays(t *testing.T) {
	task, err := readTask(json.RawMessage(`{
		"task_id": {"value": "t1"},
		"resources": [{"name": "cpus", "scalar": {"value": 0.5}}, {"name": "mem", "scalar": {"value": 64}}],
		"command": {"shell": false, "value": "sidecar", "arguments": ["t1", "host:1"],
			"environment": {"variables": [{"name": "A", "value": "b c"}]}},
		"container": {"docker": {"image": "tf:1", "network": "HOST", "privileged": true,
			"parameters": [{"key": "shm-size", "value": "1g"}]},
			"volumes": [{"host_path": "data", "container_path": "/data", "mode": "RO"},
				{"host_path": "/etc/hosts", "container_path": "/etc/hosts", "mode": "RW"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	flags := flagsOf([]string{"--container=mesos-1", "--sandbox_directory=/box", "--mapped_directory=/mnt/box"})
	cmd := dockerTask{flags: flags}.prepare(*task, flags)
	want := "docker run --rm --name mesos-1 --cpu-shares 512 --memory 67108864 --net host --privileged --shm-size=1g" +
		" -v /box:/mnt/box -v /box/data:/data:ro -v /etc/hosts:/etc/hosts:rw -e A=b c -e MESOS_SANDBOX=/mnt/box" +
		" -e MESOS_TASK_ID=t1 -e MESOS_CONTAINER_NAME=mesos-1 tf:1 sidecar t1 host:1"
	if got := strings.Join(cmd.Args, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	task.Command.Shell = nil
	if got := imageArgs(*task); !slices.Equal(got, []string{"--entrypoint", "/bin/sh", "tf:1", "-c", "sidecar"}) {
		t.Errorf("shell: got %q", got)
	}
}

func TestGracePeriodIsTheKillsElseTheTasksElseMesosDefault(t *testing.T) {
	task, err := readTask(json.RawMessage(`{"kill_policy": {"grace_period": {"nanoseconds": 5000000000}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var kill event
	if err := json.Unmarshal([]byte(`{"kill": {"kill_policy": {"grace_period": {"nanoseconds": 0}}}}`), &kill); err != nil {
		t.Fatal(err)
	}
	e := executor{task: task}
	if got := e.graceOf(kill.Kill.KillPolicy); got != 0 {
		t.Errorf("of the kill: %s, want 0s", got)
	}
	if got := e.graceOf(nil); got != 5*time.Second {
		t.Errorf("of the task: %s, want 5s", got)
	}
	e.task = &taskInfo{}
	if got := e.graceOf(nil); got != defaultGrace {
		t.Errorf("default: %s, want %s", got, defaultGrace)
	}
}

func TestExitTextIsMesosWording(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0":        "exited with status 0",
		"exit 137":      "exited with status 137",
		"kill -TERM $$": "terminated with signal Terminated",
	} {
		if got := exitText(exec.Command("sh", "-c", script).Run()); got != want {
			t.Errorf("%s: got %q, want %q", script, got, want)
		}
	}
	if got := exitText(errors.New("no such file")); got != "no such file" {
		t.Errorf("got %q", got)
	}
}

func TestFetcherBringsUnpacksAndRefuses(t *testing.T) {
	server := httptest.NewServer(http.FileServer(http.Dir(packed(t))))
	defer server.Close()
	sandbox := t.TempDir()
	fetch := func(uris ...fetchURI) error {
		type item struct {
			URI fetchURI `json:"uri"`
		}
		info := struct {
			Sandbox string `json:"sandbox_directory"`
			Items   []item `json:"items"`
		}{Sandbox: sandbox}
		for _, uri := range uris {
			info.Items = append(info.Items, item{uri})
		}
		encoded, err := json.Marshal(info)
		if err != nil {
			t.Fatal(err)
		}
		return fetchAll(string(encoded))
	}
	no := false
	err := fetch(
		fetchURI{Value: server.URL + "/data.tar.gz"},
		fetchURI{Value: server.URL + "/data.tar.gz", OutputFile: "kept/as.tar.gz", Extract: &no})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inside", "data.tar.gz", "kept/as.tar.gz"} {
		if _, err := os.Stat(filepath.Join(sandbox, name)); err != nil {
			t.Errorf("in the sandbox: %v", err)
		}
	}
	if err := fetch(fetchURI{Value: server.URL + "/missing"}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("want the answer of the server as the reason, got %v", err)
	}
}

// packed returns a directory with data.tar.gz, which has one file.
func packed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "inside"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-C", dir, "-czf", filepath.Join(dir, "data.tar.gz"), "inside").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	return dir
}
