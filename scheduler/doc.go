// Package scheduler is the loop that owns the state of a cluster.
//
// Events come in from the master, from sidecars (scheduler/httpapi) and from the command line. One goroutine drains
// what has come, and for each batch does, in this order,
//
//	Decide  fold cluster.Decide over a private copy of the cluster
//	Save    make the change durable, once; it is retried, not dropped
//	Apply   publish the copy: readers see it from here on, and callbacks are answered
//	Call    send what follows to the master, in order, each after the answer to the one before
//
// so that no update is acknowledged before it is stored and no task launched before its intent is. What a crash between
// two steps leaves behind is mended by reconciliation.
//
// Where to look: scheduler/cluster decides, scheduler/mesos speaks to the master, scheduler/store to Redis,
// scheduler/httpapi to sidecars; cmd/scheduler wires them.
package scheduler
