// Package sidecar runs beside each TensorFlow task: it holds the task's port, reports it, waits for the cluster, starts the
// task's program, looks after it, and leaves with its exit code.
//
// What to do next is decided in package boot. Run is the one goroutine that owns the machine: it feeds it with events and
// does its actions, the slow ones in goroutines that come back with an event. Package schedclient speaks to the scheduler,
// package launch to the kernel; cmd/sidecar puts them together.
package sidecar
