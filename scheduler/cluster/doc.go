// Package cluster is the state machine of one TensorFlow cluster: its tasks, their launches, phases and ends.
//
// It is pure: Decide takes what has happened and the time, changes the caller's private copy of a Cluster, and returns
// the Work that follows from it. Who moves a task:
//
//	waiting ─offers→ staging ─TASK_RUNNING→ starting ─registration→ registered ─┬─port answers→ serving
//	   ↑                │ the launch never ran (invalid offer, agent gone)      └─program started→ training
//	   └────────────────┘
//	any of them ─KILL sent→ ending ─terminal state→ done or failed
//
// A TensorFlow task (tf.TaskName) lives as long as its cluster. A launch is one attempt to run it and has a
// Mesos task_id of its own, CLUSTER.NONCE.JOB-INDEX.LAUNCH, which is never used again. What an old task_id reports
// is acknowledged and changes nothing.
package cluster
