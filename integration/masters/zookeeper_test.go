//go:build integration

package masters_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	mesosrig "tfmesos/integration/mesos"
)

// zooKeeper is a server of the test's own.
type zooKeeper struct {
	t       *testing.T
	address string
	dir     string
	cmd     *exec.Cmd
}

// startZooKeeper starts Debian's ZooKeeper on a port of its own.
func startZooKeeper(t *testing.T) *zooKeeper {
	t.Helper()
	const jar = "/usr/share/java/zookeeper.jar"
	_, err := os.Stat(jar)
	if java, missing := exec.LookPath("java"); err != nil || missing != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("there is no %s or no java (%s), and CI=true", jar, java)
		}
		t.Skipf("SKIPPED: ZooKeeper is missing (Debian: zookeeper)")
	}
	z := &zooKeeper{t: t, address: "127.0.0.1:" + ownPort(t), dir: t.TempDir()}
	_, port, _ := net.SplitHostPort(z.address)
	config := fmt.Sprintf("tickTime=500\ndataDir=%s/data\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n", z.dir, port)
	if err := os.WriteFile(filepath.Join(z.dir, "zoo.cfg"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	z.start(jar)
	t.Cleanup(z.kill)
	return z
}

func (z *zooKeeper) start(jar string) {
	z.t.Helper()
	z.cmd = exec.Command("java", "-Xmx64m", "-cp", jar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(z.dir, "zoo.cfg"))
	z.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := z.cmd.Start(); err != nil {
		z.t.Fatal(err)
	}
}

// kill is kill -9.
func (z *zooKeeper) kill() {
	_ = z.cmd.Process.Kill()
	_ = z.cmd.Wait() // the signal that ended it
}

func (z *zooKeeper) again() { z.start("/usr/share/java/zookeeper.jar") }

// quiet drops what the library logs.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// client connects to the server, and returns when there is a session.
func (z *zooKeeper) client() *zk.Conn {
	z.t.Helper()
	conn, events, err := zk.Connect([]string{z.address}, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		z.t.Fatal(err)
	}
	z.t.Cleanup(conn.Close)
	for timeout := time.After(patience); ; {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return conn
			}
		case <-timeout:
			z.t.Fatal("ZooKeeper does not start")
		}
	}
}

// create makes a node as it is.
func (z *zooKeeper) create(conn *zk.Conn, path, data string, flags int32, acl []zk.ACL) string {
	z.t.Helper()
	name, err := conn.Create(path, []byte(data), flags, acl)
	if err != nil {
		z.t.Fatalf("create %s: %v", path, err)
	}
	return name
}

var everybody = zk.WorldACL(zk.PermAll)

// enter makes the node of a master that stands for election. It stays when the master goes, so that a test says who leads.
func (z *zooKeeper) enter(conn *zk.Conn, address string) string {
	z.t.Helper()
	host, port, _ := net.SplitHostPort(address)
	data := fmt.Sprintf(`{"address":{"hostname":"localhost","ip":%q,"port":%s},"capabilities":[{"type":"AGENT_UPDATE"}],"hostname":"localhost","id":"x","ip":16777343,"pid":"master@%s","port":%s,"version":"1.11.0"}`,
		host, port, address, port)
	return z.create(conn, "/mesos/json.info_", data, zk.FlagSequence, everybody)
}

func (z *zooKeeper) url() string { return "zk://" + z.address + "/mesos" }

// waiting is a program that ends once the file is there.
func waiting(t *testing.T) (end string, command []string) {
	end = filepath.Join(t.TempDir(), "end")
	return end, []string{"--", "sh", "-c", `until [ -e "$0" ]; do sleep 0.05; done`, end}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestC10ARunOutlivesZooKeeperAndAMasterThatGoMeanwhile(t *testing.T) {
	t.Parallel()
	z, rig := startZooKeeper(t), mesosrig.Start(t)
	end, command := waiting(t)
	r := start(t, []string{"MESOS_MASTER=zk://127.0.0.1:9," + z.address + "/mesos"}, append([]string{"--worker", "2"}, command...)...)
	r.awaits("no such node: is the path right")

	conn := z.client()
	z.create(conn, "/mesos", "", 0, everybody)
	z.create(conn, "/mesos/log_replicas", "", 0, everybody)
	z.enter(conn, rig.Master())
	z.enter(conn, "127.0.0.1:9") // a standby
	framework := r.awaits("registered with master " + rig.Master() + ` as framework (\S+?)(,|$)`)[1]
	r.awaits("all 2 tasks ready")

	z.kill()
	rig.StopMaster(t, syscall.SIGKILL)
	r.awaits("the master is out of reach")
	rig.StartMaster(t)
	r.awaits("registered with master " + rig.Master() + " as framework " + framework + "(,|$)")
	z.again()
	touch(t, end)
	r.ends(0, "finished")
	if said := r.said(); strings.Contains(said, "launched again") || strings.Count(said, "program started") != 2 {
		t.Errorf("tasks were launched anew:\n%s", said)
	}
}

func TestC10AnotherMasterThatIsElectedIsGoneTo(t *testing.T) {
	t.Parallel()
	z, rig := startZooKeeper(t), mesosrig.Start(t)
	conn := z.client()
	z.create(conn, "/mesos", "", 0, everybody)
	front := forward(t, rig.Master()) // the same master at another address, as if another had been elected
	first := z.enter(conn, front)
	end, command := waiting(t)
	r := start(t, []string{"MESOS_MASTER=" + z.url()}, append([]string{"--worker", "1"}, command...)...)
	framework := r.awaits("registered with master " + front + ` as framework (\S+)$`)[1]
	r.awaits("all 1 tasks ready")
	z.enter(conn, rig.Master())
	if err := conn.Delete(first, -1); err != nil {
		t.Fatal(err)
	}
	r.awaits("registered with master " + rig.Master() + " as framework " + framework)
	touch(t, end)
	r.ends(0, "finished")
}

// forward passes connections on from a port of its own.
func forward(t *testing.T, to string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() { // ends with the listener
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				conn.Close()
				continue
			}
			go func() { _, _ = conn.(*net.TCPConn).ReadFrom(server); conn.Close() }()
			go func() { _, _ = server.(*net.TCPConn).ReadFrom(conn); server.Close() }()
		}
	}()
	return listener.Addr().String()
}

func TestC10CredentialsOfZooKeeper(t *testing.T) {
	t.Parallel()
	z, rig := startZooKeeper(t), mesosrig.Start(t)
	conn := z.client()
	if err := conn.AddAuth("digest", []byte("tf:"+secret)); err != nil {
		t.Fatal(err)
	}
	z.create(conn, "/mesos", "", 0, zk.DigestACL(zk.PermAll, "tf", secret))
	z.enter(conn, rig.Master())
	for credentials, c := range map[string]struct {
		code int
		want string
	}{
		"":                   {4, "zk://USER:PASSWORD@"},
		"tf:wr0ng@":          {4, "cannot be read with these credentials"},
		"tf:" + secret + "@": {0, "finished"},
	} {
		start(t, []string{"MESOS_MASTER=zk://" + credentials + z.address + "/mesos"}, "--worker", "1", "--", "true").ends(c.code, c.want)
	}
}
