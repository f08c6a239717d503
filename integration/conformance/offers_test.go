//go:build integration

package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

var offerStories = []told{
	{"an-offer", anOffer, []codec{protobuf}},
	{"an-offer-in-json", anOffer, []codec{jsonText}},
	{"an-offer-for-a-role", anOfferForARole, []codec{protobuf}},
	{"an-offer-in-the-new-format", anOfferInTheNewFormat, []codec{protobuf}},
	{"a-filter", aFilter, both},
	{"a-filter-lets-more-through", aFilterLetsMoreThrough, both},
	{"suppress-and-revive", suppressAndRevive, both},
	{"suppressed-when-subscribed", suppressedWhenSubscribed, both},
	{"roles-of-others", rolesOfOthers, both},
	{"bad-offers", badOffers, both},
	{"bad-offers-of-an-old-framework", badOffersOfAnOldFramework, both},
	{"two-roles-in-one-accept", twoRolesInOneAccept, both},
	{"tasks-that-are-refused", tasksThatAreRefused, both},
	{"tasks-with-images-and-such", tasksWithImagesAndSuch, both},
	{"tasks-that-want-more-than-was-offered", tasksThatWantMore, both},
	{"a-negative-amount", aNegativeAmount, both},
	{"a-launch-with-an-operation-id", aLaunchWithAnOperationID, both},
	{"reserve", reserve, both},
	{"what-is-left-of-an-offer", whatIsLeftOfAnOffer, both},
}

func anOffer(s *story) {
	c := s.subscribe(modern)
	c.wholeOffer()
	s.whole = true
	s.event(c.offers)
}

func anOfferForARole(s *story) {
	c := s.subscribe(modern, roles("a"))
	c.wholeOffer()
	s.whole = true
	s.event(c.offers)
}

func anOfferInTheNewFormat(s *story) {
	c := s.subscribe(modern, roles("a"), capable(mesos.FrameworkInfo_Capability_RESERVATION_REFINEMENT))
	c.wholeOffer()
	s.whole = true
	s.event(c.offers)
}

// passed writes down that what c does not want is offered to another: so c is not offered it, though it could be.
func (s *story) passed(c *client) *client {
	s.t.Helper()
	other := s.subscribe(modern)
	s.note("another framework is offered:")
	other.offered()
	s.note("and the first one:")
	c.quiet()
	other.call(&scheduler.Call{Type: scheduler.Call_TEARDOWN})
	other.id = ""
	return other
}

func aFilter(s *story) {
	c := s.subscribe(modern)
	c.decline(c.wholeOffer(), 3600)
	s.passed(c)
	c.call(&scheduler.Call{Type: scheduler.Call_REVIVE, Revive: &scheduler.Call_Revive{Roles: []string{"none-of-its"}}})
	s.passed(c)
	c.call(&scheduler.Call{Type: scheduler.Call_REVIVE})
	c.decline(c.offered(), 0)
	c.decline(c.offered(), 0)
	c.offered()
}

func aFilterLetsMoreThrough(s *story) {
	c := s.subscribe(modern)
	c.launch("sleep 1000", "one", "two") // refuses the rest for an hour
	c.ack(c.running())
	c.ack(c.running())
	s.passed(c)
	c.kill("one", c.agent, time.Hour)
	c.acked()
	c.acked()
	c.offered()
}

func suppressAndRevive(s *story) {
	c := s.subscribe(modern)
	o := c.wholeOffer()
	c.call(&scheduler.Call{Type: scheduler.Call_SUPPRESS})
	s.note("an offer is not taken back by SUPPRESS:")
	c.quiet()
	c.decline(o, 0)
	s.passed(c)
	c.call(&scheduler.Call{Type: scheduler.Call_REVIVE})
	c.offered()
}

func suppressedWhenSubscribed(s *story) {
	s.suppressed = []string{"a"}
	c := s.subscribe(modern, roles("a", "b"))
	c.decline(c.offered(), 3600)
	c.call(&scheduler.Call{Type: scheduler.Call_REVIVE, Revive: &scheduler.Call_Revive{Roles: []string{"a"}}})
	c.offered()
}

// rolesOfOthers: one bad role voids the whole call, silently.
func rolesOfOthers(s *story) {
	c := s.subscribe(modern, roles("a"))
	o := c.wholeOffer()
	status, text := c.try(&scheduler.Call{Type: scheduler.Call_SUPPRESS, Suppress: &scheduler.Call_Suppress{Roles: []string{"a", "x"}}})
	s.note("SUPPRESS: %d %q", status, text)
	c.decline(o, 0)
	c.offered()
}

func badOffers(s *story) {
	c := s.subscribe(modern)
	try := func(name string, with func(mesos.Offer) []mesos.Offer) {
		s.t.Helper()
		s.note("%s:", name)
		o := c.wholeOffer()
		c.accept(with(o), c.task("one", "true"), c.task("two", "true"))
		c.update()
		c.update()
		c.quiet()
	}
	unknown := mesos.Offer{ID: mesos.OfferID{Value: "x"}}
	try("an unknown offer", func(o mesos.Offer) []mesos.Offer { return []mesos.Offer{unknown} })
	c.call(&scheduler.Call{Type: scheduler.Call_TEARDOWN})
	c = s.subscribe(modern)
	try("a good offer and an unknown one", func(o mesos.Offer) []mesos.Offer { return []mesos.Offer{o, unknown} })
	try("an offer twice", func(o mesos.Offer) []mesos.Offer { return []mesos.Offer{o, o} })
	s.note("the offers come back, with no filter")
	o := c.wholeOffer()
	s.note("no offer at all:")
	c.accept(nil, c.task("one", "true"))
	c.update()
	c.decline(o, 0)
	s.note("an offer that was declined:")
	c.accept([]mesos.Offer{o}, c.task("one", "true"))
	c.update()
}

func badOffersOfAnOldFramework(s *story) {
	c := s.subscribe()
	o := c.wholeOffer()
	c.accept([]mesos.Offer{o, o}, c.task("one", "true"))
	c.update()
}

func twoRolesInOneAccept(s *story) {
	c := s.subscribe(modern, roles("a", "b"))
	first := c.wholeOffer()
	task := c.task("half", "sleep 1000")
	c.acceptFor(0, []mesos.Offer{first}, mesos.Offer_Operation{Type: mesos.Offer_Operation_LAUNCH, Launch: &mesos.Offer_Operation_Launch{TaskInfos: []mesos.TaskInfo{task}}})
	c.acked()
	one := c.offer()
	c.kill("half", c.agent, time.Hour)
	c.acked()
	c.acked()
	two := c.offer()
	for two.AllocationInfo.GetRole() == one.AllocationInfo.GetRole() {
		c.decline(two, 3600)
		two = c.offer()
	}
	c.accept([]mesos.Offer{one, two}, c.task("both", "true"))
	status := c.next(scheduler.Event_UPDATE)
	s.alias("O", two.ID.Value)
	s.event(status)
}

func tasksThatAreRefused(s *story) {
	c := s.subscribe(modern)
	o := c.wholeOffer()
	value := func(s string) *string { return &s }
	var tasks []mesos.TaskInfo
	add := func(id string, change func(*mesos.TaskInfo)) {
		task := c.task(id, "sleep 1000")
		change(&task)
		tasks = append(tasks, task)
	}
	add("a/b", func(*mesos.TaskInfo) {})
	add("..", func(*mesos.TaskInfo) {})
	add("", func(*mesos.TaskInfo) {})
	add(strings.Repeat("x", 256), func(*mesos.TaskInfo) {})
	add("agent", func(i *mesos.TaskInfo) { i.AgentID.Value = "other" })
	add("nothing", func(i *mesos.TaskInfo) { i.Command = nil })
	add("grace", func(i *mesos.TaskInfo) {
		i.KillPolicy = &mesos.KillPolicy{GracePeriod: &mesos.DurationInfo{Nanoseconds: -1}}
	})
	add("free", func(i *mesos.TaskInfo) { i.Resources = nil })
	add("half-a-gpu", func(i *mesos.TaskInfo) { i.Resources = append(i.Resources, scalar("gpus", 0.5)) })
	add("role", func(i *mesos.TaskInfo) {
		i.Resources[0].AllocationInfo = &mesos.Resource_AllocationInfo{Role: value("x")}
	})
	add("good", func(i *mesos.TaskInfo) { i.Resources[0].Scalar.Value = 3.9999 }) // is 4 at three decimals
	add("good", func(i *mesos.TaskInfo) { i.Resources[0].Scalar.Value = 0.001 })
	c.accept([]mesos.Offer{o}, tasks...)
	for range len(tasks) - 1 {
		c.update()
	}
	c.acked()
	c.quiet()
}

// tasksWithImagesAndSuch are what the local Mesos has no means for, and Mesos has.
func tasksWithImagesAndSuch(s *story) {
	c := s.subscribe(modern)
	o := c.wholeOffer()
	long := c.task("long", "true")
	long.MaxCompletionTime = &mesos.DurationInfo{Nanoseconds: -1}
	limits := c.task("limits", "true")
	limits.Limits = map[string]mesos.Value_Scalar{"mem": {Value: 128}}
	volume := c.task("volume", "true")
	volume.Container = &mesos.ContainerInfo{Type: mesos.ContainerInfo_MESOS.Enum(), Volumes: []mesos.Volume{{ContainerPath: "x", Mode: mesos.RW.Enum()}}}
	c.accept([]mesos.Offer{o}, long, limits, volume)
	seen := map[string]bool{}
	var said []string
	for len(seen) < 3 {
		status := c.next(scheduler.Event_UPDATE).Update.Status
		if status.UUID != nil {
			c.ack(&status)
		}
		if seen[status.TaskID.Value] || status.GetState() == mesos.TASK_STARTING {
			continue
		}
		seen[status.TaskID.Value] = true
		if status.GetState() == mesos.TASK_ERROR {
			said = append(said, fmt.Sprintf("%s: %s %q", status.TaskID.Value, status.GetState(), status.GetMessage()))
		} else {
			said = append(said, status.TaskID.Value+" is taken")
		}
	}
	slices.Sort(said) // the master answers before the agent, or after it
	s.lines = append(s.lines, said...)
}

func tasksThatWantMore(s *story) {
	c := s.subscribe(modern)
	o := c.wholeOffer()
	var tasks []mesos.TaskInfo
	add := func(id string, change func(*mesos.TaskInfo)) {
		task := c.task(id, "sleep 1000")
		change(&task)
		tasks = append(tasks, task)
	}
	other := "x"
	add("ports", func(i *mesos.TaskInfo) { i.Resources[0].Name = "ports" })
	add("reserved", func(i *mesos.TaskInfo) { i.Resources[0].Role = &other })
	add("much", func(i *mesos.TaskInfo) { i.Resources[0].Scalar.Value = 4.001 })
	add("a-gpu", func(i *mesos.TaskInfo) { i.Resources = append(i.Resources, scalar("gpus", 1)) })
	add("good", func(i *mesos.TaskInfo) { i.Resources[0].Scalar.Value = 4 })
	add("late", func(*mesos.TaskInfo) {})
	c.accept([]mesos.Offer{o}, tasks...)
	for range len(tasks) - 1 {
		c.update()
	}
	c.acked()
}

// aNegativeAmount spoils a whole operation.
func aNegativeAmount(s *story) {
	c := s.subscribe(modern)
	o := c.wholeOffer()
	task := c.task("bad", "true")
	task.Resources[0].Scalar.Value = -1
	c.accept([]mesos.Offer{o}, c.task("good", "sleep 1000"), task)
	c.update()
	c.update()
	c.quiet()
}

func aLaunchWithAnOperationID(s *story) {
	c := s.subscribe(modern, roles("a"))
	o := c.wholeOffer()
	c.acceptFor(0, []mesos.Offer{o}, mesos.Offer_Operation{Type: mesos.Offer_Operation_LAUNCH, ID: &mesos.OperationID{Value: "op"},
		Launch: &mesos.Offer_Operation_Launch{TaskInfos: []mesos.TaskInfo{c.task("one", "true")}}})
	c.update()
	c.wholeOffer()
	s.note("the offer is back")
}

func reserve(s *story) {
	c := s.subscribe(modern, roles("a"))
	o := c.wholeOffer()
	principal := principal
	reserved := scalar("cpus", 100)
	reserved.Role, reserved.Reservation = o.AllocationInfo.Role, &mesos.Resource_ReservationInfo{Principal: &principal}
	reserved.AllocationInfo = o.AllocationInfo
	c.acceptFor(0, []mesos.Offer{o}, mesos.Offer_Operation{Type: mesos.Offer_Operation_RESERVE, ID: &mesos.OperationID{Value: "op"},
		Reserve: &mesos.Offer_Operation_Reserve{Resources: []mesos.Resource{reserved}}})
	c.write(scheduler.Event_UPDATE_OPERATION_STATUS)
	c.wholeOffer()
	s.note("the offer is back")
}

func whatIsLeftOfAnOffer(s *story) {
	c := s.subscribe(modern)
	o := c.wholeOffer()
	c.acceptFor(0, []mesos.Offer{o}, mesos.Offer_Operation{Type: mesos.Offer_Operation_LAUNCH, Launch: &mesos.Offer_Operation_Launch{TaskInfos: []mesos.TaskInfo{c.task("one", "sleep 1000")}}})
	c.acked()
	rest := c.offered()
	s.note("an ACCEPT without operations declines:")
	c.acceptFor(3600, []mesos.Offer{rest})
	s.passed(c)
}
