package sidecar

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/shared/tf"
	"tfmesos/sidecar/boot"
)

// environ is a whole environment with some entries replaced; a later entry counts.
func environ(replaced ...string) []string {
	return append([]string{"TFMESOS_TASK_ID=demo.1.ps-0.1", "TFMESOS_TOKEN=s3cret", "TFMESOS_CALLBACK=http://10.0.0.1:11000", "TFMESOS_CLUSTER=demo",
		"TFMESOS_JOB_NAME=ps", "TFMESOS_TASK_INDEX=0"}, replaced...)
}

func TestDefaultsAreThoseOfTheDocumentation(t *testing.T) {
	got, err := FromEnv(environ())
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Setup: boot.Setup{Task: tf.TaskName{JobName: "ps"}, Python: "python3", Import: "lean", GPUs: -1, Env: environ(),
			Grace: 10 * time.Second, OrphanTimeout: 15 * time.Minute},
		TaskID: "demo.1.ps-0.1", Cluster: "demo", Token: "s3cret", Callbacks: []string{"http://10.0.0.1:11000"}, VerifySSL: true,
		RequestTimeout: 30 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValuesAreRead(t *testing.T) {
	got, err := FromEnv(environ("TFMESOS_CALLBACK= http://a:1/ ,https://[::1]:2", `TFMESOS_COMMAND=["a","b c"]`, "TFMESOS_SIDE=1", "TFMESOS_GPUS=2",
		"TFMESOS2_VERIFY_SSL= FALSE ", "TFMESOS2_REQUEST_TIMEOUT=2.5", "TFMESOS_GRACE=1m", "TFMESOS_TF_IMPORT=full"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Callbacks, []string{"http://a:1", "https://[::1]:2"}) || !slices.Equal(got.Command, []string{"a", "b c"}) ||
		!got.Side || got.GPUs != 2 || got.VerifySSL || got.RequestTimeout != 2500*time.Millisecond || got.Grace != time.Minute || got.Import != "full" {
		t.Errorf("%+v", got)
	}
}

func TestEachMistakeNamesItsVariableAndNoSecret(t *testing.T) {
	for _, c := range []struct{ entry, want string }{
		{"TFMESOS_TASK_ID=a/../b", `TFMESOS_TASK_ID: "a/../b": want letters`},
		{"TFMESOS_TASK_ID=", "TFMESOS_TASK_ID: is not set"},
		{"TFMESOS_TOKEN=two\nlines", "TFMESOS_TOKEN: has a character"},
		{"TFMESOS_CALLBACK=http://user:hidden@h:1", `TFMESOS_CALLBACK: "http://user:xxxxx@h:1": want no user`},
		{"TFMESOS_CALLBACK=http://h:1,,http://h:2", `TFMESOS_CALLBACK: "": want http://host:port`},
		{"TFMESOS_CALLBACK=http://h:1/%zz", "TFMESOS_CALLBACK: an entry is no URL"},
		{"TFMESOS_TASK_INDEX=1.5", `TFMESOS_TASK_INDEX: "1.5": want a whole number`},
		{"TFMESOS_COMMAND=python train.py", `TFMESOS_COMMAND: "python train.py": want a JSON list`},
		{`TFMESOS_COMMAND=[""]`, "the program's name is empty"},
		{`TFMESOS_COMMAND=["a\u0000b"]`, "a NUL"},
		{"TFMESOS_SIDE=yes", `TFMESOS_SIDE: "yes": want 0 or 1`},
		{"TFMESOS_SIDE=1", "TFMESOS_COMMAND: a side task (TFMESOS_SIDE=1) needs a command"},
		{"TFMESOS_GRACE=10", `TFMESOS_GRACE: "10": want a duration`},
		{"TFMESOS_GRACE=-1s", "want a duration above 0"},
		{"TFMESOS_TF_IMPORT=fast", `TFMESOS_TF_IMPORT: "fast": want lean or full`},
		{"TFMESOS2_VERIFY_SSL=flase", `TFMESOS2_VERIFY_SSL: "flase": want true or false`},
		{"TFMESOS2_REQUEST_TIMEOUT=0", `TFMESOS2_REQUEST_TIMEOUT: "0": want seconds above 0`},
	} {
		_, err := FromEnv(environ(c.entry))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") && !strings.Contains(c.want, "index") {
			t.Errorf("%s: got %v, want one line with %s", c.entry, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "two")) {
			t.Errorf("%s: the error shows a secret: %v", c.entry, err)
		}
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	var log bytes.Buffer
	secret := Secret("s3cret")
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "token", secret, "config", fmt.Sprintf("%v %+v %#v", secret, Config{Token: secret}, Config{Token: secret}))
	if strings.Contains(log.String(), "s3cret") || secret.Reveal() != "s3cret" {
		t.Errorf("the log has %s", &log)
	}
}

const peerTask = "0b7c1a52-6a0c-4c43-9d7e-6f2b1c4d5e6f"

func TestArgumentsOfTFMesos2NeedNothingElse(t *testing.T) {
	got, err := FromArgs(peerTask, "10.0.0.1:11000", []string{"PATH=/bin"})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Setup: boot.Setup{Python: "python3", Import: "lean", GPUs: -1, Env: []string{"PATH=/bin", "TFMESOS_TASK_ID=" + peerTask},
			Grace: 10 * time.Second, OrphanTimeout: 15 * time.Minute},
		TaskID: peerTask, Callbacks: []string{"http://10.0.0.1:11000"}, VerifySSL: true, RequestTimeout: 30 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = FromArgs(peerTask, "https://[::1]:2/", []string{"TFMESOS2_CLIENT_USERNAME=me", "TFMESOS2_CLIENT_PASSWORD=a: b",
		"TFMESOS2_VERIFY_SSL=false", "TFMESOS2_REQUEST_TIMEOUT=1.5", `TFMESOS_COMMAND=["a"]`})
	if err != nil || got.Callbacks[0] != "https://[::1]:2" || got.User != "me" || got.Token != "a: b" || got.VerifySSL || got.RequestTimeout != 1500*time.Millisecond || got.Command[0] != "a" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestEachMistakeInArgumentsIsNamed(t *testing.T) {
	for _, c := range []struct{ task, address, entry, want string }{
		{"a/b", "h:1", "", `TASK_ID: "a/b": want letters`},
		{"", "h:1", "", "TASK_ID: is empty"},
		{"a", "", "", "HOST:PORT: "},
		{"a", "h", "", `HOST:PORT: "http://h": want one host with its port`},
		{"a", "h:port", "", "HOST:PORT: an entry is no URL"},
		{"a", "h:1,i:2", "", "HOST:PORT: "},
		{"a", "ftp://h:1", "", `HOST:PORT: "ftp://h:1": want http://host:port`},
		{"a", "h:1", "TFMESOS2_CLIENT_USERNAME=a:b", `TFMESOS2_CLIENT_USERNAME: "a:b": want no colon`},
		{"a", "h:1", "TFMESOS2_CLIENT_PASSWORD=hidden\n", "TFMESOS2_CLIENT_PASSWORD: has a control character"},
		{"a", "h:1", "TFMESOS2_REQUEST_TIMEOUT=soon", `TFMESOS2_REQUEST_TIMEOUT: "soon": want seconds above 0, as in 30`},
		{"a", "h:1", "TFMESOS2_VERIFY_SSL=ture", `TFMESOS2_VERIFY_SSL: "ture": want true or false`},
	} {
		_, err := FromArgs(c.task, c.address, []string{c.entry})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q %q %q: got %v, want %s", c.task, c.address, c.entry, err, c.want)
		}
	}
}
