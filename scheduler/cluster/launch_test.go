package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tfmesos/shared/tf"
)

func TestKnownFault013EachVariableIsThereOnceAndOddValuesPassUnchanged(t *testing.T) {
	odd := map[string]string{"PYTHONPATH": "/src:/lib", "EQUALS": "a=b=c", "LINES": "one\ntwo", "UMLAUT": "für 世界", "EMPTY": "",
		"TFMESOS_TASK_ID": "mine", "TFMESOS2_CLIENT_PASSWORD": "mine"} // a spec may not name the last two: ours must win all the same
	env := map[string]*string{"FROM_CALLER": nil}
	for name, value := range odd {
		env[name] = &value
	}
	spec := Spec{Name: "ctr", Jobs: []Job{{Name: tf.Worker, Num: 1, Env: env}}}
	c := New(spec, 1, "abc123", Settings{Values: map[string]string{"FROM_CALLER": "secret"}}, time.Unix(0, 0))
	c.Tasks[0].TaskID = "ctr.abc123.worker-0.1"
	d := &decider{Cluster: c}

	got := map[string]string{}
	vars := d.describe(&c.Tasks[0], &c.Spec.Jobs[0], "TOKEN").Env
	for _, v := range vars {
		if _, twice := got[v.Name]; twice {
			t.Errorf("%s is there twice: which one counts depends on the runtime", v.Name)
		}
		got[v.Name] = v.Value
	}
	if !slices.IsSortedFunc(vars, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("the variables are not sorted: %v", vars)
	}
	odd["TFMESOS_TASK_ID"], odd["TFMESOS2_CLIENT_PASSWORD"], odd["FROM_CALLER"] = "ctr.abc123.worker-0.1", "TOKEN", "secret"
	for name, want := range odd {
		if got[name] != want {
			t.Errorf("the task sees %s=%q, want %q", name, got[name], want)
		}
	}
}
