package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"tfmesos/scheduler/cluster"
)

// Lease is the right to write the state of one cluster. Its methods may be called from any goroutine; they take turns.
//
// Every write renews it. When a write has failed, nobody knows whether it took effect: the next Save then writes
// everything, and adds no event twice as long as its notes begin with those of the Save that failed.
type Lease struct {
	store  *Store
	name   string
	leader Leader
	since  string // as Redis wrote it

	mu     sync.Mutex
	writes int // number of the last write tried
	events int // events known to be written
	unsure bool
	owner  Owner
	line   string // of ClustersKey, as last written
}

// Acquire makes this process the leader of the cluster, if nobody leads it, the lease of the last leader has ended, or
// its process is dead (see Leader.Dead). Else the error is a *HeldError. self needs all but Fence, Since and ExpiresAt.
func (s *Store) Acquire(ctx context.Context, name string, self Leader) (*Lease, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	lease, err := s.acquire(ctx, name, self, "")
	var held *HeldError
	// The process itself is the leader when the answer to an earlier try got lost.
	if errors.As(err, &held) && (held.Leader.same(self) || held.Leader.Dead()) {
		return s.acquire(ctx, name, self, strconv.Itoa(held.Leader.Fence))
	}
	return lease, err
}

func (s *Store) acquire(ctx context.Context, name string, self Leader, deadFence string) (*Lease, error) {
	args := []any{s.lease.Milliseconds(), deadFence}
	for _, f := range leaderFields {
		switch f.name {
		case "fence", "since", "expires_at": // the script's
		default:
			args = append(args, f.name, f.get(&self))
		}
	}
	key := LeaderKey(name)
	reply, err := acquireScript.Run(ctx, s.client, []string{key}, args...).Slice()
	if wrongType(err) {
		return nil, &CorruptError{Key: key, Why: "is not a hash"}
	}
	if err != nil {
		return nil, s.wrap("acquire the lease of "+name, err)
	}
	switch reply[0] {
	case "ok":
		pairs := map[string]string{"fence": reply[1].(string), "since": reply[2].(string), "expires_at": reply[3].(string)}
		for _, f := range leaderFields {
			if _, given := pairs[f.name]; !given {
				pairs[f.name] = f.get(&self)
			}
		}
		l := &Lease{store: s, name: name, since: pairs["since"]}
		return l, decode(key, leaderFields, pairs, &l.leader)
	case "corrupt":
		return nil, &CorruptError{key, "fence", "is " + quote(reply[1].(string)) + ", not a number"}
	}
	held := &HeldError{}
	if err := decode(key, leaderFields, toMap(reply[1].([]any)), &held.Leader); err != nil {
		return nil, err
	}
	return nil, held
}

func toMap(flat []any) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(flat); i += 2 {
		m[flat[i].(string)] = flat[i+1].(string)
	}
	return m
}

// Leader returns what Redis knows of this leader as of Acquire.
func (l *Lease) Leader() Leader { return l.leader }

// SaveOwner stores who started the run; call it before the first Save.
func (l *Lease) SaveOwner(ctx context.Context, owner Owner) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owner = owner
	var b batch
	b.add("DEL", OwnerKey(l.name))
	b.hash(OwnerKey(l.name), encode(ownerFields, nil, &owner))
	return l.write(ctx, "save the owner of "+l.name, b, l.store.lease)
}

// Save makes after durable, and with it an event for each note. Before is what was saved last; nil stores the whole
// and deletes all that is left of a run before, but for events and history.
//
// It is all or nothing, in one script. ErrFenced means that another scheduler leads the cluster; after any other error
// the same Save may be tried again.
func (l *Lease) Save(ctx context.Context, before, after *cluster.Cluster, notes []cluster.Note) error {
	if after.Spec.Name != l.name {
		return fmt.Errorf("store: save %s: the lease is of %s", quote(after.Spec.Name), l.name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now().Truncate(time.Millisecond)
	var b batch
	if before == nil {
		old, err := l.leftovers(ctx)
		if err != nil {
			return err
		}
		b.fresh(after, old)
	}
	if l.unsure {
		before = nil
	}
	b.cluster(before, after, now)
	b.events(after, notes, now)
	if err := l.write(ctx, "save "+l.name, b, l.store.lease); err != nil {
		return err
	}
	l.unsure = false
	l.events += len(notes)
	l.announce(ctx, sayCluster(after, l.owner, now))
	return nil
}

// announce writes the cluster's line for those who look at all clusters. It is outside of the slot, so not part of the
// Save; if it cannot be written now, the next Save tries again.
func (l *Lease) announce(ctx context.Context, line string) {
	if line == l.line {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.store.timeout)
	defer cancel()
	if l.store.client.HSet(ctx, ClustersKey, l.name, line).Err() == nil {
		l.line = line
	}
}

// Renew prolongs the lease when there is nothing to save.
func (l *Lease) Renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(ctx, "renew the lease of "+l.name, batch{}, l.store.lease)
}

// Release ends the lease, so that another scheduler can lead at once. Nothing can be written under it afterwards until
// somebody acquires it.
func (l *Lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(ctx, "release the lease of "+l.name, batch{}, 0)
}

// Finish is the last write of a run: it adds a line to the history, lets everything else of the run expire together after
// keep, and releases the lease. The cluster is the one that was saved last.
func (l *Lease) Finish(ctx context.Context, c *cluster.Cluster, keep time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b batch
	b.add("LPUSH", HistoryKey(l.name), sayEnd(c, l.owner))
	b.add("LTRIM", HistoryKey(l.name), "0", strconv.Itoa(maxHistory-1))
	seconds := strconv.Itoa(max(1, int(keep.Seconds())))
	for _, key := range keysOf(c) {
		b.add("EXPIRE", key, seconds)
	}
	return l.write(ctx, "finish "+l.name, b, 0)
}

// write runs the script; l.mu is held. lasting is how long the lease goes on, 0 releases it.
func (l *Lease) write(ctx context.Context, doing string, b batch, lasting time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, l.store.timeout)
	defer cancel()
	l.writes++
	keys, args := b.script(LeaderKey(l.name), strconv.Itoa(l.leader.Fence), l.since, strconv.Itoa(l.writes),
		strconv.FormatInt(lasting.Milliseconds(), 10), strconv.Itoa(l.events))
	answer, err := writeScript.Run(ctx, l.store.client, keys, args...).Text()
	switch {
	case err != nil:
		l.unsure = true
		return l.store.wrap(doing, err)
	case answer == "fenced":
		return fmt.Errorf("%s: %w", doing, ErrFenced)
	case answer == "lost":
		return fmt.Errorf("%s: %w", doing, ErrLost)
	case answer != "ok":
		return l.store.wrap(doing, fmt.Errorf("write %d came %s", l.writes, answer))
	}
	return nil
}

// leftovers returns the names of the tasks of the run before.
func (l *Lease) leftovers(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, l.store.timeout)
	defer cancel()
	names, err := l.store.client.HKeys(ctx, TasksKey(l.name)).Result()
	if wrongType(err) {
		return nil, nil // it is deleted
	}
	if err != nil {
		return nil, l.store.wrap("look for the run before of "+l.name, err)
	}
	return names, nil
}
