// Package store keeps the whole state of a run in Redis, for the next scheduler and for people with redis-cli.
//
// docs/redis.md lists the keys; keys.go spells them; the fields of each hash stand once, in the tables of status.go,
// task.go, framework.go, owner.go and leader.go. A Lease is the right to write: whoever takes it over moves the fence, and
// what an earlier leader still sends has no effect. All keys of a cluster lie in one slot, so that one script writes
// them together and a reader sees all of a Save or nothing of it.
package store
