package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	mesosrig "tfmesos/integration/mesos"
)

// asProgram makes the test binary the program itself.
const asProgram = "RIG_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestNoDaemonAndNoContainerOutlivesARigThatIsKilled(t *testing.T) {
	mesosrig.Require(t)
	if d := mesosrig.StartDocker(t); !strings.Contains(d.Host(), "/tfmesos-docker-") {
		t.Skip("SKIPPED: a Docker daemon that was there is used, which outlives all")
	}
	rig := exec.Command(os.Args[0], "-docker", "-master-port=0", "-agent-port=0")
	rig.Env = append(os.Environ(), asProgram+"=1")
	var stderr bytes.Buffer
	rig.Stderr = &stderr
	stdout, err := rig.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := rig.Start(); err != nil {
		t.Fatal(err)
	}
	printed, lines := "", bufio.NewScanner(stdout)
	for !strings.Contains(printed, "DOCKER_HOST") && lines.Scan() {
		printed += lines.Text() + "\n"
	}
	exported := regexp.MustCompile(`DOCKER_HOST=(\S+) DOCKER_IMAGE=(\S+)`).FindStringSubmatch(printed)
	if exported == nil {
		t.Fatalf("no Docker: %s%s", printed, stderr.String())
	}
	docker := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "docker", append([]string{"--host", exported[1]}, args...)...).Output()
		if err != nil {
			t.Fatalf("docker %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	container := docker("run", "--detach", "--network=host", "--stop-signal=KILL", exported[2], "sh", "-c", "sleep 1000")
	inside, _ := strconv.Atoi(docker("inspect", "--format", "{{.State.Pid}}", container))

	_ = rig.Process.Kill()
	_ = rig.Wait()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // processes that are not our children tell nobody of their end
		answers := exec.Command("docker", "--host", exported[1], "version").Run() == nil
		if syscall.Kill(inside, 0) != nil && !answers {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a minute after the rig was killed, there is a daemon: %v, or a container's process %d", answers, inside)
		}
	}
	if dir := regexp.MustCompile(`logs and sandboxes: (\S+)`).FindStringSubmatch(stderr.String()); dir != nil {
		_ = os.RemoveAll(dir[1]) // a kill leaves files
	}
}

func TestRigSaysWhatToExportAndEndsWhenAsked(t *testing.T) {
	mesosrig.Require(t)
	said, stderr := interrupted(t, "--master-port=0", "--agent-port=0", "--agents=2", "--credentials=tf:s3cret", "--attributes=rack:r1", "--attributes=rack:r2")
	want := `^export MESOS_MASTER=127\.0\.0\.1:\d+\nexport MESOS_USERNAME=tf MESOS_PASSWORD=s3cret\n$`
	if !regexp.MustCompile(want).MatchString(said) {
		t.Errorf("printed %q, want %s", said, want)
	}
	if !strings.Contains(stderr, "agent-1    127.0.0.2:") || !strings.Contains(stderr, "Ctrl-C") {
		t.Errorf("stderr does not say where the second agent is and how to stop:\n%s", stderr)
	}
}

func TestRigWithMastersSaysWhereTheyAreElectedAndWhichToKill(t *testing.T) {
	mesosrig.StartDocker(t)
	if _, err := os.Stat("/usr/share/java/zookeeper.jar"); err != nil && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED, no ZooKeeper: %v", err)
	}
	said, stderr := interrupted(t, "--master-port=0", "--agent-port=0", "--masters=1", "--docker")
	want := `^export MESOS_MASTER=zk://127\.0\.0\.1:\d+/mesos\nexport DOCKER_HOST=unix:///\S+ DOCKER_IMAGE=tfmesos-test-\S+\n$`
	if !regexp.MustCompile(want).MatchString(said) {
		t.Errorf("printed %q, want %s", said, want)
	}
	if !regexp.MustCompile(`master +127\.0\.0\.1:\d+ +pid (\d+)  leads; .*kill -9`).MatchString(stderr) {
		t.Errorf("stderr does not say how to kill the leader:\n%s", stderr)
	}
}

// interrupted runs the rig until it has printed what to export, and returns that and stderr.
func interrupted(t *testing.T, args ...string) (said, stderr string) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	printed, stdout := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, args, stdout, &errs)
		stdout.Close()
		ended <- err
	}()
	buffer := make([]byte, 1000)
	n, _ := printed.Read(buffer)
	interrupt()
	if err := <-ended; err != nil {
		t.Fatalf("run: %v\n%s", err, errs.String())
	}
	return string(buffer[:n]), errs.String()
}

func TestFlagsThatCannotBeAreSaid(t *testing.T) {
	for want, args := range map[string][]string{
		"2 masters":        {"-masters=2"},
		"-agents 0":        {"-agents=0"},
		"PRINCIPAL:SECRET": {"-credentials=tf"},
		`"three"`:          {"three"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want an error with %s", args, err, want)
		}
	}
}
