// Package boot decides what the sidecar does next: a pure state machine from the first moment to the exit code.
//
// Step takes what happened and returns what to do. The loop in package sidecar does it and comes back with what came of it.
//
//	picking ──port held──► registering ──answered──► waiting ──cluster_def──► running
//	   │                        │                       │                        │ child gone, or told to end
//	   └────────────────────────┴───────────────────────┴──► ending ◄────────────┘
//	                                                            │ no process left
//	                                                        finishing ──output and `ended` reported──► done
//
// In server mode Python is started in picking, so that its import overlaps with the rest, and gets its configuration in
// running. A side task goes from registering to running. The long poll goes on as long as the machine runs: it is the
// heartbeat too. What is reported to the scheduler stands in an outbox, in order, and is repeated until it was taken.
package boot
