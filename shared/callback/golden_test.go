package callback

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tfmesos/shared/tf"
)

var update = flag.Bool("update", false, "write testdata/*.json anew")

func at(second int) time.Time { return time.Date(2026, 1, 31, 12, 0, second, 0, time.UTC) }

var (
	clusterDef = tf.ClusterDef{tf.PS: {"10.0.3.14:41873"}, tf.Worker: {"10.0.3.15:40001", "[fd00::5]:4000"}}
	callbacks  = []string{"http://10.0.0.1:11000", "https://login3.lab:443/tf"}
)

// bodies has the golden body of each message by its file: the fullest one of each type, and those in which something that
// may be absent is.
var bodies = map[string]any{
	"registration":         Registration{Port: 41873, Address: "10.0.3.14:41873", Hostname: "a7.lab", Version: "v1.0.0"},
	"registration_minimal": Registration{Port: 41873},
	"registered":           Registered{JobName: tf.PS, TaskIndex: 1, Callbacks: callbacks},
	"assignment":           Assignment{Generation: 2, ClusterDef: clusterDef, Callbacks: callbacks, Why: "worker:1 does not serve yet"},
	"assignment_waiting":   Assignment{Callbacks: callbacks, Why: "worker:1 waits: no agent has 2 gpus"},
	"phase_imported":       PhaseReport{Phase: PhaseImported, At: at(0), Import: "lean"},
	"phase_ended": PhaseReport{Phase: PhaseEnded, At: at(1).Add(25 * time.Millisecond), ExitCode: 137, Cause: CauseSignal,
		Message: "Traceback (most recent call last):\n  <b>Killed</b> & gone"},
	"phase_ended_well": PhaseReport{Phase: PhaseEnded, At: at(1), Cause: CauseProgram},
	"log":              Log{Lines: []LogLine{{Stream: "stdout", Text: "step 1, loss 0.5"}, {Stream: "stderr", Text: ""}}, Dropped: 12},
	"v0_job":           V0Job{JobName: tf.Worker, TaskIndex: 1, CPUs: 0.5, Mem: 1024, GPUs: 2, ClusterDef: clusterDef},
	"v0_job_waiting":   V0Job{JobName: tf.Worker},
	"error":            Error{Error: "callback: port 0: want 1 to 65535"},
	"status": Status{Name: "ctr", Run: 7, Phase: "ended", Ready: 3, Total: 4, Generation: 2, Why: "worker:1: exit code 3", Framework: "F1",
		Master: "10.0.0.9:5050", ClusterDef: clusterDef, StartedAt: new(at(0)), ReadyAt: new(at(2)), EndedAt: new(at(9)), ExitCode: new(1),
		Tasks: []TaskStatus{{Task: "worker:1", Phase: "failed", State: "TASK_FAILED", Launch: 2, TaskID: "ctr.abc123.worker-1.2", AgentID: "S1",
			Hostname: "a7.lab", Address: "10.0.3.14:41873", Reason: "CONTAINER_LIMITATION_MEMORY", ExitCode: new(3), PhaseAt: new(at(8)),
			LaunchedAt: new(at(0)), RegisteredAt: new(at(1)), PythonStartedAt: new(at(1)), ImportedAt: new(at(2)), ServingAt: new(at(2))}},
		Events: []EventStatus{{At: at(8), Kind: "task_failed", Task: "worker:1", Text: "exit code 3"}}},
	"status_waiting": Status{Name: "ctr", Run: 1, Phase: "waiting", Total: 1, Why: "the master has not answered yet", StartedAt: new(at(0)),
		Tasks: []TaskStatus{{Task: "worker:0", Phase: "waiting"}, {Task: "worker:1", Phase: "waiting", Waiting: &WaitingStatus{Offers: 17, Since: new(at(0)), LastOfferAt: new(at(3)),
			Reasons: []RefusalStatus{{Field: "mem", Count: 12, Text: "too little mem (largest 6144 of 8192)"}}}}}},
}

func TestBodiesAreTheGoldenOnes(t *testing.T) {
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(body, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the wire format changed; sidecars and schedulers of other versions read the old one (-want +got):\n%s", diff)
			}
			read := reflect.New(reflect.TypeOf(body))
			decoder := json.NewDecoder(bytes.NewReader(want))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(read.Interface()); err != nil {
				t.Fatalf("the golden body is not read back: %v", err)
			}
			if diff := cmp.Diff(body, read.Elem().Interface()); diff != "" {
				t.Errorf("the golden body is read back as another message (-sent +read):\n%s", diff)
			}
		})
	}
}

func TestNoGoldenBodyIsLeftOver(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if name := strings.TrimSuffix(filepath.Base(path), ".json"); bodies[name] == nil {
			t.Errorf("%s is no body of this version", path)
		}
	}
}

// TestEveryFieldOfEveryMessageIsInAGoldenBody finds messages and fields that were added without one.
func TestEveryFieldOfEveryMessageIsInAGoldenBody(t *testing.T) {
	seen := map[string]bool{}
	for _, body := range bodies {
		collectFields(reflect.ValueOf(body), seen)
	}
	for _, field := range messageFields(t) {
		if !seen[field] {
			t.Errorf("%s is in no golden body with a value", field)
		}
	}
}

// collectFields marks the fields, as in "Log.Lines", of the package's structs in v that are not zero.
func collectFields(v reflect.Value, seen map[string]bool) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			collectFields(v.Index(i), seen)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			collectFields(v.Elem(), seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				seen[v.Type().Name()+"."+v.Type().Field(i).Name] = true
			}
			if v.Type().PkgPath() == reflect.TypeFor[Log]().PkgPath() {
				collectFields(v.Field(i), seen)
			}
		}
	}
}

// messageFields returns the fields of all structs that the package declares, from its source.
func messageFields(t *testing.T) []string {
	var fields []string
	for _, path := range []string{"messages.go", "status.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if message, ok := spec.Type.(*ast.StructType); ok {
					for _, field := range message.Fields.List {
						for _, name := range field.Names {
							fields = append(fields, spec.Name.Name+"."+name.Name)
						}
					}
				}
			}
			return true
		})
	}
	if !slices.Contains(fields, "Registration.Port") {
		t.Fatalf("no fields found: %v", fields)
	}
	return fields
}
