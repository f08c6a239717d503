package store

import (
	"fmt"
	"regexp"

	"tfmesos/shared/tf"
)

// ClustersKey is a hash with a line for each cluster name. It is the one key outside of a cluster's slot. Written after a
// Save that changed the line, and after an end. No TTL.
const ClustersKey = "tfmesos:clusters"

// slot is the beginning of every key of a cluster: Redis Cluster hashes only what is between the braces.
func slot(cluster string) string { return "tfmesos:{" + cluster + "}:" }

// StatusKey is a hash, the cluster as a whole: statusFields. Written by Save; expires after an end.
func StatusKey(cluster string) string { return slot(cluster) + "status" }

// TasksKey is a hash with a sentence for each task, by its name. Written by Save; expires after an end.
func TasksKey(cluster string) string { return slot(cluster) + "tasks" }

// TaskKey is a hash, one task with its current launch: taskFields. Written by Save; expires after an end.
func TaskKey(cluster string, task tf.TaskName) string { return slot(cluster) + "task:" + task.String() }

// WaitingKey is a hash, why a task has no place: waitingFields and one field for each reason. Written by Save from the first offer
// on, deleted once the task is launched; expires after an end.
func WaitingKey(cluster string, task tf.TaskName) string {
	return slot(cluster) + "waiting:" + task.String()
}

// ClusterDefKey is a string, the JSON of a complete cluster_def; absent until there is one. Written by Save; expires after an end.
func ClusterDefKey(cluster string) string { return slot(cluster) + "cluster_def" }

// LeaderKey is a hash, who leads, with the fence: leaderFields. Written by Acquire and by each write under the lease; expires
// after an end. The lease itself is the field expires_at, not a TTL.
func LeaderKey(cluster string) string { return slot(cluster) + "leader" }

// FrameworkKey is a hash, the registration at the master: frameworkFields. Written by Save; expires after an end.
func FrameworkKey(cluster string) string { return slot(cluster) + "framework" }

// OwnerKey is a hash, who started the run: ownerFields. Written by SaveOwner; expires after an end.
func OwnerKey(cluster string) string { return slot(cluster) + "owner" }

// SpecKey is a string, the JSON of the validated spec. Written by Save; expires after an end.
func SpecKey(cluster string) string { return slot(cluster) + "spec" }

// EventsKey is a stream of what happened: eventFields, about maxEvents entries. Written by Save; expires after an end.
func EventsKey(cluster string) string { return slot(cluster) + "events" }

// HistoryKey is a list with a line for each ended run, the newest first, maxHistory at most. Written by Finish. No TTL.
func HistoryKey(cluster string) string { return slot(cluster) + "history" }

// clusterName is what the spec allows; anything else could leave its slot.
var clusterName = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

func checkName(name string) error {
	if !clusterName.MatchString(name) {
		return fmt.Errorf("store: cluster name %s: want 1 to 40 of a-z, 0-9 and -", quote(name))
	}
	return nil
}
