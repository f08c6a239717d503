package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	mesosrig "tfmesos/integration/mesos"
)

func TestRigSaysWhatToExportAndEndsWhenAsked(t *testing.T) {
	mesosrig.Require(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	printed, stdout := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"--master-port=0", "--agent-port=0"}, stdout, &stderr)
		stdout.Close()
		ended <- err
	}()
	buffer := make([]byte, 100)
	n, _ := printed.Read(buffer)
	interrupt()
	if err := <-ended; err != nil {
		t.Fatalf("run: %v\n%s", err, stderr.String())
	}
	if line := string(buffer[:n]); !strings.HasPrefix(line, "export MESOS_MASTER=127.0.0.1:") {
		t.Errorf("printed %q", line)
	}
}
