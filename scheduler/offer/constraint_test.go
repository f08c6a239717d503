package offer

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tfmesos/shared/tf"
)

func attribute(values ...string) Attribute { return Attribute{Name: "a", Values: values} }

func TestKnownFault017NumbersSetsAndRangesMatchByWhatTheyMean(t *testing.T) {
	ranges := Attribute{Name: "a", Ranges: []Range{{1, 3}, {7, 9}}}
	for _, c := range []struct {
		has   Attribute
		value string
		want  bool
	}{
		{attribute(Number(109)), "109", true},
		{attribute(Number(109)), "109.0", true},
		{attribute(Number(1000)), "1000", true},
		{attribute(Number(1000)), "1,000", false},
		{attribute(Number(0.5)), "0.5", true},
		{attribute(Number(0.1 + 0.2)), "0.3", true},
		{attribute(Number(109)), "109.01", false},
		{attribute("r109"), "109", false},
		{attribute("debian12"), "debian 12", true},
		{attribute("debian 12"), "debian 12", true},
		{attribute("a", "b"), "{b,a}", true},
		{attribute("a", "b"), "{ b , a }", true},
		{attribute("a", "b"), "b", true},
		{attribute("a", "b"), "{a,c}", false},
		{attribute("a", "b"), "{}", false},
		{attribute("{odd}"), "{odd}", true},
		{ranges, "2", true},
		{ranges, "[1-2,8]", true},
		{ranges, "[3-7]", false},
		{ranges, "4", false},
		{ranges, "[3-1]", false},
		{ranges, "many", false},
		{ranges, "[]", false},
	} {
		if got := c.has.Is(c.value); got != c.want {
			t.Errorf("an agent has a:%s, and is asked for a:%s: is it that? %v", c.has, c.value, got)
		}
	}
}

func TestKnownFault001AValueMayHaveColons(t *testing.T) {
	constraints, err := Attributes("rack:dc1:r7")
	if err != nil {
		t.Fatal(err)
	}
	a := Offer{ID: "a", AgentID: "a", Attributes: []Attribute{{Name: "rack", Values: []string{"dc1:r7"}}}}
	b := Offer{ID: "b", AgentID: "b", Attributes: []Attribute{{Name: "rack", Values: []string{"dc1"}}}}
	m := Match([]Offer{b, a}, Gang{Asks: make([]Ask, 1), Constraints: constraints})
	if len(m.Accepts) != 1 || m.Accepts[0].AgentID != "a" || !slices.Equal(m.Useless, []string{"b"}) {
		t.Errorf("rack:dc1:r7 led to %+v, want the task on a, and b declined", m)
	}
}

func TestKnownFault001EntriesAreToldApart(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		" , ;":                         "",
		"rack:r1":                      "rack == r1",
		" rack : r1 ,":                 "rack == r1",
		"rack:r1;zone:a":               "rack == r1 | zone == a",
		"rack:r1, zone:a":              "rack == r1 | zone == a",
		"disks:{ssd,hdd};ids:[1-3,7]":  "disks == {ssd,hdd} | ids == [1-3,7]",
		"rack:r1,rack:r1":              "rack == r1",
		"rack:r1 of two, os:debian 12": "rack == r1 of two | os == debian 12",
	} {
		constraints, err := Attributes(text)
		var got []string
		for _, c := range constraints {
			got = append(got, c.String())
		}
		if err != nil || strings.Join(got, " | ") != want {
			t.Errorf("%q is read as %q (%v), want %q", text, got, err, want)
		}
	}
	for text, entry := range map[string]string{"rack": `"rack"`, "rack:": `"rack:"`, ":r1": `":r1"`, "zone:a;rack": `"rack"`, "my rack:r1": `"my rack:r1"`, "a:b\x00": `"a:b\x00"`} {
		if _, err := Attributes(text); err == nil || !strings.Contains(err.Error(), entry) {
			t.Errorf("%q is refused with %v, want an error that names %s", text, err, entry)
		}
	}
}

func TestKnownFault019AnAgentThatDoesNotHaveTheAttributeIsLeftAlone(t *testing.T) {
	constraints, err := Attributes("gpu:a100")
	if err != nil {
		t.Fatal(err)
	}
	offers := []Offer{
		{ID: "none", AgentID: "a1"},
		{ID: "empty list", AgentID: "a2", Attributes: []Attribute{}},
		{ID: "no value", AgentID: "a3", Attributes: []Attribute{{Name: "gpu"}}},
		{ID: "another", AgentID: "a4", Attributes: []Attribute{{Name: "GPU", Values: []string{"a100"}}}},
	}
	gang := Gang{Asks: make([]Ask, 1), Constraints: constraints}
	if m := Match(offers, gang); len(m.Useless) != 4 {
		t.Errorf("agents without gpu:a100 are not all declined: %+v", m)
	}
	good := Offer{ID: "second of two", AgentID: "a5", Attributes: []Attribute{{Name: "gpu", Values: []string{"v100"}}, {Name: "gpu", Values: []string{"a100"}}}}
	if m := Match(append(offers, good), gang); len(m.Accepts) != 1 || m.Accepts[0].AgentID != "a5" {
		t.Errorf("the offer that has gpu:a100 is not used: %+v", m)
	}
}

func TestConstraintsAreReadAndWritten(t *testing.T) {
	for _, text := range []string{"rack == r1", "rack == r1 of two", "rack like r[12]", "rack unlike (a|b) c", "hostname unique", "zone max_per 2"} {
		c, err := ParseConstraint("  " + strings.Replace(text, " ", "\t ", 2) + " ")
		if err != nil || strings.Join(strings.Fields(c.String()), " ") != text {
			t.Errorf("%q is read as %q (%v)", text, c, err)
		}
		var back Constraint
		stored, err := json.Marshal(c)
		if err == nil {
			err = json.Unmarshal(stored, &back)
		}
		if err != nil || !back.Equal(c) || back.most != c.most || (back.pattern == nil) != (c.pattern == nil) {
			t.Errorf("%q comes back from %s as %+v (%v)", text, stored, back, err)
		}
	}
	for _, text := range []string{"", "rack", "rack r1", "rack ==", "rack = r1", "rack like", "rack like [", "rack like " + strings.Repeat("a", 201), "hostname unique 2", "zone max_per", "zone max_per 0", "zone max_per two",
		"rack is r1", "== r1", "a:b == c", "rack like (?=x)"} {
		if c, err := ParseConstraint(text); err == nil {
			t.Errorf("%q is taken for %+v, want a refusal", text, c)
		}
	}
}

func TestWhatIsReadIsWrittenSoThatItIsReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"rack", "a.b-c/d", ""}).Draw(t, "attribute") + rapid.SampledFrom([]string{" == ", " like ", "\tunlike  ", " max_per ", " unique"}).Draw(t, "operator") +
			rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9]{1,6}`), rapid.StringMatching(`[a-z\[\]().*|: {},]{0,9}`)).Draw(t, "value")
		c, err := ParseConstraint(text)
		if err != nil {
			return
		}
		if back, err := ParseConstraint(c.String()); err != nil || !back.Equal(c) || back.most != c.most {
			t.Fatalf("%q is written as %q, and that is read as %q (%v)", text, c, back, err)
		}
		c.refuses(&Offer{Attributes: []Attribute{{Name: "rack", Values: []string{text}, Ranges: []Range{{1, 2}}}}}) // without a panic
	})
}

func TestEachPartOfAJobIsPlacedByItsOwnConstraints(t *testing.T) {
	read := func(text string) []Constraint {
		c, err := ParseConstraint(text)
		if err != nil {
			t.Fatal(err)
		}
		return []Constraint{c}
	}
	worker := func(i, part int, gpus Milli, constraints []Constraint) Ask {
		return Ask{Task: tf.TaskName{JobName: tf.Worker, TaskIndex: i}, Part: part, Resources: Resources{CPUs: 1000, GPUs: gpus}, Constraints: constraints}
	}
	rack, host := read("rack == r1"), read("hostname unique")
	gang := Gang{Asks: []Ask{worker(0, 0, 0, host), worker(1, 1, 1000, rack), worker(2, 1, 1000, rack)}, Running: []Running{{Task: tf.TaskName{JobName: tf.Worker, TaskIndex: 3}, Part: 3, AgentID: "a2", Values: map[string]string{Hostname: "a2"}}}}
	gpus := Offer{ID: "o1", AgentID: "a1", Hostname: "a1", Attributes: []Attribute{{Name: "rack", Values: []string{"r1"}}}, Parts: []Part{{Resources: Resources{CPUs: 2000, GPUs: 2000}}}}
	plain := Offer{ID: "o2", AgentID: "a2", Hostname: "a2", Parts: []Part{{Resources: Resources{CPUs: 8000}}}}
	m := Match([]Offer{gpus, plain}, gang)
	if len(m.Accepts) != 2 || len(m.Accepts[0].Tasks) != 2 || m.Accepts[1].Tasks[0].Task.TaskIndex != 0 {
		t.Errorf("two workers with gpus at r1 and one anywhere are placed as in %+v", m)
	}
	gang.Asks[1].Resources.GPUs, gang.Asks[2].Resources.GPUs = 4000, 4000
	m = Match([]Offer{gpus, plain}, gang)
	if len(m.Unmet) != 2 {
		t.Errorf("%v wait, want the two that ask for 4 gpus", m.Unmet)
	}
	why := Explain([]Offer{gpus, plain}, gang, m.Unmet)
	if got, want := why[m.Unmet[0]].String(), "2 offers: 1 too little gpus (largest 2 of 4), 1 rack is missing"; got != want {
		t.Errorf("they wait for %q, want %q", got, want)
	}
}

func TestOffersThatWereNotThereAtOneTimeAreNotTakenForFull(t *testing.T) {
	unique, err := ParseConstraint("hostname unique")
	if err != nil {
		t.Fatal(err)
	}
	gang := Gang{Asks: []Ask{{Task: tf.TaskName{JobName: tf.Worker}}, {Task: tf.TaskName{JobName: tf.Worker, TaskIndex: 1}}}, Constraints: []Constraint{unique}}
	seen := []Offer{{ID: "o1", AgentID: "a1", Hostname: "a1"}, {ID: "o2", AgentID: "a2", Hostname: "a2"}}
	m := Match(seen[:1], gang)
	if got, want := Explain(seen, gang, m.Unmet)[m.Unmet[0]].String(), "2 offers: 2 with room, but not for all tasks at once"; got != want {
		t.Errorf("of two agents that offered one after the other it is said %q, want %q", got, want)
	}
}

// TestConstraintsHoldWhateverIsOffered draws attributes, constraints and tasks that run.
func TestConstraintsHoldWhateverIsOffered(t *testing.T) {
	draw := func(t *rapid.T, what string) []Constraint {
		var all []Constraint
		for _, text := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"rack == r1", "rack like r[12]", "rack unlike r2", "hostname unique", "rack max_per 2", "rack unique"}), 0, 2, rapid.ID).Draw(t, what) {
			c, err := ParseConstraint(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		return all
	}
	rapid.Check(t, func(t *rapid.T) {
		offers, asks := drawOffers(t), drawAsks(t)
		racks := map[string]Offer{}
		for i, o := range offers {
			known, found := racks[o.AgentID]
			if rack := rapid.SampledFrom([]string{"", "r1", "r2", "r3"}).Draw(t, "rack"); !found && rack != "" {
				known.Attributes = []Attribute{{Name: "rack", Values: []string{rack}}}
			}
			offers[i].Attributes = known.Attributes
			racks[o.AgentID] = offers[i]
		}
		jobs := map[string][]Constraint{"ps": draw(t, "of ps"), "worker": draw(t, "of workers")}
		spread := rapid.Bool().Draw(t, "spread")
		for i := range asks {
			asks[i].Constraints, asks[i].Spread = jobs[asks[i].Task.JobName], spread
		}
		gang := Gang{Asks: asks, Constraints: draw(t, "of all")}
		m := Match(offers, gang)
		at := map[string]map[string]int{} // constraint with its scope: value: tasks
		for _, a := range m.Accepts {
			o := racks[a.AgentID]
			for _, task := range a.Tasks {
				for scope, constraints := range map[string][]Constraint{"": gang.Constraints, task.Task.JobName: jobs[task.Task.JobName]} {
					for _, c := range constraints {
						if why := c.refuses(&o); why != "" {
							t.Fatalf("%s is on %s, where %s is %s", task.Task, a.AgentID, c.Attribute, why)
						}
						key := scope + "/" + c.String()
						if at[key] == nil {
							at[key] = map[string]int{}
						}
						at[key][o.Value(c.Attribute)]++
						if n := at[key][o.Value(c.Attribute)]; c.Counts() && n > c.most {
							t.Fatalf("%s: %d tasks are at %s", key, n, o.Value(c.Attribute))
						}
					}
				}
			}
		}
		for _, task := range m.Unmet {
			if r := Explain(offers, gang, m.Unmet)[task]; r.Offers > 0 && len(r.Reasons) == 0 {
				t.Fatalf("%s waits, and nothing says why: %s", task, r)
			}
		}
	})
}
