//go:build integration

package masters_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"

	mesosrig "tfmesos/integration/mesos"
)

// ways are those to say where the masters are. Each returns what MESOS_MASTER is, with this leader.
var ways = map[string]func(t *testing.T, leader string) string{
	"by a standby": func(t *testing.T, leader string) string {
		standby := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Location"] = []string{"//" + leader + "/master" + r.URL.Path} // as Mesos 1.11 does
			w.WriteHeader(http.StatusTemporaryRedirect)
		}))
		t.Cleanup(standby.Close)
		return standby.URL
	},
	"by a list": func(t *testing.T, leader string) string { return "127.0.0.1:9," + leader + ",127.0.0.1:19" },
	"by ZooKeeper": func(t *testing.T, leader string) string {
		z := startZooKeeper(t)
		conn := z.client()
		z.create(conn, "/mesos", "", 0, everybody)
		z.enter(conn, leader)
		return z.url()
	},
}

// TestC01TheLeaderIsKilledAndAnotherTakesItsPlace kills the leading master with SIGKILL. The one that takes its place is another
// process that knows of no framework and no agent, as a standby with a registry of its own; it has the same address, because that
// is how the agent of this rig finds it.
func TestC01TheLeaderIsKilledAndAnotherTakesItsPlace(t *testing.T) {
	t.Parallel()
	for way, address := range ways {
		for _, moment := range []string{"launched on", "its container is made on", "program started", "all 2 tasks ready"} {
			t.Run(way+", after "+moment, func(t *testing.T) {
				rig := mesosrig.Start(t)
				end, command := waiting(t)
				r := start(t, []string{"MESOS_MASTER=" + address(t, rig.Master())}, append([]string{"--worker", "2"}, command...)...)
				framework := r.awaits("registered with master " + rig.Master() + ` as framework (\S+)$`)[1]
				r.awaits(moment)
				rig.StopMaster(t, syscall.SIGKILL)
				_, port, _ := net.SplitHostPort(rig.Master())
				mesosrig.Start(t, func(config *mesosrig.Config) { config.MasterPort, _ = strconv.Atoi(port) })

				r.awaits("registered with master .* as framework " + framework + "(,|$)")
				for range 2 - strings.Count(r.said(), "program started") {
					r.awaits("program started")
				}
				touch(t, end)
				r.ends(0, "finished")
				said := r.said()
				// Right after the decision the call may not have reached the master. Then it is asked, and the launch repeated.
				if again := strings.Count(said, "launched on") != 2; again && moment != "launched on" || strings.Count(said, "program started") != 2 {
					t.Errorf("tasks were launched anew:\n%s", said)
				}
			})
		}
	}
}
