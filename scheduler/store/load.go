package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/tf"
)

// Record is all that is stored of a run.
type Record struct {
	// Cluster has no Settings, offers or reconciliation: those are of the process.
	Cluster *cluster.Cluster
	// Owner is zero if none was saved.
	Owner Owner
	// Leader is the last one, whether it still leads or not.
	Leader Leader
}

// Load reads a run: ErrNotFound if there is none, a *CorruptError if any of it cannot be read. It never returns a part.
func (s *Store) Load(ctx context.Context, name string) (*Record, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var tasks []tf.TaskName
	for {
		snap, err := s.snapshot(ctx, name, tasks)
		if err != nil {
			return nil, err
		}
		c, err := snap.head(name)
		if err != nil {
			return nil, err
		}
		// The spec says which task keys there are. They are read together with it, so when they are not those that were
		// asked for, as at first, one more look is needed.
		if wanted := c.Spec.TaskNames(); !slices.Equal(wanted, tasks) {
			tasks = wanted
			continue
		}
		return snap.record(name, c)
	}
}

// snapshot is what the keys held at one moment. Keys that do not exist are missing in both maps.
type snapshot struct {
	hashes map[string]map[string]string
	texts  map[string]string
}

func (s *Store) snapshot(ctx context.Context, name string, tasks []tf.TaskName) (snapshot, error) {
	hashKeys := []string{StatusKey(name), FrameworkKey(name), OwnerKey(name), LeaderKey(name), TasksKey(name)}
	for _, task := range tasks {
		hashKeys = append(hashKeys, TaskKey(name, task))
	}
	hashes := map[string]*redis.MapStringStringCmd{}
	texts := map[string]*redis.StringCmd{}
	_, err := s.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, key := range hashKeys {
			hashes[key] = pipe.HGetAll(ctx, key)
		}
		for _, key := range []string{SpecKey(name), ClusterDefKey(name)} {
			texts[key] = pipe.Get(ctx, key)
		}
		return nil
	})
	snap := snapshot{map[string]map[string]string{}, map[string]string{}}
	for _, key := range hashKeys {
		if wrongType(hashes[key].Err()) {
			return snap, &CorruptError{Key: key, Why: "is not a hash"}
		}
		if hash := hashes[key].Val(); len(hash) > 0 {
			snap.hashes[key] = hash
		}
	}
	for key, cmd := range texts {
		if wrongType(cmd.Err()) {
			return snap, &CorruptError{Key: key, Why: "is not a string"}
		}
		if cmd.Err() == nil {
			snap.texts[key] = cmd.Val()
		}
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return snap, s.wrap("load "+name, err)
	}
	return snap, nil
}

// head reads what the cluster is, without its tasks.
func (s snapshot) head(name string) (*cluster.Cluster, error) {
	status, there := s.hashes[StatusKey(name)]
	if !there {
		return nil, s.absent(name)
	}
	c := &cluster.Cluster{}
	if err := decode(StatusKey(name), statusFields, status, c); err != nil {
		return nil, err
	}
	if err := s.parse(SpecKey(name), &c.Spec); err != nil {
		return nil, err
	}
	if c.Spec.Name != name {
		return nil, &CorruptError{SpecKey(name), "name", "is " + quote(c.Spec.Name)}
	}
	for _, job := range c.Spec.Jobs {
		if job.Name == "" || job.Num < 0 || job.Num > maxTasks || job.Start < 0 || job.Start > maxTasks {
			return nil, &CorruptError{SpecKey(name), "jobs", "has a job without a name or with an impossible num or start"}
		}
	}
	return c, nil
}

// maxTasks of a job keeps a damaged spec from asking for a billion keys.
const maxTasks = 100000

// absent tells nothing from the rest of something.
func (s snapshot) absent(name string) error {
	for _, key := range []string{FrameworkKey(name), TasksKey(name)} {
		if _, there := s.hashes[key]; there {
			return &CorruptError{Key: StatusKey(name), Why: "is missing although " + key + " is there"}
		}
	}
	for _, key := range []string{SpecKey(name), ClusterDefKey(name)} {
		if _, there := s.texts[key]; there {
			return &CorruptError{Key: StatusKey(name), Why: "is missing although " + key + " is there"}
		}
	}
	return ErrNotFound
}

// parse reads the JSON of a string key. Unknown fields are an error: a newer version means something by them.
func (s snapshot) parse(key string, v any) error {
	text, there := s.texts[key]
	if !there {
		return &CorruptError{Key: key, Why: "is missing"}
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return &CorruptError{Key: key, Why: "is " + quote(text) + ", which is not the JSON it should be: " + err.Error()}
	}
	if decoder.More() {
		return &CorruptError{Key: key, Why: "has something after its JSON"}
	}
	return nil
}

func (s snapshot) record(name string, c *cluster.Cluster) (*Record, error) {
	r := &Record{Cluster: c}
	if err := required(s, FrameworkKey(name), frameworkFields, &c.Framework); err != nil {
		return nil, err
	}
	for _, task := range c.Spec.TaskNames() {
		t := cluster.Task{Name: task}
		key := TaskKey(name, task)
		if err := required(s, key, taskFields, &t); err != nil {
			return nil, err
		}
		if err := checkTask(key, &t); err != nil {
			return nil, err
		}
		c.Tasks = append(c.Tasks, t)
	}
	if _, there := s.texts[ClusterDefKey(name)]; there {
		if err := s.parse(ClusterDefKey(name), &c.ClusterDef); err != nil {
			return nil, err
		}
		if err := c.ClusterDef.Validate(); err != nil {
			return nil, &CorruptError{Key: ClusterDefKey(name), Why: "is not complete: " + err.Error()}
		}
	}
	if hash, there := s.hashes[OwnerKey(name)]; there {
		if err := decode(OwnerKey(name), ownerFields, hash, &r.Owner); err != nil {
			return nil, err
		}
	}
	if hash, there := s.hashes[LeaderKey(name)]; there {
		if err := decode(LeaderKey(name), leaderFields, hash, &r.Leader); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func required[T any](s snapshot, key string, fields []field[T], v *T) error {
	hash, there := s.hashes[key]
	if !there {
		return &CorruptError{Key: key, Why: "is missing"}
	}
	return decode(key, fields, hash, v)
}
