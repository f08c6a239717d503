package boot

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

var trio = callback.Assignment{Generation: 3, ClusterDef: tf.ClusterDef{"ps": {"10.0.0.7:4000"}, "worker": {"10.0.0.8:4001", "[fd00::5]:4002"}}}

func TestCommandLaunchIsExactlyThis(t *testing.T) {
	s := Setup{Task: tf.TaskName{JobName: "worker", TaskIndex: 1}, GPUs: 0, Workdir: "/data",
		Command: []string{"train", "--ps={ps_hosts}", "--workers={worker_hosts}", "{{port}}", "{job_name}{task_index}{unknown}{ps_hosts"},
		Env: []string{"A=1", "A=2", "TFMESOS_TOKEN=x", "TFMESOS_CALLBACK=x", "TFMESOS2_CLIENT_USERNAME=x", "TFMESOS_TASK_ID=kept",
			"TF_CONFIG={\"stale\"}", "NVIDIA_VISIBLE_DEVICES=all"}}
	launch, err := commandLaunch(s, 4002, trio)
	if err != nil {
		t.Fatal(err)
	}
	want := Launch{
		Argv: []string{"train", "--ps=10.0.0.7:4000", "--workers=10.0.0.8:4001,[fd00::5]:4002", "{4002}", "worker1{unknown}{ps_hosts"},
		Env: []string{
			"A=2", "CUDA_VISIBLE_DEVICES=-1", "NVIDIA_VISIBLE_DEVICES=void", "PYTHONUNBUFFERED=1",
			`TFMESOS_CLUSTER_DEF={"ps":["10.0.0.7:4000"],"worker":["10.0.0.8:4001","[fd00::5]:4002"]}`,
			"TFMESOS_GENERATION=3", "TFMESOS_JOB_NAME=worker", "TFMESOS_TASK_ID=kept", "TFMESOS_TASK_INDEX=1",
			`TF_CONFIG={"cluster":{"ps":["10.0.0.7:4000"],"worker":["10.0.0.8:4001","[fd00::5]:4002"]},"task":{"type":"worker","index":1}}`,
		},
		Dir: "/data",
	}
	if diff := cmp.Diff(want, launch); diff != "" {
		t.Errorf("the program is started otherwise (-want +got):\n%s", diff)
	}
}

func TestReplacedTextIsNotReplacedAgain(t *testing.T) {
	s := Setup{Task: tf.TaskName{JobName: "{port}"}, Side: true, Command: []string{"{job_name} {ps_hosts}"}}
	launch, err := commandLaunch(s, 1, callback.Assignment{})
	if err != nil || launch.Argv[0] != "{port} {ps_hosts}" {
		t.Errorf("%q, %v", launch.Argv, err)
	}
}

func TestWhoHasATFConfig(t *testing.T) {
	one := tf.ClusterDef{"worker": {"10.0.0.8:1"}}
	withEvaluator := tf.ClusterDef{"worker": {"10.0.0.8:1"}, "evaluator": {"10.0.0.9:1"}}
	for _, c := range []struct {
		name    string
		cluster tf.ClusterDef
		env     []string
		has     bool
	}{
		{"several tasks", trio.ClusterDef, nil, true},
		{"an evaluator counts", withEvaluator, nil, true},
		{"a single task", one, nil, false},
		{"set empty", trio.ClusterDef, []string{"TF_CONFIG="}, false},
		{"inherited from somebody", trio.ClusterDef, []string{"TF_CONFIG=x"}, true},
	} {
		s := Setup{Task: tf.TaskName{JobName: "worker"}, Command: []string{"x"}, Env: c.env}
		launch, err := commandLaunch(s, 1, callback.Assignment{Generation: 1, ClusterDef: c.cluster})
		has := slices.ContainsFunc(launch.Env, func(entry string) bool { return strings.HasPrefix(entry, "TF_CONFIG=") })
		if err != nil || has != c.has {
			t.Errorf("%s: TF_CONFIG set: %t, %v", c.name, has, err)
		}
	}
}

func TestGPUsAreHiddenOnlyFromTasksThatHaveNone(t *testing.T) {
	for _, c := range []struct {
		gpus         int
		env          string
		cuda, nvidia string
	}{
		{0, "X=", "-1", "void"},
		{0, "CUDA_VISIBLE_DEVICES=2", "2", "void"},
		{0, "NVIDIA_VISIBLE_DEVICES=GPU-5", "-1", "GPU-5"},
		{1, "NVIDIA_VISIBLE_DEVICES=all", "", "all"},
		{-1, "X=", "", ""},
	} {
		env := childEnv(Setup{GPUs: c.gpus, Env: []string{c.env}})
		if env["CUDA_VISIBLE_DEVICES"] != c.cuda || env["NVIDIA_VISIBLE_DEVICES"] != c.nvidia {
			t.Errorf("%d gpus with %s: CUDA %q, NVIDIA %q", c.gpus, c.env, env["CUDA_VISIBLE_DEVICES"], env["NVIDIA_VISIBLE_DEVICES"])
		}
	}
}

func TestKnownFault088PeersAreExceptedFromProxies(t *testing.T) {
	const hosts = "10.0.0.7,10.0.0.8,fd00::5"
	for _, c := range []struct {
		name string
		env  map[string]string
		want map[string]string
	}{
		{"no proxy", map[string]string{"no_proxy": "x"}, nil},
		{"an empty one", map[string]string{"http_proxy": ""}, nil},
		{"no exceptions", map[string]string{"HTTPS_PROXY": "p"}, map[string]string{"no_proxy": hosts, "NO_PROXY": hosts, "no_grpc_proxy": hosts}},
		{"one spelling", map[string]string{"http_proxy": "p", "NO_PROXY": ".corp, 10.0.0.7"},
			map[string]string{"no_proxy": ".corp,10.0.0.7,10.0.0.8,fd00::5", "NO_PROXY": ".corp,10.0.0.7,10.0.0.8,fd00::5", "no_grpc_proxy": ".corp,10.0.0.7,10.0.0.8,fd00::5"}},
		{"all are", map[string]string{"grpc_proxy": "p", "no_proxy": "*"}, map[string]string{"no_proxy": "*", "NO_PROXY": "*", "no_grpc_proxy": "*"}},
	} {
		if diff := cmp.Diff(c.want, proxyEnv(c.env, trio.ClusterDef)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestServerIsToldItsConfigurationOnOneLine(t *testing.T) {
	s := Setup{Task: tf.TaskName{JobName: "ps"}, Python: "python3", Import: ImportLean, Env: []string{"http_proxy=p"}}
	if launch := serverLaunch(s); !launch.Server || !slices.Equal(launch.Argv, []string{"python3", "lean"}) {
		t.Errorf("%+v", launch)
	}
	server, err := serverConfig(s, trio)
	if err != nil {
		t.Fatal(err)
	}
	if server.Config.Task != (tf.ConfigTask{Type: "ps"}) || server.Env["TF_CONFIG"] != server.Config.JSON() || server.Env["no_proxy"] == "" {
		t.Errorf("%+v", server)
	}
}

func TestMessageKeepsItsEnd(t *testing.T) {
	long := strings.Repeat("first line\n", 1000) + "the last line"
	if got := tail(long); len(got) > callback.MaxMessage || !strings.HasPrefix(got, "first line\n") || !strings.HasSuffix(got, "the last line") {
		t.Errorf("%d bytes, %.20q … %q", len(got), got, got[max(0, len(got)-20):])
	}
	if got := tail(strings.Repeat("ü", callback.MaxMessage)); len(got) > callback.MaxMessage || strings.Trim(got, "ü") != "" {
		t.Errorf("a single line is cut to %d bytes", len(got))
	}
}
