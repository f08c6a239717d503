package store

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
	"tfmesos/scheduler/reconcile"
	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// ofTheProcess are the fields of a Cluster that are never stored.
var ofTheProcess = []string{"Settings", "Connected", "Offers", "Round", "AskedAt", "AwayWhy", "Suppress", "ReviveAt", "Seen", "SeenAt", "Told", "Draws", "SuppressAt", "Filtered", "WatchAt", "Watches", "Hurry", "Driving", "Probing"}

// stored returns the cluster without what is never stored.
func stored(c *cluster.Cluster) *cluster.Cluster {
	d := *c
	v := reflect.ValueOf(&d).Elem()
	for _, name := range ofTheProcess {
		v.FieldByName(name).SetZero()
	}
	d.Tasks = slices.Clone(d.Tasks)
	for i := range d.Tasks {
		d.Tasks[i].Wait = nil // stored for people, and made anew by the next offer
	}
	return &d
}

// difference tells how what was loaded differs from what was saved, "" if it does not.
func difference(saved, loaded *cluster.Cluster) string {
	return cmp.Diff(stored(saved), stored(loaded), cmpopts.IgnoreUnexported(reconcile.Round{}))
}

func TestEachFieldIsStored(t *testing.T) {
	c := training("ctr")
	complete(c)
	c.Phase = cluster.PhaseEnding
	task := &c.Tasks[0]
	task.Ended, task.Grouped = &callback.PhaseReport{}, `{"zone":"a"}`
	for _, v := range []any{c, &c.Framework, task, task.Ended} {
		fill(reflect.ValueOf(v).Elem(), "x")
	}
	s := open(t, startEmbedded(t))
	lease, err := s.Acquire(t.Context(), "ctr", anyLeader(1))
	if err != nil {
		t.Fatal(err)
	}
	save(t, lease, nil, c)
	if diff := difference(c, load(t, s, "ctr").Cluster); diff != "" {
		t.Errorf("a field is not stored: add it to statusFields, frameworkFields or taskFields, or to ofTheProcess here:\n%s", diff)
	}
	owner := Owner{}
	fill(reflect.ValueOf(&owner).Elem(), "x")
	owner.Argv, owner.Labels = []string{"a", "b c"}, map[string]string{"k": "v"}
	if err := lease.SaveOwner(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(owner, load(t, s, "ctr").Owner); diff != "" {
		t.Errorf("a field of the owner is not stored:\n%s", diff)
	}
	leader := load(t, s, "ctr").Leader
	for i := range reflect.TypeFor[Leader]().NumField() {
		if reflect.ValueOf(leader).Field(i).IsZero() {
			t.Errorf("Leader.%s is not stored", reflect.TypeFor[Leader]().Field(i).Name)
		}
	}
}

// fill sets each field that is zero to something.
func fill(v reflect.Value, text string) {
	for i := range v.NumField() {
		f := v.Field(i)
		if !f.CanSet() || !f.IsZero() {
			continue
		}
		switch {
		case f.Type() == reflect.TypeFor[time.Time]():
			f.Set(reflect.ValueOf(start.Add(time.Duration(i) * time.Millisecond)))
		case f.Kind() == reflect.String:
			f.SetString(text)
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case f.CanInt():
			f.SetInt(int64(i + 1))
		}
	}
}

func TestWhatIsSavedIsLoadedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		rapid.Check(t, func(t *rapid.T) {
			spec := aSpec(t)
			a := aCluster(t, spec)
			check(t, r.store, lease, nil, a)
			b := a.Clone()
			changed := aCluster(t, spec)
			for i := range b.Tasks {
				if rapid.Bool().Draw(t, "changes") {
					b.Tasks[i] = changed.Tasks[i]
				}
			}
			check(t, r.store, lease, a, b)
			check(t, r.store, lease, b, changed)
			check(t, r.store, lease, changed, changed)
		})
	})
}

func check(t *rapid.T, s *Store, lease *Lease, before, after *cluster.Cluster) {
	if err := lease.Save(t.Context(), before, after, nil); err != nil {
		t.Fatal(err)
	}
	record, err := s.Load(t.Context(), "ctr")
	if err != nil {
		t.Fatal(err)
	}
	if diff := difference(after, record.Cluster); diff != "" {
		t.Fatalf("not as it was saved:\n%s", diff)
	}
}

func aTime(t *rapid.T) time.Time {
	if rapid.IntRange(0, 3).Draw(t, "no time") == 0 {
		return time.Time{}
	}
	return time.Unix(0, rapid.Int64Range(1, 4e18).Draw(t, "nanoseconds")).UTC()
}

func aText(t *rapid.T) string { return rapid.String().Draw(t, "text") }

func aCount(t *rapid.T) int { return rapid.IntRange(0, 1<<40).Draw(t, "count") }

func aSpec(t *rapid.T) cluster.Spec {
	spec := cluster.Spec{Name: "ctr", Image: aText(t), Containerizer: aText(t), Role: aText(t), Dir: aText(t)}
	spec.Deadlines.Run = time.Duration(rapid.Int64Min(0).Draw(t, "deadline"))
	for i, name := range []string{"chief", "ps", "worker"}[:rapid.IntRange(1, 3).Draw(t, "jobs")] {
		job := cluster.Job{Name: name, Num: rapid.IntRange(0, 3).Draw(t, "num"), Image: aText(t), Side: i == 1}
		job.Resources = offer.Resources{CPUs: offer.Milli(aCount(t)), GPUs: offer.Milli(aCount(t))}
		if rapid.Bool().Draw(t, "has command") {
			value := aText(t)
			job.Command = []string{"/bin/sh", "-c", aText(t)}
			job.Env = map[string]*string{aText(t): &value, "SECRET": nil}
			job.Volumes = []cluster.Volume{{HostPath: aText(t), ContainerPath: "/c", ReadOnly: true}}
		}
		spec.Jobs = append(spec.Jobs, job)
	}
	return spec
}

func aCluster(t *rapid.T, spec cluster.Spec) *cluster.Cluster {
	c := cluster.New(spec, aCount(t), aText(t), cluster.Settings{}, aTime(t))
	c.Phase = rapid.SampledFrom([]cluster.Phase{cluster.PhaseWaiting, cluster.PhaseTraining, cluster.PhaseEnding, cluster.PhaseEnded}).Draw(t, "phase")
	c.Why, c.Reason, c.Generation, c.ExitCode = aText(t), aText(t), aCount(t), rapid.IntRange(0, 255).Draw(t, "exit code")
	c.LaunchedAt, c.CompletedAt, c.ReadyAt, c.EndingAt, c.EndedAt = aTime(t), aTime(t), aTime(t), aTime(t), aTime(t)
	if rapid.Bool().Draw(t, "complete") {
		c.ClusterDef = tf.ClusterDef{"ps": {"10.0.0.1:1"}, "worker": {"[::1]:2", "h:3"}}
	}
	c.Framework = cluster.Framework{ID: aText(t), Role: aText(t), Principal: aText(t), Master: aText(t), WebUIURL: aText(t),
		FailoverTimeout: time.Duration(rapid.Int64().Draw(t, "timeout")), RegisteredAt: aTime(t), DisconnectedAt: aTime(t)}
	for i := range c.Tasks {
		aTask(t, &c.Tasks[i])
	}
	return c
}

func aTask(t *rapid.T, task *cluster.Task) {
	task.Phase = rapid.SampledFrom([]cluster.TaskPhase{cluster.TaskWaiting, cluster.TaskStaging, cluster.TaskServing, cluster.TaskDone, cluster.TaskFailed}).Draw(t, "phase")
	task.Launch, task.GPUs, task.Port = aCount(t), aCount(t), rapid.IntRange(0, 65535).Draw(t, "port")
	task.TaskID = "id" + aText(t)
	task.PhaseAt, task.HeartbeatAt, task.KilledAt, task.VanishedAt, task.ImportedAt = aTime(t), aTime(t), aTime(t), aTime(t), aTime(t)
	task.Why, task.Hostname, task.Address, task.TokenSHA256 = aText(t), aText(t), aText(t), aText(t)
	if rapid.Bool().Draw(t, "is counted") {
		task.Grouped = `{"zone":"a"}`
	}
	task.State, task.Failed = cluster.State(aText(t)), rapid.Bool().Draw(t, "failed")
	task.ExitCode = rapid.IntRange(-1, 255).Draw(t, "exit code")
	if rapid.Bool().Draw(t, "ended") {
		task.Ended = &callback.PhaseReport{Phase: callback.PhaseEnded, At: aTime(t), Import: aText(t), Message: aText(t),
			ExitCode: rapid.IntRange(0, 255).Draw(t, "exit code"), Cause: callback.Cause(aText(t))}
	}
}
