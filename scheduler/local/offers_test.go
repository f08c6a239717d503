package local

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

func TestADeclinedOfferStaysAwayUntilRevivedOrTimeHasPassed(t *testing.T) {
	m := startMesos(t)
	m.set(func(t *timing) { t.refuseMin = time.Millisecond })
	c := subscribe(t, m, modern)
	first := c.offer()
	c.decline(first, 3600)
	c.quiet()
	c.call(&scheduler.Call{Type: scheduler.Call_REVIVE, Revive: &scheduler.Call_Revive{Roles: []string{"none of its roles"}}})
	c.quiet()
	c.call(&scheduler.Call{Type: scheduler.Call_REVIVE})
	second := c.offer()
	if first.ID == second.ID {
		t.Error("a new offer has the id of an old one")
	}
	c.decline(second, 0.02)
	c.decline(c.offer(), 0)
	c.offer()
}

func TestAFilterLetsThroughWhatIsMoreThanItRefused(t *testing.T) {
	c := subscribe(t, startMesos(t), capable(mesos.FrameworkInfo_Capability_PARTITION_AWARE))
	c.launch("sleep 1000", "one", "two") // refuses the other 2 cpus for an hour
	c.status("one", mesos.TASK_RUNNING)  // without acknowledgement no more of it comes
	c.status("two", mesos.TASK_RUNNING)
	c.quiet()
	c.kill("one", 0)
	if o := c.offer(); cpus(o) != 3 {
		t.Errorf("%g cpus are offered after the end of a task, want the 2 refused and its 1", cpus(o))
	}
}

func TestFiltersEndWithTheConnectionAndSuppressionWithTheNextOne(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern, failover(3600))
	c.decline(c.offer(), 3600)
	c.call(&scheduler.Call{Type: scheduler.Call_SUPPRESS})
	c.quiet()
	c.hangUp()
	eventually(t, "the master has seen it", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.frameworks[c.id].stream == nil
	})
	subscribe(t, m, modern, withID(c.id)).offer()
}

func TestASuppressedRoleGetsNoOffersUntilRevived(t *testing.T) {
	m := startMesos(t)
	m.set(func(t *timing) { t.refuseMin = 0 })
	c := subscribe(t, m, modern)
	o := c.offer()
	c.call(&scheduler.Call{Type: scheduler.Call_SUPPRESS})
	c.decline(o, 0)
	c.quiet()
	c.call(&scheduler.Call{Type: scheduler.Call_REVIVE})
	c.offer()
}

func TestSeveralFrameworksAreOfferedInTurn(t *testing.T) {
	m := startMesos(t)
	a, b := subscribe(t, m, modern), subscribe(t, m, modern)
	a.decline(a.offer(), 3600)
	b.decline(b.offer(), 3600)
	a.call(&scheduler.Call{Type: scheduler.Call_REVIVE})
	a.offer()
	b.call(&scheduler.Call{Type: scheduler.Call_REVIVE})
	b.quiet() // all of it is offered to a
}

func TestRolesAndCapabilitiesShapeOffers(t *testing.T) {
	m := startMesos(t, func(c *Config) { c.Attributes = map[string]string{"rack": "r1"} })
	multi := subscribe(t, m, modern, capable(mesos.FrameworkInfo_Capability_MULTI_ROLE, mesos.FrameworkInfo_Capability_RESERVATION_REFINEMENT),
		func(info *mesos.FrameworkInfo) { info.Roles = []string{"b", "a"} })
	first := multi.offer()
	multi.decline(first, 3600)
	second := multi.offer()
	if got := first.AllocationInfo.GetRole() + second.AllocationInfo.GetRole() + second.Resources[0].AllocationInfo.GetRole(); got != "abb" {
		t.Errorf("offers are for the roles %q, want a, then b, on the resources too", got)
	}
	if first.Resources[0].Role != nil || first.Attributes[0].Text.Value != "r1" {
		t.Errorf("the offer is %+v, want no role on resources and the attribute", first)
	}
	task := multi.task("wrong", "true")
	other := "a"
	task.Resources[0].AllocationInfo = &mesos.Resource_AllocationInfo{Role: &other}
	multi.accept([]mesos.Offer{second}, task)
	if got := multi.status("wrong", mesos.TASK_ERROR).GetMessage(); !strings.Contains(got, "multiple allocation roles ('b' and 'a')") {
		t.Errorf("resources of another role: %q", got)
	}
	old := subscribe(t, m, role("x"))
	if o := old.offer(); o.AllocationInfo != nil || o.Resources[0].AllocationInfo != nil || o.Resources[0].GetRole() != "*" {
		t.Errorf("without MULTI_ROLE the offer is %+v", o)
	}
}

func TestAnAgentWithGPUsIsOnlyForThoseWhoKnowThem(t *testing.T) {
	m := startMesos(t, withSMI(t, listOf(2)))
	subscribe(t, m, modern).quiet()
	c := subscribe(t, m, modern, capable(mesos.FrameworkInfo_Capability_GPU_RESOURCES))
	o := c.offer()
	half, one, three := c.task("half", "true"), c.task("one", "sleep 1000"), c.task("three", "true")
	half.Resources = append(half.Resources, scalar("gpus", 0.5))
	one.Resources = append(one.Resources, scalar("gpus", 1))
	three.Resources = append(three.Resources, scalar("gpus", 3))
	c.accept([]mesos.Offer{o}, half, three, one)
	if got := c.status("half", mesos.TASK_ERROR).GetMessage(); got != "Task uses invalid resources: Invalid 'gpus' resource: The 'gpus' resource must be an unsigned integer" {
		t.Errorf("half a gpu: %q", got)
	}
	c.status("three", mesos.TASK_ERROR)
	c.acked("one", mesos.TASK_RUNNING)
}

func TestTasksThatCannotBeAreRefusedAloneAndWithTheReason(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	o := c.offer()
	value := func(s string) *string { return &s }
	var tasks []mesos.TaskInfo
	wants := map[string]string{}
	add := func(id, want string, change func(*mesos.TaskInfo)) {
		task := c.task(id, "sleep 1000")
		change(&task)
		tasks, wants[task.TaskID.Value] = append(tasks, task), want
	}
	const plain = "local mode runs plain commands: "
	add("a/b", "'a/b' contains invalid characters", func(*mesos.TaskInfo) {})
	add("..", "'..' is disallowed", func(*mesos.TaskInfo) {})
	add("", "ID must not be empty", func(*mesos.TaskInfo) {})
	add(strings.Repeat("x", 256), "ID must not be greater than 255 characters", func(*mesos.TaskInfo) {})
	add("agent", "Task uses invalid agent other while agent "+o.AgentID.Value+" is expected", func(i *mesos.TaskInfo) { i.AgentID.Value = "other" })
	add("nothing", "Task should have at least one (but not both) of CommandInfo or ExecutorInfo present", func(i *mesos.TaskInfo) { i.Command = nil })
	add("grace", "Task's 'kill_policy.grace_period' must be non-negative", func(i *mesos.TaskInfo) {
		i.KillPolicy = &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: -1}}
	})
	add("free", "Task uses no resources", func(i *mesos.TaskInfo) { i.Resources = nil })
	add("ports", "Total resources with ports:1 required by task and its executor is more than available cpus 4, mem 1024, disk 100", func(i *mesos.TaskInfo) { i.Resources[0].Name = "ports" })
	add("reserved", "Total resources with cpus(x):1 required by task and its executor is more than available cpus 4, mem 1024, disk 100", func(i *mesos.TaskInfo) { i.Resources[0].Role = value("x") })
	add("much", "Total resources cpus 4.001, mem 32 required by task and its executor is more than available cpus 4, mem 1024, disk 100", func(i *mesos.TaskInfo) { i.Resources[0].Scalar.Value = 4.001 })
	add("docker", plain+"it cannot run the docker image tf:1", func(i *mesos.TaskInfo) {
		i.Container = &mesos.ContainerInfo{Type: mesos.ContainerInfo_DOCKER.Enum(), Docker: &mesos.ContainerInfo_DockerInfo{Image: "tf:1"}}
	})
	add("image", plain+"it cannot run the image tf:2", func(i *mesos.TaskInfo) {
		i.Container = &mesos.ContainerInfo{Type: mesos.ContainerInfo_MESOS.Enum(), Mesos: &mesos.ContainerInfo_MesosInfo{
			Image: &mesos.Image{Type: mesos.Image_DOCKER.Enum(), Docker: &mesos.Image_Docker{Name: "tf:2"}}}}
	})
	add("uri", plain+"it cannot fetch URIs, such as http://x/y", func(i *mesos.TaskInfo) { i.Command.URIs = []mesos.CommandInfo_URI{{Value: "http://x/y"}} })
	add("user", plain+"it cannot run one as another user, no-such-user", func(i *mesos.TaskInfo) { i.Command.User = value("no-such-user") })
	add("executor", plain+"it cannot run an executor", func(i *mesos.TaskInfo) { i.Command, i.Executor = nil, &mesos.ExecutorInfo{} })
	add("volume", plain+"it cannot mount volumes", func(i *mesos.TaskInfo) {
		i.Container = &mesos.ContainerInfo{Type: mesos.ContainerInfo_MESOS.Enum(), Volumes: []mesos.Volume{{ContainerPath: "x", Mode: mesos.RW.Enum()}}}
	})
	add("empty", plain+"the command has no value", func(i *mesos.TaskInfo) { i.Command.Value = nil })
	add("check", plain+"it has no checks", func(i *mesos.TaskInfo) { i.HealthCheck = &mesos.HealthCheck{} })
	add("time", plain+"it has no max_completion_time", func(i *mesos.TaskInfo) { i.MaxCompletionTime = &mesos.DurationInfo{Nanoseconds: 1} })
	add("limits", plain+"it has no resource limits", func(i *mesos.TaskInfo) { i.Limits = map[string]mesos.Value_Scalar{"mem": {Value: 64}} })
	add("secret", plain+"it cannot resolve the secret of variable S", func(i *mesos.TaskInfo) {
		i.Command.Environment = &mesos.Environment{Variables: []mesos.Environment_Variable{{Name: "S", Secret: &mesos.Secret{}}}}
	})
	add("good", "", func(i *mesos.TaskInfo) { i.Resources[0].Scalar.Value = 3.9999 }) // is 4 at three decimals
	add("late", "Total resources cpus 1, mem 32 required by task and its executor is more than available mem 992, disk 100", func(*mesos.TaskInfo) {})
	add("good", "Task has duplicate ID: good", func(i *mesos.TaskInfo) { i.Name = "again" })

	c.accept([]mesos.Offer{o}, tasks...)
	wants["good"] = "Task has duplicate ID: good"
	for range len(tasks) - 1 {
		status := &c.expect(scheduler.Event_UPDATE).Update.Status
		if status.GetState() != mesos.TASK_ERROR || status.GetReason() != mesos.REASON_TASK_INVALID || status.UUID != nil {
			t.Errorf("%s: %+v, want TASK_ERROR, REASON_TASK_INVALID, no uuid", status.TaskID.Value, status)
		}
		if diff := cmp.Diff(wants[status.TaskID.Value], status.GetMessage()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", status.TaskID.Value, diff)
		}
	}
	c.acked("good", mesos.TASK_RUNNING)
}

func TestOneBadOfferSpoilsTheWholeAccept(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*mesos.FrameworkInfo)
		state  mesos.TaskState
		offers func(good mesos.Offer) []mesos.Offer
		why    string
	}{
		{"unknown", modern, mesos.TASK_DROPPED, func(o mesos.Offer) []mesos.Offer { return []mesos.Offer{o, {ID: mesos.OfferID{Value: "x"}}} }, "Offer x is no longer valid"},
		{"twice", modern, mesos.TASK_DROPPED, func(o mesos.Offer) []mesos.Offer { return []mesos.Offer{o, o} }, "Duplicate offer "},
		{"none", modern, mesos.TASK_DROPPED, func(mesos.Offer) []mesos.Offer { return nil }, "No offers specified"},
		{"old framework", func(*mesos.FrameworkInfo) {}, mesos.TASK_LOST, func(o mesos.Offer) []mesos.Offer { return []mesos.Offer{o, o} }, "Duplicate offer "},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := subscribe(t, startMesos(t), test.change)
			offers := test.offers(c.offer())
			c.accept(offers, c.task("one", "true"), c.task("two", "true"))
			for _, id := range []string{"one", "two"} {
				status := c.status(id, test.state)
				if want := "Task launched with invalid offers: " + test.why; !strings.HasPrefix(status.GetMessage(), want) || status.GetReason() != mesos.REASON_INVALID_OFFERS {
					t.Errorf("%v %q, want %q", status.GetReason(), status.GetMessage(), want)
				}
			}
			if len(offers) > 0 {
				c.offer() // back at once, without a filter
			}
			c.quiet()
		})
	}
}

func TestOtherOperationsThanLaunchAreRefusedLoudly(t *testing.T) {
	c := subscribe(t, startMesos(t), modern)
	o := c.offer()
	group := mesos.TaskGroupInfo{Tasks: []mesos.TaskInfo{c.task("one", "true")}}
	c.call(&scheduler.Call{Type: scheduler.Call_ACCEPT, Accept: &scheduler.Call_Accept{OfferIDs: []mesos.OfferID{o.ID}, Operations: []mesos.Offer_Operation{
		{Type: mesos.Offer_Operation_LAUNCH_GROUP, LaunchGroup: &mesos.Offer_Operation_LaunchGroup{TaskGroup: group}},
		{Type: mesos.Offer_Operation_RESERVE, ID: &mesos.OperationID{Value: "op"}, Reserve: &mesos.Offer_Operation_Reserve{}},
		{Type: mesos.Offer_Operation_LAUNCH, ID: &mesos.OperationID{Value: "op2"}, Launch: &mesos.Offer_Operation_Launch{TaskInfos: []mesos.TaskInfo{c.task("two", "true")}}},
	}}})
	if status := c.status("one", mesos.TASK_ERROR); status.GetReason() != mesos.REASON_TASK_GROUP_INVALID {
		t.Errorf("a task group: %+v", status)
	}
	if status := c.expect(scheduler.Event_UPDATE_OPERATION_STATUS).UpdateOperationStatus.Status; status.State != mesos.OPERATION_ERROR || status.OperationID.Value != "op" {
		t.Errorf("RESERVE: %+v", status)
	}
	c.status("two", mesos.TASK_ERROR)
}

func TestAnInvalidResourceSpoilsItsOperation(t *testing.T) {
	c := subscribe(t, startMesos(t), modern)
	o := c.offer()
	for i, bad := range []float64{-1, math.NaN()} {
		one, two := c.task(fmt.Sprint("one", i), "true"), c.task(fmt.Sprint("two", i), "true")
		two.Resources[0].Scalar.Value = bad
		c.accept([]mesos.Offer{o}, one, two)
		for _, id := range []string{one.TaskID.Value, two.TaskID.Value} {
			if got, want := c.status(id, mesos.TASK_ERROR).GetMessage(), fmt.Sprintf("Resource 'cpus:%g' is invalid: Invalid scalar resource: value <= 0", bad); got != want {
				t.Errorf("%s: %q, want %q", id, got, want)
			}
		}
		c.call(&scheduler.Call{Type: scheduler.Call_REVIVE})
		o = c.offer()
	}
}

func TestUpdateFrameworkReplacesRolesAndSuppression(t *testing.T) {
	m := startMesos(t)
	c := subscribe(t, m, modern)
	c.decline(c.offer(), 3600)
	update := func(change func(*mesos.FrameworkInfo), suppressed ...string) *http.Response {
		info := mesos.FrameworkInfo{User: "nobody", Name: "test", ID: &mesos.FrameworkID{Value: c.id}, Principal: &m.config.Principal}
		change(&info)
		return c.post(&scheduler.Call{Type: scheduler.Call_UPDATE_FRAMEWORK, FrameworkID: &mesos.FrameworkID{Value: c.id},
			UpdateFramework: &scheduler.Call_UpdateFramework{FrameworkInfo: info, SuppressedRoles: suppressed}})
	}
	if r := update(role("new")); r.StatusCode != 200 || body(r) != "" || r.Header.Get("Content-Type") != "" {
		t.Errorf("%s %v, want 200 without content", r.Status, r.Header)
	}
	c.offer() // the filter was for the old role
	yes, other := true, "other"
	for _, test := range []struct {
		response *http.Response
		want     string
	}{
		{update(role("-bad")), "Supplied FrameworkInfo is not valid: 'FrameworkInfo.role' is not a valid role: Role component '-bad' is invalid because it starts with a dash"},
		{update(role("new"), "x"), "Supplied FrameworkInfo is not valid: Suppressed role 'x' is not contained in the list of roles"},
		{update(withID("y")), "Failed to validate scheduler::Call: 'framework_id' differs from 'update_framework.framework_info.id'"},
		{update(func(i *mesos.FrameworkInfo) { i.Principal = &other }), "FrameworkInfo update is not valid: Changing framework's principal is not allowed."},
		{update(func(i *mesos.FrameworkInfo) { i.User = "x" }), "FrameworkInfo update is not valid: Updating 'FrameworkInfo.user' is unsupported; attempted to update from 'nobody' to 'x'"},
		{update(func(i *mesos.FrameworkInfo) { i.Checkpoint = &yes }), "FrameworkInfo update is not valid: Updating 'FrameworkInfo.checkpoint' is unsupported; attempted to update from 'false' to 'true'"},
	} {
		if got := body(test.response); test.response.StatusCode != 400 || got != test.want {
			t.Errorf("%s %q, want 400 %q", test.response.Status, got, test.want)
		}
	}
}
