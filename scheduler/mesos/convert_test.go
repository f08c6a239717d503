package mesos

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

func of[T any](v T) *T { return &v }

func amount(name string, value float64, change ...func(*mesos.Resource)) mesos.Resource {
	r := mesos.Resource{Name: name, Type: mesos.SCALAR.Enum(), Scalar: &mesos.Value_Scalar{Value: value},
		AllocationInfo: &mesos.Resource_AllocationInfo{Role: of("ml")}}
	for _, f := range change {
		f(&r)
	}
	return r
}

func manyOffers(n int) (offers []mesos.Offer) {
	for i := range n {
		offers = append(offers, mesos.Offer{
			ID: mesos.OfferID{Value: fmt.Sprintf("O%d", i)}, AgentID: mesos.AgentID{Value: "A"}, Hostname: "a7.lab",
			Resources: []mesos.Resource{amount("cpus", 4), amount("mem", 8192), amount("disk", 1000)},
		})
	}
	return offers
}

func TestAnOfferCountsOnlyWhatAnyTaskMayUse(t *testing.T) {
	o := mesos.Offer{
		ID: mesos.OfferID{Value: "O"}, AgentID: mesos.AgentID{Value: "A"}, Hostname: "a7.lab",
		AllocationInfo: &mesos.Resource_AllocationInfo{Role: of("ml")},
		URL:            &mesos.URL{Scheme: "http", Address: mesos.Address{Hostname: of("a7.lab"), IP: of("10.0.0.7"), Port: 5051}},
		Resources: []mesos.Resource{
			amount("cpus", 0.1), amount("cpus", 0.2), amount("mem", 1024, func(r *mesos.Resource) { r.Role = of("*") }),
			amount("disk", 10), amount("gpus", 2),
			amount("mem", 64, func(r *mesos.Resource) { r.AllocationInfo = nil }),
			amount("cpus", 100, func(r *mesos.Resource) { r.Role = of("mlx") }),
			amount("cpus", 100, func(r *mesos.Resource) { r.Role = of("ml/below") }),
			amount("cpus", 100, func(r *mesos.Resource) { r.Reservation = &mesos.Resource_ReservationInfo{} }),
			amount("cpus", 100, func(r *mesos.Resource) {
				r.Reservations = []mesos.Resource_ReservationInfo{{Role: of("ml")}, {Role: of("ml/below")}}
			}),
			amount("cpus", 100, func(r *mesos.Resource) { r.Revocable = &mesos.Resource_RevocableInfo{} }),
			amount("cpus", 100, func(r *mesos.Resource) { r.AllocationInfo.Role = of("other") }),
			amount("disk", 100, func(r *mesos.Resource) { r.Disk = &mesos.Resource_DiskInfo{} }),
			amount("disk", 100, func(r *mesos.Resource) { r.Shared = &mesos.Resource_SharedInfo{} }),
			amount("disk", 100, func(r *mesos.Resource) { r.ProviderID = &mesos.ResourceProviderID{Value: "P"} }),
			amount("network_bandwidth", 100), amount("cpus", math.NaN()), amount("cpus", math.Inf(1)), amount("mem", -5), amount("mem", 1e300),
			{Name: "ports", Type: mesos.RANGES.Enum(), Ranges: &mesos.Value_Ranges{Range: []mesos.Value_Range{{Begin: 1, End: 2}}}},
			{Name: "cpus", Type: mesos.SCALAR.Enum()},
		},
	}
	want := offer.Offer{ID: "O", AgentID: "A", Hostname: "a7.lab", Address: "10.0.0.7", Role: "ml",
		Parts: []offer.Part{{Resources: offer.Resources{CPUs: 300, Mem: 1088000, Disk: 10000, GPUs: 2000}}}}
	if diff := cmp.Diff(want, convertOffer(&o, "ours")); diff != "" {
		t.Errorf("the offer is read wrongly (-want +got):\n%s", diff)
	}
	bare := mesos.Offer{ID: mesos.OfferID{Value: "O"}}
	if diff := cmp.Diff(offer.Offer{ID: "O", Role: "ours"}, convertOffer(&bare, "ours")); diff != "" {
		t.Errorf("an offer without all that may be missing (-want +got):\n%s", diff)
	}
}

func TestKnownFault031OffersThatHoldOnlyInverseOffers(t *testing.T) {
	m := newFakeMaster(t, nil)
	r := start(t, testConfig(m.URL), "")
	s := m.subscribe(t, r)
	for kind := range scheduler.Event_Type_name {
		switch kind := scheduler.Event_Type(kind); kind {
		case scheduler.Event_ERROR, scheduler.Event_SUBSCRIBED:
		default:
			s.send(&scheduler.Event{Type: kind}) // with the part it promises missing
		}
	}
	inverse := mesos.InverseOffer{OfferID: mesos.OfferID{Value: "I"}}
	s.send(
		&scheduler.Event{Type: scheduler.Event_OFFERS, InverseOffers: &scheduler.Event_InverseOffers{InverseOffers: []mesos.InverseOffer{inverse}}},
		&scheduler.Event{Type: scheduler.Event_OFFERS, Offers: &scheduler.Event_Offers{}},
		&scheduler.Event{Type: scheduler.Event_INVERSE_OFFERS, InverseOffers: &scheduler.Event_InverseOffers{InverseOffers: []mesos.InverseOffer{inverse}}},
		&scheduler.Event{Type: 4711}, &scheduler.Event{Type: 4711},
		&scheduler.Event{Type: scheduler.Event_OFFERS, Offers: &scheduler.Event_Offers{Offers: manyOffers(1)}},
	)
	if got := event[cluster.Offered](t, r); len(got.Offers) != 1 || got.Offers[0].ID != "O0" || got.Offers[0].Role != "ml" {
		t.Errorf("the normal offer after them is %+v", got)
	}
}

func TestFailureOfAnAgentIsAHint(t *testing.T) {
	agent, executor := &mesos.AgentID{Value: "A"}, &mesos.ExecutorID{Value: "E"}
	for _, c := range []struct {
		failure *scheduler.Event_Failure
		want    cluster.Event
	}{
		{&scheduler.Event_Failure{AgentID: agent}, cluster.AgentLost{AgentID: "A"}},
		{&scheduler.Event_Failure{AgentID: agent, ExecutorID: executor, Status: of(int32(9))}, nil},
		{&scheduler.Event_Failure{}, nil},
		{nil, nil},
	} {
		if got := convertEvent(&scheduler.Event{Type: scheduler.Event_FAILURE, Failure: c.failure}, "ml"); got != c.want {
			t.Errorf("FAILURE %v is delivered as %v, want %v", c.failure, got, c.want)
		}
	}
}

func TestKnownFault038UpdatesWithFewerFields(t *testing.T) {
	task := mesos.TaskID{Value: "T"}
	network := func(ips ...*string) (n mesos.NetworkInfo) {
		for _, ip := range ips {
			n.IPAddresses = append(n.IPAddresses, mesos.NetworkInfo_IPAddress{IPAddress: ip})
		}
		return n
	}
	running := func(s *mesos.ContainerStatus) mesos.TaskStatus {
		return mesos.TaskStatus{TaskID: task, State: mesos.TASK_RUNNING.Enum(), ContainerStatus: s}
	}
	bare := cluster.Updated{TaskID: "T", State: "TASK_RUNNING"}
	for _, c := range []struct {
		name   string
		status mesos.TaskStatus
		want   cluster.Updated
	}{
		{"nothing but a state", running(nil), bare},
		{"no networks", running(&mesos.ContainerStatus{}), bare},
		{"a network without addresses", running(&mesos.ContainerStatus{NetworkInfos: []mesos.NetworkInfo{{}}}), bare},
		{"an entry without an address", running(&mesos.ContainerStatus{NetworkInfos: []mesos.NetworkInfo{network(nil, of(""))}}), bare},
		{"addresses in order", running(&mesos.ContainerStatus{NetworkInfos: []mesos.NetworkInfo{network(of("10.1.0.2"), nil), network(of("fd00::2"))}}),
			cluster.Updated{TaskID: "T", State: "TASK_RUNNING", Addresses: []string{"10.1.0.2", "fd00::2"}}},
		{"an empty uuid", mesos.TaskStatus{TaskID: task, State: mesos.TASK_LOST.Enum(), UUID: []byte{}}, cluster.Updated{TaskID: "T", State: "TASK_LOST"}},
		{"everything", mesos.TaskStatus{TaskID: task, State: mesos.TASK_FAILED.Enum(), AgentID: &mesos.AgentID{Value: "A"}, UUID: []byte("0123456789abcdef"),
			Reason: mesos.REASON_CONTAINER_LIMITATION_MEMORY.Enum(), Source: mesos.SOURCE_AGENT.Enum(), Message: of("too big")},
			cluster.Updated{TaskID: "T", State: "TASK_FAILED", AgentID: "A", UUID: []byte("0123456789abcdef"), Reason: "CONTAINER_LIMITATION_MEMORY",
				Source: "AGENT", Message: "too big"}},
	} {
		if diff := cmp.Diff(cluster.Event(c.want), throughTheWire(t, c.status)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestKnownFault036TerminalAndInventedStates(t *testing.T) {
	for state, name := range map[mesos.TaskState]cluster.State{
		mesos.TASK_ERROR: "TASK_ERROR", mesos.TASK_DROPPED: "TASK_DROPPED", mesos.TASK_GONE: "TASK_GONE",
		mesos.TASK_GONE_BY_OPERATOR: "TASK_GONE_BY_OPERATOR", 42: "TASK_42",
	} {
		got := throughTheWire(t, mesos.TaskStatus{TaskID: mesos.TaskID{Value: "T"}, State: &state, Reason: of(mesos.TaskStatus_Reason(99)), Source: of(mesos.TaskStatus_Source(9))})
		if diff := cmp.Diff(cluster.Event(cluster.Updated{TaskID: "T", State: name, Reason: "99", Source: "9"}), got); diff != "" {
			t.Errorf("state %d (-want +got):\n%s", state, diff)
		}
	}
}

// throughTheWire encodes an update and reads it as if it had come from a master.
func throughTheWire(t *testing.T, status mesos.TaskStatus) cluster.Event {
	t.Helper()
	data, err := (&scheduler.Event{Type: scheduler.Event_UPDATE, Update: &scheduler.Event_Update{Status: status}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	event, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return convertEvent(event, "ml")
}

func TestEveryStateOfTheCoreHasItsName(t *testing.T) {
	for value, name := range mesos.TaskState_name {
		if !cluster.State(name).Known() {
			t.Errorf("state %d, %s, is not known to the core", value, name)
		}
	}
}

var launch = cluster.Launch{
	TaskID: "ctr.a1b2c3.worker-1.2", Task: tf.TaskName{JobName: "worker", TaskIndex: 1},
	Parts: []offer.Part{{Resources: offer.Resources{CPUs: 1500, Mem: 2048000, GPUs: 1000}}}, Argv: []string{"/opt/sidecar", "-v"},
	Env: []cluster.EnvVar{{Name: "A", Value: "b=c\n"}, {Name: "EMPTY", Value: ""}}, User: "alice", KillGrace: 15 * time.Second,
	Labels: []cluster.EnvVar{{Name: "tfmesos", Value: "ctr"}},
}

func TestALaunchBecomesATask(t *testing.T) {
	got, err := convertCall(cluster.Accept{OfferIDs: []string{"O1", "O2"}, AgentID: "A", Role: "ml", Launches: []cluster.Launch{launch}, RefuseSeconds: 0}, "F", "ml")
	if err != nil {
		t.Fatal(err)
	}
	task := mesos.TaskInfo{
		Name: "worker:1", TaskID: mesos.TaskID{Value: "ctr.a1b2c3.worker-1.2"}, AgentID: mesos.AgentID{Value: "A"},
		Resources: []mesos.Resource{amount("cpus", 1.5), amount("mem", 2048), amount("gpus", 1)},
		Command: &mesos.CommandInfo{Shell: of(false), Value: of("/opt/sidecar"), Arguments: []string{"/opt/sidecar", "-v"}, User: of("alice"),
			Environment: &mesos.Environment{Variables: []mesos.Environment_Variable{{Name: "A", Value: of("b=c\n")}, {Name: "EMPTY", Value: of("")}}}},
		KillPolicy: &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: 15e9}},
		Labels:     &mesos.Labels{Labels: []mesos.Label{{Key: "tfmesos", Value: of("ctr")}}},
	}
	want := &scheduler.Call{Type: scheduler.Call_ACCEPT, FrameworkID: &mesos.FrameworkID{Value: "F"}, Accept: &scheduler.Call_Accept{
		OfferIDs:   []mesos.OfferID{{Value: "O1"}, {Value: "O2"}},
		Operations: []mesos.Offer_Operation{{Type: mesos.Offer_Operation_LAUNCH, Launch: &mesos.Offer_Operation_Launch{TaskInfos: []mesos.TaskInfo{task}}}},
		Filters:    &mesos.Filters{RefuseSeconds: of(0.0)},
	}}
	if !want.Equal(got) {
		t.Errorf("ACCEPT is\n%v\nwant\n%v", got, want)
	}
}

func TestContainersOfALaunch(t *testing.T) {
	l := launch
	if got := container(&l); got != nil {
		t.Errorf("a plain command has the container %v", got)
	}
	l.Image = "tensorflow/tensorflow:2.21.0"
	l.Volumes = []cluster.Volume{{HostPath: "/data", ContainerPath: "/in", ReadOnly: true}, {HostPath: "/out", ContainerPath: "/out"}}
	volumes := []mesos.Volume{{Mode: mesos.RO.Enum(), HostPath: of("/data"), ContainerPath: "/in"}, {Mode: mesos.RW.Enum(), HostPath: of("/out"), ContainerPath: "/out"}}
	want := &mesos.ContainerInfo{Type: mesos.ContainerInfo_MESOS.Enum(), Volumes: volumes, Mesos: &mesos.ContainerInfo_MesosInfo{
		Image: &mesos.Image{Type: mesos.Image_DOCKER.Enum(), Docker: &mesos.Image_Docker{Name: l.Image}, Cached: of(true)}}}
	if got := container(&l); !want.Equal(got) {
		t.Errorf("the Mesos containerizer gets\n%v\nwant\n%v", got, want)
	}
	l.Docker, l.Parameters = true, []cluster.Parameter{{Key: "shm-size", Value: "8g"}, {Key: "ulimit", Value: "memlock=-1"}}
	want = &mesos.ContainerInfo{Type: mesos.ContainerInfo_DOCKER.Enum(), Volumes: volumes,
		Docker: &mesos.ContainerInfo_DockerInfo{Image: l.Image, Network: mesos.ContainerInfo_DockerInfo_HOST.Enum(), ForcePullImage: of(false),
			Parameters: []mesos.Parameter{{Key: "entrypoint", Value: "/opt/sidecar"}, {Key: "shm-size", Value: "8g"}, {Key: "ulimit", Value: "memlock=-1"}}}}
	if got := container(&l); !want.Equal(got) {
		t.Errorf("the Docker containerizer gets\n%v\nwant\n%v", got, want)
	}
}

func TestKnownFault012ContainersPullWhenTold(t *testing.T) {
	for _, force := range []bool{false, true} {
		l := launch
		l.Image, l.ForcePull = "tf:2", force
		if got := container(&l).Mesos.Image.GetCached(); got == force {
			t.Errorf("force_pull_image %v: the Mesos containerizer is told cached %v", force, got)
		}
		l.Docker = true
		docker := container(&l).Docker
		if docker.GetForcePullImage() != force {
			t.Errorf("force_pull_image %v: the Docker containerizer gets %v", force, docker)
		}
	}
}

func TestKnownFault011TheHostsNetworkHasNoPortMappings(t *testing.T) {
	l := launch
	l.Image, l.Docker = "tf:2", true
	docker := container(&l).Docker
	if docker.GetNetwork() != mesos.ContainerInfo_DockerInfo_HOST || len(docker.PortMappings) > 0 || docker.GetPrivileged() {
		t.Errorf("the Docker containerizer gets %v, want the host's network without port mappings, and no privilege", docker)
	}
}

func TestDockerGetsTheProgramAsEntrypointAndItsArgumentsOnce(t *testing.T) {
	l := launch
	l.Image, l.Docker, l.Argv = "tf:2", true, []string{"/opt/sidecar", "-v"}
	if info := command(&l); info.Value != nil || !cmp.Equal(info.Arguments, []string{"-v"}) {
		t.Errorf("Docker gets the command %v, want the argument -v alone: it puts value and arguments behind the image", info)
	}
	if got, want := container(&l).Docker.Parameters, []mesos.Parameter{{Key: "entrypoint", Value: "/opt/sidecar"}}; !cmp.Equal(got, want) {
		t.Errorf("the parameters of Docker are %v, want %v", got, want)
	}
}

func TestTheEntrypointOfAnImageIsNotReplaced(t *testing.T) {
	l := launch
	l.Image, l.Argv = "tf:2", nil
	info, err := convertLaunch(&l, "A", "*")
	if err != nil {
		t.Fatal(err)
	}
	if info.Command.Value != nil || info.Command.GetShell() || len(info.Command.Arguments) > 0 {
		t.Errorf("the command is %v, want none: the image has its own", info.Command)
	}
}

func TestKnownFault008WhatIsFetchedIsPassedOnByteByByte(t *testing.T) {
	l := launch
	l.URIs = []cluster.URI{{Value: "https://h/a.tgz?sig=a%2Bb&x=1", Extract: true}, {Value: "https://h/b.txt#f", Cache: true, OutputFile: "x/b"}, {Value: "http://h/t", Executable: true}}
	want := []mesos.CommandInfo_URI{
		{Value: "https://h/a.tgz?sig=a%2Bb&x=1", Extract: of(true), Executable: of(false), Cache: of(false)},
		{Value: "https://h/b.txt#f", Extract: of(false), Executable: of(false), Cache: of(true), OutputFile: of("x/b")},
		{Value: "http://h/t", Extract: of(false), Executable: of(true), Cache: of(false)},
	}
	if diff := cmp.Diff(want, command(&l).URIs); diff != "" {
		t.Errorf("the fetcher gets (-want +got):\n%s", diff)
	}
}

func TestCallsThatAreNoLaunch(t *testing.T) {
	for _, c := range []struct {
		call cluster.Call
		want *scheduler.Call
	}{
		{cluster.Decline{OfferIDs: []string{"O"}, RefuseSeconds: 3600}, &scheduler.Call{Type: scheduler.Call_DECLINE,
			Decline: &scheduler.Call_Decline{OfferIDs: []mesos.OfferID{{Value: "O"}}, Filters: &mesos.Filters{RefuseSeconds: of(3600.0)}}}},
		{cluster.Acknowledge{TaskID: "T", AgentID: "A", UUID: []byte("0123456789abcdef")}, &scheduler.Call{Type: scheduler.Call_ACKNOWLEDGE,
			Acknowledge: &scheduler.Call_Acknowledge{TaskID: mesos.TaskID{Value: "T"}, AgentID: mesos.AgentID{Value: "A"}, UUID: []byte("0123456789abcdef")}}},
		{cluster.Reconcile{}, &scheduler.Call{Type: scheduler.Call_RECONCILE, Reconcile: &scheduler.Call_Reconcile{}}},
		{cluster.Reconcile{Tasks: []cluster.TaskRef{{TaskID: "T", AgentID: "A"}, {TaskID: "U"}}}, &scheduler.Call{Type: scheduler.Call_RECONCILE,
			Reconcile: &scheduler.Call_Reconcile{Tasks: []scheduler.Call_Reconcile_Task{
				{TaskID: mesos.TaskID{Value: "T"}, AgentID: &mesos.AgentID{Value: "A"}}, {TaskID: mesos.TaskID{Value: "U"}}}}}},
		{cluster.Kill{TaskID: "T", Grace: -time.Second}, &scheduler.Call{Type: scheduler.Call_KILL,
			Kill: &scheduler.Call_Kill{TaskID: mesos.TaskID{Value: "T"}, KillPolicy: &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{}}}}},
		{cluster.Suppress{}, &scheduler.Call{Type: scheduler.Call_SUPPRESS, Suppress: &scheduler.Call_Suppress{Roles: []string{"ml"}}}},
		{cluster.Revive{}, &scheduler.Call{Type: scheduler.Call_REVIVE, Revive: &scheduler.Call_Revive{Roles: []string{"ml"}}}},
		{cluster.Teardown{}, &scheduler.Call{Type: scheduler.Call_TEARDOWN}},
	} {
		c.want.FrameworkID = &mesos.FrameworkID{Value: "F"}
		if got, err := convertCall(c.call, "F", "ml"); err != nil || !c.want.Equal(got) {
			t.Errorf("%#v becomes\n%v, %v\nwant\n%v", c.call, got, err, c.want)
		}
	}
}
