package spec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/offer"
)

func TestFlagsMakeTheSpecOfTheCommonCase(t *testing.T) {
	got, err := FromFlags(Flags{
		Defaults: Defaults{Name: "ctr", Image: "tf:2.21", Role: "lab", Dir: "/home/u"},
		Chief:    "1", PS: "1", Worker: "2", WorkerGPUs: "1", CPUs: "0.5", Mem: "2GiB",
		Command: []string{"python", "x.py"},
	})
	if err != nil {
		t.Fatal(err)
	}
	job := func(name string, num int, gpus offer.Milli) cluster.Job {
		return cluster.Job{Name: name, Num: num, Image: "tf:2.21", Command: []string{"python", "x.py"},
			Resources: offer.Resources{CPUs: 500, Mem: 2048_000, GPUs: gpus}}
	}
	want := cluster.Spec{
		Name: "ctr", Image: "tf:2.21", Role: "lab", Containerizer: "DOCKER", Dir: "/home/u", Deadlines: cluster.DefaultDeadlines,
		Jobs: []cluster.Job{job("chief", 1, 0), job("ps", 1, 0), job("worker", 2, 1000)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spec of the flags (-want +got):\n%s", diff)
	}
}

func TestFlagsWithoutACommandAreServers(t *testing.T) {
	got, err := FromFlags(Flags{Worker: "2", PS: "0"})
	if err != nil {
		t.Fatal(err)
	}
	want := cluster.Spec{Containerizer: "MESOS", Deadlines: cluster.DefaultDeadlines,
		Jobs: []cluster.Job{{Name: "worker", Num: 2, Resources: offer.Resources{CPUs: 1000, Mem: 1024_000}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spec of the flags (-want +got):\n%s", diff)
	}
}

func TestProblemsOfFlagsAreNamedByFlagAllAtOnce(t *testing.T) {
	_, err := FromFlags(Flags{
		Defaults: Defaults{Name: "-x", Role: "a b", Containerizer: "DOCKER"},
		Chief:    "2", Worker: "-1", WorkerGPUs: "0.5", CPUs: "0", Mem: "8G",
		Command: []string{"", "a\x00"},
	})
	want := `--name: -x: want 1 to 40 of a-z, 0-9 and -, with no - at either end
--role: a b: want a Mesos role: no blanks, no level that is empty, . or .., or begins with -
--cpus: 0: want a number of CPUs above 0, as in 0.5
--mem: 8G: want memory above 0: a number of MiB, or one with KiB, MiB, GiB, TiB, KB, MB, GB or TB, as in 8GiB
--worker-gpus: 0.5: want a whole number of GPUs
--worker: -1: want a whole number of tasks, from 0 to 10000
--: "": want a command: a program and its arguments, without NUL bytes
--: "a\x00": want a command: a program and its arguments, without NUL bytes
--chief: 2: want at most one chief: TensorFlow takes no more
--containerizer: want an image for each job, chief has none; or MESOS`
	if err == nil {
		t.Fatal("the flags were taken")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestFlagsOfNoTaskAreRefused(t *testing.T) {
	_, err := FromFlags(Flags{Worker: "0"})
	const want = "want a spec, or at least one task by --chief, --ps, --worker or --evaluator"
	if err == nil || err.Error() != want {
		t.Errorf("FromFlags says %v, want %s", err, want)
	}
}
