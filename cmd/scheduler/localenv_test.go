package main

import (
	"testing"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
)

func TestDevicesAreLookedForOnlyIfATaskWantsOne(t *testing.T) {
	job := func(num int, gpus offer.Milli) cluster.Job {
		return cluster.Job{Num: num, Resources: offer.Resources{CPUs: 1000, GPUs: gpus}}
	}
	for name, test := range map[string]struct {
		jobs []cluster.Job
		want bool
	}{
		"no job wants one":     {[]cluster.Job{job(2, 0), job(1, 0)}, false},
		"one job of two":       {[]cluster.Job{job(1, 0), job(1, 2000)}, true},
		"a job without a task": {[]cluster.Job{job(1, 0), job(0, 1000)}, false},
	} {
		if got := localResources(&cluster.Spec{Jobs: test.jobs}).GPUs; got != test.want {
			t.Errorf("%s: devices are looked for: %t, want %t", name, got, test.want)
		}
	}
}
