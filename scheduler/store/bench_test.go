package store

import (
	"testing"

	"tfmesos/scheduler/cluster"
)

// A Save lies on the way of every start, several times.
func BenchmarkSaveOfFourTasks(b *testing.B) {
	e, err := StartEmbedded()
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	s, err := Open(b.Context(), e.URL(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	lease, err := s.Acquire(b.Context(), "ctr", ThisProcess())
	if err != nil {
		b.Fatal(err)
	}
	spec := cluster.Spec{Name: "ctr", Jobs: []cluster.Job{{Name: "chief", Num: 1}, {Name: "ps", Num: 1}, {Name: "worker", Num: 2}}}
	waiting := cluster.New(spec, 1, "0a1b2c", cluster.Settings{}, start)
	staging := waiting.Clone()
	for i := range staging.Tasks {
		t := &staging.Tasks[i]
		t.Phase, t.Launch, t.TaskID, t.AgentID, t.Hostname = cluster.TaskStaging, 1, "ctr.0a1b2c.x-0.1", "S1", "a7.lab"
	}
	notes := []cluster.Note{{Kind: "a"}, {Kind: "b"}, {Kind: "c"}, {Kind: "d"}}
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			if err := lease.Save(b.Context(), nil, waiting, notes); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("change", func(b *testing.B) {
		from, to := waiting, staging
		for b.Loop() {
			if err := lease.Save(b.Context(), from, to, notes); err != nil {
				b.Fatal(err)
			}
			from, to = to, from
		}
	})
	b.Run("renewal", func(b *testing.B) {
		for b.Loop() {
			if err := lease.Renew(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
