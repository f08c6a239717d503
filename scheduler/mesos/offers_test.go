package mesos

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mesos/mesos-go/api/v1/lib"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/shared/tf"
)

// reservations are the ways in which something can be reserved for a/b, or for a, which it may use too.
var reservations = map[string]func(*mesos.Resource){
	"static":            func(r *mesos.Resource) { r.Role = of("a/b") },
	"static, of parent": func(r *mesos.Resource) { r.Role = of("a") },
	"dynamic": func(r *mesos.Resource) {
		r.Role, r.Reservation = of("a/b"), &mesos.Resource_ReservationInfo{Principal: of("ops"), Labels: &mesos.Labels{Labels: []mesos.Label{{Key: "for", Value: of("ml")}}}}
	},
	"refined": func(r *mesos.Resource) {
		r.Reservations = []mesos.Resource_ReservationInfo{{Type: mesos.Resource_ReservationInfo_STATIC.Enum(), Role: of("a")},
			{Type: mesos.Resource_ReservationInfo_DYNAMIC.Enum(), Role: of("a/b"), Principal: of("ops")}}
	},
}

func TestWhatIsReservedForUsIsLaunchedAsItWasOffered(t *testing.T) {
	allocated := func(r *mesos.Resource) { r.AllocationInfo.Role = of("a/b") }
	for name, reserved := range reservations {
		o := mesos.Offer{ID: mesos.OfferID{Value: "O"}, AgentID: mesos.AgentID{Value: "A"}, AllocationInfo: &mesos.Resource_AllocationInfo{Role: of("a/b")},
			Resources: []mesos.Resource{amount("cpus", 1, allocated), amount("cpus", 2, allocated, reserved), amount("mem", 2048, allocated, reserved),
				amount("mem", 100, allocated, func(r *mesos.Resource) { r.Role = of("c") })}}
		task := tf.TaskName{JobName: "worker"}
		m := offer.Match([]offer.Offer{convertOffer(&o, "a/b")}, offer.Gang{Asks: []offer.Ask{{Task: task, Resources: offer.Resources{CPUs: 2500, Mem: 1024000}}}})
		if len(m.Accepts) != 1 {
			t.Fatalf("%s: the task that needs both does not fit: %+v", name, m)
		}
		info, err := convertLaunch(&cluster.Launch{Task: task, Parts: m.Accepts[0].Tasks[0].Parts, Argv: []string{"sidecar"}}, "A", "a/b")
		if err != nil {
			t.Fatal(err)
		}
		want := []mesos.Resource{amount("cpus", 2, allocated, reserved), amount("mem", 1024, allocated, reserved), amount("cpus", 0.5, allocated)}
		if diff := cmp.Diff(want, info.Resources); diff != "" {
			t.Errorf("%s: the task asks for other resources than were offered (-want +got):\n%s", name, diff)
		}
	}
}

func TestKnownFault017AttributesOfEachTypeAreRead(t *testing.T) {
	read := convertAttributes([]mesos.Attribute{
		{Name: "rack", Type: mesos.SCALAR, Scalar: &mesos.Value_Scalar{Value: 109}},
		{Name: "big", Type: mesos.SCALAR, Scalar: &mesos.Value_Scalar{Value: 1000000}},
		{Name: "w", Type: mesos.SCALAR, Scalar: &mesos.Value_Scalar{Value: 0.1 + 0.4}},
		{Name: "os", Type: mesos.TEXT, Text: &mesos.Value_Text{Value: "debian 12"}},
		{Name: "ids", Type: mesos.RANGES, Ranges: &mesos.Value_Ranges{Range: []mesos.Value_Range{{Begin: 7, End: 9}, {Begin: 1, End: math.MaxUint64}}}},
		{Name: "disks", Type: mesos.SET, Set: &mesos.Value_Set{Item: []string{"ssd", "hdd"}}},
		{Name: "nothing", Type: mesos.TEXT},
		{Name: "empty", Type: mesos.TEXT, Text: &mesos.Value_Text{}},
		{Name: "later", Type: mesos.Value_Type(99)},
	})
	want := []offer.Attribute{
		{Name: "rack", Values: []string{"109"}}, {Name: "big", Values: []string{"1000000"}}, {Name: "w", Values: []string{"0.5"}},
		{Name: "os", Values: []string{"debian 12"}}, {Name: "ids", Ranges: []offer.Range{{Begin: 7, End: 9}, {Begin: 1, End: math.MaxUint64}}},
		{Name: "disks", Values: []string{"ssd", "hdd"}}, {Name: "nothing"}, {Name: "empty"}, {Name: "later"},
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("attributes are read wrongly (-want +got):\n%s", diff)
	}
}
