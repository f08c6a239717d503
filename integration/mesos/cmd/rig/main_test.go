package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	mesosrig "tfmesos/integration/mesos"
)

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
