package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a Redis of the test's own, with a client that looks past the store.
type rig struct {
	url   string
	store *Store
	redis *redis.Client
}

// onEach runs the test on the embedded Redis and on a real one.
func onEach(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, newRig(t, startEmbedded(t)))
	})
	t.Run("redis-server", func(t *testing.T) {
		t.Parallel()
		test(t, newRig(t, startServer(t)))
	})
}

func newRig(t *testing.T, url string) *rig {
	t.Helper()
	s := open(t, url)
	opts, err := parseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	t.Cleanup(func() { client.Close() })
	return &rig{url, s, client}
}

func open(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func startEmbedded(t *testing.T) string {
	t.Helper()
	e, err := StartEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e.URL()
}

// missing skips the test loudly, or fails it where nothing may be skipped.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing, and CI=true", what)
	}
	t.Skipf("SKIPPED: %s is missing", what)
}

// startServer starts a redis-server with nothing on disk on a free port of 127.0.0.1.
func startServer(t *testing.T, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		missing(t, "redis-server")
	}
	for range 10 { // another process may take the port that was free a moment ago
		port := freePort(t)
		if runServer(t, program, append([]string{"--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", t.TempDir()}, args...)) {
			return "redis://127.0.0.1:" + port
		}
	}
	t.Fatal("redis-server did not start on any of ten free ports")
	return ""
}

func runServer(t *testing.T, program string, args []string) bool {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				for lines.Scan() {
				}
			}()
			t.Cleanup(func() {
				cmd.Process.Kill()
				<-drained
				cmd.Wait()
			})
			return true
		}
	}
	cmd.Wait()
	return false
}

func freePort(t *testing.T) string {
	t.Helper()
	for {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := listener.Addr().(*net.TCPAddr).Port
		listener.Close()
		if port < 55536 { // in cluster mode redis-server takes port+10000 as well
			return fmt.Sprint(port)
		}
	}
}

// startClusterNode starts the only node of a Redis Cluster; it has all slots.
func startClusterNode(t *testing.T) string {
	t.Helper()
	url := startServer(t, "--cluster-enabled", "yes")
	client := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(url, "redis://")})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := client.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(client.ClusterInfo(ctx).Val(), "cluster_state:ok") {
		if ctx.Err() != nil {
			t.Fatal("the cluster does not become ok")
		}
		time.Sleep(20 * time.Millisecond) // the server tells nobody when its state changes
	}
	return url
}

// anyLeader is a process on another machine.
func anyLeader(pid int) Leader {
	return Leader{Host: "login3", PID: pid, BootID: "b", PIDNamespace: "pid:[1]", StartTime: fmt.Sprint(pid), Address: "10.0.0.1:11000", Version: "test"}
}

func (r *rig) acquire(t *testing.T, name string, pid int) *Lease {
	t.Helper()
	lease, err := r.store.Acquire(t.Context(), name, anyLeader(pid))
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// dump returns all that is stored of a cluster.
func (r *rig) dump(t *testing.T, name string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for key := range r.ttls(t, name) {
		if key == ClustersKey {
			continue
		}
		switch kind := r.redis.Type(t.Context(), key).Val(); kind {
		case "hash":
			all[key] = r.redis.HGetAll(t.Context(), key).Val()
		case "string":
			all[key] = r.redis.Get(t.Context(), key).Val()
		case "stream":
			all[key] = r.redis.XRange(t.Context(), key, "-", "+").Val()
		case "list":
			all[key] = r.redis.LRange(t.Context(), key, 0, -1).Val()
		default:
			t.Fatalf("%s is a %s", key, kind)
		}
	}
	return all
}

// ttls returns each key of the cluster with its time to live, -1 for none; and ClustersKey.
func (r *rig) ttls(t *testing.T, name string) map[string]time.Duration {
	t.Helper()
	all := map[string]time.Duration{}
	for _, pattern := range []string{slot(name) + "*", ClustersKey} {
		keys, err := r.redis.Keys(t.Context(), pattern).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			all[key] = r.redis.TTL(t.Context(), key).Val()
		}
	}
	return all
}

func (r *rig) kinds(t *testing.T, name string) []string {
	t.Helper()
	entries, err := r.redis.XRange(t.Context(), EventsKey(name), "-", "+").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	var kinds []string
	for _, entry := range entries {
		kinds = append(kinds, entry.Values["kind"].(string))
	}
	return kinds
}

// expire lets the lease of the name's leader end now.
func (r *rig) expire(t *testing.T, name string) {
	t.Helper()
	if err := r.redis.HSet(t.Context(), LeaderKey(name), "expires_at", "2020-01-01T00:00:00.000Z").Err(); err != nil {
		t.Fatal(err)
	}
}

func save(t *testing.T, l *Lease, before, after *cluster.Cluster, notes ...cluster.Note) {
	t.Helper()
	if err := l.Save(t.Context(), before, after, notes); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s *Store, name string) *Record {
	t.Helper()
	record, err := s.Load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

var start = time.Date(2026, 1, 31, 2, 14, 9, 0, time.UTC)

// training is a cluster whose tasks all run but worker:1, which waits.
func training(name string) *cluster.Cluster {
	spec := cluster.Spec{Name: name, Role: "*", Jobs: []cluster.Job{
		{Name: "ps", Num: 1, Command: []string{"python", "train.py"}},
		{Name: "worker", Num: 2, Command: []string{"python", "train.py"}, Resources: offer.Resources{CPUs: 500, Mem: 1024000}},
	}}
	c := cluster.New(spec, 7, "0a1b2c", cluster.Settings{}, start)
	c.Phase, c.Why = cluster.PhaseTraining, "worker:1 waits"
	for i := range c.Tasks[:2] {
		task := &c.Tasks[i]
		task.Phase, task.Why, task.State = cluster.TaskTraining, "", cluster.TaskStateRunning
		task.Launch, task.TaskID = 2, fmt.Sprintf("%s.0a1b2c.%s-0.2", name, task.Name.JobName)
		task.AgentID, task.Hostname, task.Address, task.Port = "S1", "a7.lab", "10.0.3.14", 41873+i
	}
	c.Tasks[2].Why, c.Tasks[2].PhaseAt = "no agent has 2 gpus", start.Add(time.Minute)
	c.Tasks[2].Wait = &cluster.Wait{Since: start.Add(time.Minute), LastOfferAt: start.Add(2 * time.Minute), Refusals: offer.Refusals{Offers: 17,
		Reasons: []offer.Reason{{Field: "mem", Count: 12, Short: "too small, largest 6144 of 8192"}, {Field: "rack", Count: 5, Short: "not r1"}}}}
	return c
}

func complete(c *cluster.Cluster) {
	c.Generation = 1
	c.ClusterDef = tf.ClusterDef{"ps": {"10.0.3.14:1"}, "worker": {"10.0.3.14:2", "10.0.3.14:3"}}
}
