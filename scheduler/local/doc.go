// Package local is a Mesos in this process: a master that speaks the v1
// scheduler API over TCP on 127.0.0.1, and one agent whose tasks are child
// processes. `scheduler run --local` uses it, and the scheduler cannot tell it
// from a real one: the same records, status codes, refusals and states, in
// protobuf or JSON.
//
// A request goes this way:
//
//	http.go      is it allowed, well formed, of a known framework?  else a 4xx
//	mode.go      is this the master that leads?  else a redirect, or 503
//	master.go    frameworks: subscribe, take over, fail over, tear down
//	offers.go    what is free is offered at once, unless a filter holds it back
//	accept.go    offers become tasks; validate.go says which do not
//	agent.go     the life of a task, process.go its processes, gpus.go its devices
//	updates.go   its status updates, one in flight until acknowledged
//	reconcile.go what is known of a task
//	maintenance.go inverse offers, when the machine is to go away
//	clock.go     everything that happens because time has passed
//
// All state is in [Mesos] under one mutex. Whoever changes it calls settle
// before it unlocks: that offers what has become free and sets the clock. So
// there is no allocation interval: what changes shows at once.
//
// What differs from a real Mesos, on purpose: tasks are plain commands that run
// as the user of this process (no images, volumes, URIs, health checks, custom
// executors; a task that wants one gets TASK_ERROR with words that say so); no
// ports are offered; TASK_STARTING is left out, since it would cost a round trip
// before TASK_RUNNING; what a task used is free when it ends, where a real master
// may hear of that only when the agent sends an unacknowledged update again;
// nothing survives Close; calls that have no meaning here
// (executor messages, operation feedback) get 501. docs/stand-in.md has the list;
// integration/conformance holds this package to it.
//
// # GPUs
//
// If they are asked for, the agent offers those that `nvidia-smi -L` lists at the
// start. Where it is missing, fails, or does not answer within 2 s, there are
// none. A GPU that is split into MIG devices is offered as these, each for one GPU;
// CUDA shows a program no more than one of them. If the agent's environment has
// CUDA_VISIBLE_DEVICES, only what it names is offered, in its order; an index is
// that of nvidia-smi (which is CUDA's own where all GPUs are alike, or with
// CUDA_DEVICE_ORDER=PCI_BUS_ID). Two schedulers on one machine know nothing of each
// other: this variable is how to share it out.
//
// Each device is one task's at a time, from the launch until the task's process
// group is gone. The task finds the UUIDs of its own in CUDA_VISIBLE_DEVICES and
// NVIDIA_VISIBLE_DEVICES, whatever else it or the agent was given there. For a task
// without GPUs these are -1 and void, unless it has them among its own variables.
// Nothing keeps a program from looking past that.
//
// # Processes
//
// A task is the leader of its own process group, which gets the SIGTERM of a
// kill. When the task ends, what is left in the group is killed. What has left
// the group (setsid) is the task's own to end, as the sidecar does; only if the
// task itself has to be killed are all its descendants killed with it.
//
// If this process is killed, its tasks get SIGTERM from the kernel (Pdeathsig).
// The kernel binds that to the thread that forked, not to the process, so all
// tasks are forked by one goroutine that stays locked to its thread until
// Close: on a thread of the Go scheduler's choice, tasks would die whenever the
// runtime lets that thread go.
package local
