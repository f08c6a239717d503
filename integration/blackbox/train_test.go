//go:build integration

package blackbox_test

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestTheExampleTrains(t *testing.T) {
	withTensorFlow(t, func(t *testing.T, p place) {
		r := p.start(t, "examples/ps/cluster.yaml")
		r.ends(0, "chief:0 finished")
		losses := r.stdout.matches(`^chief:0 \| step \d+ loss ([0-9.]+)$`)
		if len(losses) < 5 {
			t.Fatalf("%d losses on stdout", len(losses))
		}
		first, _ := strconv.ParseFloat(losses[0][1], 64)
		last, _ := strconv.ParseFloat(losses[len(losses)-1][1], 64)
		if last >= first/2 {
			t.Errorf("the loss was %g and is %g", first, last)
		}
		if saved := r.stdout.matches(`^chief:0 \| checkpoint (/.+)$`); len(saved) != 1 {
			t.Errorf("%d checkpoints on stdout", len(saved))
		} else if _, err := os.Stat(saved[0][1] + ".index"); err != nil {
			t.Errorf("the checkpoint is not there: %v", err)
		}
		for _, line := range []string{`^` + r.name + ` took `, `importing TensorFlow and serving$`, `^ +[0-9.]+ s  training$`} {
			if len(r.stderr.matches(line)) != 1 {
				t.Errorf("no summary: there is not one line %q", line)
			}
		}
	})
}

func TestServersServeUntilCtrlC(t *testing.T) {
	withTensorFlow(t, func(t *testing.T, p place) {
		r := p.start(t, "examples/servers/cluster.yaml")
		r.awaits(`all 3 tasks ready`)
		s := r.status()
		if len(s.ClusterDef["ps"]) != 1 || len(s.ClusterDef["worker"]) != 2 || s.Ready != 3 {
			t.Errorf("%d ready, cluster_def %v", s.Ready, s.ClusterDef)
		}
		for job, addresses := range s.ClusterDef {
			for _, address := range addresses {
				conn, err := net.DialTimeout("tcp", address, patience)
				if err != nil {
					t.Errorf("%s does not answer: %v", job, err)
					continue
				}
				conn.Close()
			}
		}
		r.redisShows("ps:0", "worker:0", "worker:1")
		since := time.Now()
		r.ctrlC()
		r.endsInTime(since, 130, "SIGINT")
	})
}

// redisShows runs the command that stderr names for people, and wants a line for each task that says it serves.
func (r *run) redisShows(tasks ...string) {
	r.t.Helper()
	command := r.awaits(`state: (redis-cli .+)$`)[1]
	if _, err := exec.LookPath("redis-cli"); err != nil {
		missing(r.t, "redis-cli is missing")
	}
	out, err := exec.Command("sh", "-c", command).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	for _, task := range tasks {
		if !strings.Contains(string(out), task+"\nserving 127.0.0.1:") {
			r.t.Errorf("%s does not show that %s serves:\n%s", command, task, out)
		}
	}
}
