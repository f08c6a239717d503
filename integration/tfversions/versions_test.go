//go:build tfversions

// Servers on every TensorFlow that pip has for this Python. Each is installed, which takes a minute and 1.5 GB, so the tests stand
// behind a build tag that neither make test nor CI sets.
package tfversions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"tfmesos/shared/callback"
)

// row is a line of the table: how a server of one version came up.
type row struct {
	version, asked, got string
	fork                time.Duration // from the start of Python to the end of the import, of the slower server
	rss                 int           // of the larger server while it serves, MiB
	why                 string        // of a fall-back
}

func TestServersOfEveryTensorFlowAreImportedLeanAndServe(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sidecar")
	output(t, "go", "build", "-o", program, "tfmesos/cmd/sidecar")
	var rows []row
	for _, version := range offered(t) {
		t.Run(minor(version), func(t *testing.T) {
			python := venv(t, version, "tensorflow-cpu=="+version)
			// This also brings the libraries from the disk, so that the times below are of warm starts.
			if got := strings.TrimSpace(output(t, python, "-c", "import tensorflow as tf; print(tf.__version__)")); got != version {
				t.Fatalf("%s has TensorFlow %s; remove it", python, got)
			}
			for _, how := range []string{"lean", "full"} {
				t.Run(how, func(t *testing.T) { rows = append(rows, serve(t, program, python, version, how)) })
			}
		})
	}
	t.Log("a ps and a worker started at once:\n" + table(rows))
}

// serve starts a ps and a worker, lets a program with the whole TensorFlow use them, and ends them.
func serve(t *testing.T, program, python, version, how string) row {
	c := start(t, program, "TFMESOS_PYTHON="+python, "TFMESOS_TF_IMPORT="+how)
	r := row{version: version, asked: how}
	for _, s := range c.sidecar {
		c.phase(s, callback.PhaseServing)
		imported := c.phase(s, callback.PhaseImported)
		r.got, r.why = imported.Import, imported.Message
		r.fork = max(r.fork, imported.At.Sub(c.phase(s, callback.PhasePythonStarted).At))
		r.rss = max(r.rss, residentBelow(s.Process.Pid))
		if r.got != how {
			t.Errorf("TensorFlow %s of %s was imported %s, want %s: %s", version, s.job, r.got, how, r.why)
		}
	}
	a, _ := c.assignment()
	got := output(t, python, "testdata/use.py", a.ClusterDef["ps"][0], a.ClusterDef["worker"][0])
	const want = `variable on /job:ps/replica:0/task:0: [1.0, 3.0]
svd on /job:worker/replica:0/task:0: [4.0, 3.0]
sobol on /job:worker/replica:0/task:0: [0.5, 0.75, 0.25]
strings on /job:worker/replica:0/task:0: ['lean', 'server']
session: [2.0, 6.0]
`
	if got != want {
		t.Errorf("a program that uses the servers printed\n%swant\n%s", got, want)
	}
	c.end()
	return r
}

// table is for people.
func table(rows []row) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "version\tasked for\timported\tfork → imported\tRSS\t")
	for _, r := range rows {
		why := ""
		if r.got != r.asked {
			why = r.why
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d ms\t%d MiB\t%s\n", r.version, r.asked, r.got, r.fork.Milliseconds(), r.rss, why)
	}
	w.Flush()
	return text.String()
}

// residentBelow returns the memory of the largest child of a process in MiB.
func residentBelow(parent int) (most int) {
	files, _ := filepath.Glob("/proc/[0-9]*/status") // the pattern is good
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended since
		}
		fields := map[string]int{}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			fields[name], _ = strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
		}
		if fields["PPid"] == parent {
			most = max(most, fields["VmRSS"]/1024)
		}
	}
	return most
}
