package store

import (
	"slices"
	"testing"

	"tfmesos/shared/tf"
)

func TestEachKeyIsSpelledAsDocumented(t *testing.T) {
	worker := tf.TaskName{JobName: "worker", TaskIndex: 10}
	for _, k := range []struct{ got, want string }{
		{ClustersKey, "tfmesos:clusters"},
		{StatusKey("ctr"), "tfmesos:{ctr}:status"},
		{TasksKey("ctr"), "tfmesos:{ctr}:tasks"},
		{TaskKey("ctr", worker), "tfmesos:{ctr}:task:worker:10"},
		{WaitingKey("ctr", worker), "tfmesos:{ctr}:waiting:worker:10"},
		{ClusterDefKey("ctr"), "tfmesos:{ctr}:cluster_def"},
		{LeaderKey("ctr"), "tfmesos:{ctr}:leader"},
		{FrameworkKey("ctr"), "tfmesos:{ctr}:framework"},
		{OwnerKey("ctr"), "tfmesos:{ctr}:owner"},
		{SpecKey("ctr"), "tfmesos:{ctr}:spec"},
		{EventsKey("ctr"), "tfmesos:{ctr}:events"},
		{HistoryKey("ctr"), "tfmesos:{ctr}:history"},
	} {
		if k.got != k.want {
			t.Errorf("the key is %s, and people look for %s", k.got, k.want)
		}
	}
}

// The real slots tell: the embedded Redis does not hash the part in braces alone.
func TestARunLivesInOneSlotOfARedisCluster(t *testing.T) {
	r := newRig(t, startClusterNode(t))
	lease := r.acquire(t, "ctr", 1)
	if err := lease.SaveOwner(t.Context(), Owner{User: "u"}); err != nil {
		t.Fatal(err)
	}
	a := training("ctr")
	save(t, lease, nil, a)
	b := a.Clone()
	complete(b)
	save(t, lease, a, b)
	if diff := difference(b, load(t, r.store, "ctr").Cluster); diff != "" {
		t.Errorf("not as it was saved:\n%s", diff)
	}
	if err := lease.Finish(t.Context(), b, 1); err != nil {
		t.Fatal(err)
	}
	var slots []int64
	for _, key := range append(keysOf(b), HistoryKey("ctr")) {
		slots = append(slots, r.redis.ClusterKeySlot(t.Context(), key).Val())
	}
	if all := slices.Compact(slots); len(all) != 1 {
		t.Errorf("the keys of one cluster lie in the slots %v", all)
	}
	if other := r.redis.ClusterKeySlot(t.Context(), StatusKey("rct")).Val(); other == slots[0] {
		t.Error("another cluster is in the same slot")
	}
}
