package store

import (
	"reflect"
	"slices"
	"strconv"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/tf"
)

const (
	maxEvents  = 10000 // XADD may keep some more
	maxHistory = 1000
	// maxPairs bounds the arguments of one HSET: Lua has a limited stack for them.
	maxPairs = 100
)

// eventFields are in each entry of the stream.
var eventFields = []string{"at", "run", "kind", "task", "launch", "agent", "text"}

// batch collects the operations of one write.
type batch struct {
	keys []string
	args []any
}

// add has the script do COMMAND key arguments.
func (b *batch) add(command, key string, arguments ...string) {
	place := slices.Index(b.keys, key)
	if place < 0 {
		place = len(b.keys)
		b.keys = append(b.keys, key)
	}
	b.args = append(b.args, command, place+2, len(arguments)) // KEYS[1] is the leader
	for _, a := range arguments {
		b.args = append(b.args, a)
	}
}

func (b *batch) hash(key string, pairs []string) {
	for part := range slices.Chunk(pairs, 2*maxPairs) {
		b.add("HSET", key, part...)
	}
}

// script returns KEYS and ARGV of writeScript.
func (b *batch) script(leader string, head ...string) (keys []string, args []any) {
	for _, h := range head {
		args = append(args, h)
	}
	return append([]string{leader}, b.keys...), append(args, b.args...)
}

// keysOf returns all keys of a run that end with it.
func keysOf(c *cluster.Cluster) []string {
	name := c.Spec.Name
	keys := []string{LeaderKey(name), OwnerKey(name), EventsKey(name)}
	return append(keys, stateKeys(c)...)
}

// stateKeys returns the keys that a Save of the cluster may write, but for events.
func stateKeys(c *cluster.Cluster) []string {
	name := c.Spec.Name
	keys := []string{StatusKey(name), TasksKey(name), FrameworkKey(name), SpecKey(name), ClusterDefKey(name)}
	for i := range c.Tasks {
		keys = append(keys, TaskKey(name, c.Tasks[i].Name), WaitingKey(name, c.Tasks[i].Name))
	}
	return keys
}

// fresh deletes what is left of an earlier run, whose tasks had the names. Its events stay, no longer about to expire.
func (b *batch) fresh(c *cluster.Cluster, tasks []string) {
	for _, key := range stateKeys(c) {
		b.add("DEL", key)
	}
	for _, text := range tasks {
		if task, err := tf.ParseTaskName(text); err == nil {
			b.add("DEL", TaskKey(c.Spec.Name, task))
			b.add("DEL", WaitingKey(c.Spec.Name, task))
		}
	}
	b.add("PERSIST", EventsKey(c.Spec.Name))
}

// cluster writes in what after differs from before; everything if before is nil.
func (b *batch) cluster(before, after *cluster.Cluster, now time.Time) {
	name := after.Spec.Name
	if before == nil || !reflect.DeepEqual(before.Spec, after.Spec) {
		b.add("SET", SpecKey(name), marshal(after.Spec))
	}
	var framework *cluster.Framework
	if before != nil {
		framework = &before.Framework
	}
	b.hash(FrameworkKey(name), encode(frameworkFields, framework, &after.Framework))
	b.tasks(before, after, now)
	if before == nil || !before.ClusterDef.Equal(after.ClusterDef) {
		if len(after.ClusterDef) == 0 {
			b.add("DEL", ClusterDefKey(name))
		} else {
			b.add("SET", ClusterDefKey(name), marshal(after.ClusterDef))
		}
	}
	status := encode(statusFields, before, after)
	if before == nil || len(b.args) > 0 || len(status) > 0 {
		b.hash(StatusKey(name), append(status, updatedAt, formatTime(now)))
	}
}

func (b *batch) tasks(before, after *cluster.Cluster, now time.Time) {
	var sentences []string
	for i := range after.Tasks {
		task := &after.Tasks[i]
		var old *cluster.Task
		if before != nil {
			old = before.Task(task.Name)
		}
		if old != nil && *old == *task {
			continue
		}
		if pairs := encode(taskFields, old, task); len(pairs) > 0 {
			b.hash(TaskKey(after.Spec.Name, task.Name), append(pairs, updatedAt, formatTime(now)))
		}
		b.waiting(after.Spec.Name, old, task)
		if sentence := sayTask(after, task); old == nil || sayTask(before, old) != sentence {
			sentences = append(sentences, task.Name.String(), sentence)
		}
	}
	b.hash(TasksKey(after.Spec.Name), sentences)
}

// waiting writes why a task has no place, or that it need not have one any more. The reasons differ from one time to the
// next, so the hash is made anew.
func (b *batch) waiting(name string, old, task *cluster.Task) {
	key := WaitingKey(name, task.Name)
	had := old != nil && old.Wait != nil
	switch {
	case task.Wait == nil:
		if had {
			b.add("DEL", key)
		}
		return
	case had && reflect.DeepEqual(old.Wait, task.Wait):
		return
	}
	b.add("DEL", key)
	b.hash(key, sayWait(task.Wait))
}

// events adds one entry for each note.
func (b *batch) events(c *cluster.Cluster, notes []cluster.Note, now time.Time) {
	for _, n := range notes {
		task, launch := "", ""
		if n.Task.JobName != "" {
			task, launch = n.Task.String(), formatNumber(n.Launch, 0)
		}
		values := []string{formatTime(now), strconv.Itoa(c.Run), n.Kind, task, launch, n.AgentID, n.Text}
		arguments := []string{"MAXLEN", "~", strconv.Itoa(maxEvents), "*"}
		for i, field := range eventFields {
			arguments = append(arguments, field, values[i])
		}
		b.add("XADD", EventsKey(c.Spec.Name), arguments...)
	}
}
