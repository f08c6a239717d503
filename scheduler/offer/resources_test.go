package offer

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestKnownFault027AmountsAreRoundedToThreeDecimals(t *testing.T) {
	for v, want := range map[float64]Milli{0: 0, 0.1: 100, 0.1 + 0.2: 300, 0.0004: 0, 0.0005: 1, 0.9996: 1000, 8192: 8192000, 1.0005: 1001, -0.5: -500} {
		if got := FromFloat(v); got != want {
			t.Errorf("%v is %d thousandths, want %d", v, got, want)
		}
	}
}

func TestAmountsSurviveTheWayThroughMesos(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Milli(rapid.Int64Range(-1e12, 1e12).Draw(t, "thousandths"))
		if got := FromFloat(m.Float()); got != m {
			t.Fatalf("%d thousandths come back as %d", m, got)
		}
		if sum := FromFloat(math.Nextafter(m.Float(), math.Inf(1))); sum != m {
			t.Fatalf("%d thousandths and the smallest error make %d", m, sum)
		}
	})
}

func TestResourcesReadLikeASentence(t *testing.T) {
	for want, r := range map[string]Resources{
		"nothing":                            {},
		"cpus 0.5, mem 1024":                 {CPUs: 500, Mem: 1024000},
		"cpus 1, mem 0.001, disk 10, gpus 2": {CPUs: 1000, Mem: 1, Disk: 10000, GPUs: 2000},
		"mem 16777216":                       {Mem: 16777216000},
		"cpus -0.5":                          {CPUs: -500},
	} {
		if got := r.String(); got != want {
			t.Errorf("%#v reads %q, want %q", r, got, want)
		}
	}
}

func TestOneShortResourceIsEnoughNotToFit(t *testing.T) {
	whole := Resources{CPUs: 1000, Mem: 2000, Disk: 3000, GPUs: 1000}
	if !whole.Contains(whole) || !whole.Contains(Resources{}) {
		t.Errorf("%v does not hold itself, or not nothing", whole)
	}
	for _, more := range []Resources{{CPUs: 1}, {Mem: 1}, {Disk: 1}, {GPUs: 1}} {
		if whole.Contains(whole.Add(more)) {
			t.Errorf("%v holds %v", whole, whole.Add(more))
		}
		if got := whole.Add(more).Sub(more); got != whole {
			t.Errorf("%v, %v added and taken away, is %v", whole, more, got)
		}
	}
}
