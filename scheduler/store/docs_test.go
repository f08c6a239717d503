package store

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tfmesos/shared/tf"
)

const page = "../../docs/redis.md"

// documented are the keys with what they hold, as the code has it.
var documented = []struct {
	key, kind string
	fields    []string // nil: it has no fields of fixed names
}{
	{ClustersKey, "hash", nil},
	{StatusKey("NAME"), "hash", append(names(statusFields), updatedAt)},
	{TasksKey("NAME"), "hash", nil},
	{ofAnyTask(TaskKey), "hash", append(names(taskFields), updatedAt)},
	{ofAnyTask(WaitingKey), "hash", append(slices.Clone(waitingFields), "mem", "rack")},
	{ClusterDefKey("NAME"), "string, JSON", nil},
	{LeaderKey("NAME"), "hash", append(names(leaderFields), leaseFields...)},
	{FrameworkKey("NAME"), "hash", names(frameworkFields)},
	{OwnerKey("NAME"), "hash", names(ownerFields)},
	{SpecKey("NAME"), "string, JSON", nil},
	{EventsKey("NAME"), "stream", eventFields},
	{HistoryKey("NAME"), "list", nil},
}

func ofAnyTask(key func(string, tf.TaskName) string) string {
	return strings.Replace(key("NAME", tf.TaskName{JobName: "JOB"}), ":0", ":INDEX", 1)
}

// tables returns the first two columns of the rows of each table, by the heading before it.
func tables(t *testing.T) map[string][][2]string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	all, heading := map[string][][2]string{}, ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			heading = strings.Trim(line, "#` \n")
		}
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `") {
			all[heading] = append(all[heading], [2]string{strings.Trim(cells[1], "` "), strings.TrimSpace(cells[2])})
		}
	}
	return all
}

func TestThePageHasAllKeysAndFields(t *testing.T) {
	got := tables(t)
	var keys [][2]string
	for _, d := range documented {
		keys = append(keys, [2]string{d.key, d.kind})
		var fields []string
		for _, row := range got[d.key] {
			fields = append(fields, row[0])
		}
		if diff := cmp.Diff(d.fields, fields); diff != "" {
			t.Errorf("%s: fields of %s (-code +page):\n%s", page, d.key, diff)
		}
	}
	if diff := cmp.Diff(keys, got["Keys"]); diff != "" {
		t.Errorf("%s: keys (-code +page):\n%s", page, diff)
	}
}

func TestTheStoreHasNoFieldThatThePageLacks(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		lease := r.acquire(t, "ctr", 1)
		if err := lease.SaveOwner(t.Context(), Owner{}); err != nil {
			t.Fatal(err)
		}
		save(t, lease, nil, training("ctr"))
		for _, d := range documented {
			key := strings.Replace(strings.Replace(d.key, "NAME", "ctr", 1), "JOB:INDEX", "worker:1", 1)
			if d.kind != "hash" || d.fields == nil {
				continue
			}
			want := map[string]bool{}
			for _, field := range d.fields {
				want[field] = true
			}
			got := map[string]bool{}
			for field := range r.redis.HGetAll(t.Context(), key).Val() {
				got[field] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: fields (-page +redis):\n%s", key, diff)
			}
		}
	})
}
