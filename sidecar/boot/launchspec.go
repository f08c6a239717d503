package boot

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// Launch says how to start the child.
type Launch struct {
	// Server: it is the Python of server mode; Argv is then the interpreter and the Import wanted.
	Server bool
	Argv   []string
	Env    []string // KEY=VALUE, sorted, each KEY once
	Dir    string   // empty: the sidecar's
}

// Server is what the Python of server mode still needs once the cluster is known, as JSON on one line.
type Server struct {
	Config tf.Config         `json:"config"`
	Env    map[string]string `json:"env,omitempty"` // to be added to its environment
}

// serverLaunch starts Python before anything of the cluster is known.
func serverLaunch(s Setup) Launch {
	env := childEnv(s)
	if _, set := env["TF_CPP_MIN_LOG_LEVEL"]; !set { // what a server does is nobody's output: its warnings and errors will do
		env["TF_CPP_MIN_LOG_LEVEL"] = "1"
	}
	return Launch{Server: true, Argv: []string{s.Python, s.Import}, Env: join(env), Dir: s.Workdir}
}

// serverConfig is the rest of serverLaunch.
func serverConfig(s Setup, a callback.Assignment) (Server, error) {
	config, err := tf.ConfigFor(a.ClusterDef, s.Task)
	if err != nil {
		return Server{}, err
	}
	env := clusterEnv(a)
	nameTask(env, s.Task)
	env["TF_CONFIG"] = config.JSON()
	maps.Copy(env, proxyEnv(split(s.Env), a.ClusterDef))
	return Server{Config: config, Env: env}, nil
}

// commandLaunch is the user's program. A side task has no Assignment: the zero one.
func commandLaunch(s Setup, port int, a callback.Assignment) (Launch, error) {
	env := childEnv(s)
	if !s.Side {
		config, err := tf.ConfigFor(a.ClusterDef, s.Task)
		if err != nil {
			return Launch{}, err
		}
		maps.Copy(env, clusterEnv(a))
		maps.Copy(env, proxyEnv(env, a.ClusterDef))
		if wantsConfig(s, a.ClusterDef) {
			env["TF_CONFIG"] = config.JSON()
		}
	}
	names := replacer(s, port, a.ClusterDef)
	argv := make([]string, len(s.Command))
	for i, arg := range s.Command {
		argv[i] = names.Replace(arg)
	}
	return Launch{Argv: argv, Env: join(env), Dir: s.Workdir}, nil
}

// wantsConfig: a single task is no cluster: with a TF_CONFIG some strategies would wait for others or refuse to start. And
// whoever sets TF_CONFIG to nothing wants none.
func wantsConfig(s Setup, d tf.ClusterDef) bool {
	tasks := 0
	for _, addresses := range d {
		tasks += len(addresses)
	}
	own, set := split(s.Env)["TF_CONFIG"]
	return tasks > 1 && !(set && own == "")
}

// replacer fills in the known {names} and leaves everything else as it is: programs have braces of their own.
func replacer(s Setup, port int, d tf.ClusterDef) *strings.Replacer {
	pairs := []string{
		"{job_name}", s.Task.JobName,
		"{task_index}", strconv.Itoa(s.Task.TaskIndex),
		"{port}", strconv.Itoa(port),
	}
	if !s.Side {
		for _, job := range []string{tf.Chief, tf.Worker, tf.PS, tf.Evaluator} {
			pairs = append(pairs, "{"+job+"_hosts}", strings.Join(d[job], ","))
		}
	}
	return strings.NewReplacer(pairs...)
}

// plumbing is what the sidecar needs and its child must not see (the credentials) or has no use for.
var plumbing = []string{
	"TFMESOS_TOKEN", "TFMESOS_CALLBACK", "TFMESOS_SIDE", "TFMESOS_COMMAND", "TFMESOS_GRACE", "TFMESOS_ORPHAN_TIMEOUT",
	"TFMESOS_TF_IMPORT", "TFMESOS_PYTHON", "TFMESOS_WORKDIR", "TFMESOS_GPUS",
	"TFMESOS2_CLIENT_USERNAME", "TFMESOS2_CLIENT_PASSWORD", "TFMESOS2_VERIFY_SSL", "TFMESOS2_REQUEST_TIMEOUT",
	"TF_CONFIG", // an inherited one is somebody else's
}

// childEnv is the part of the child's environment that does not depend on the cluster.
func childEnv(s Setup) map[string]string {
	env := split(s.Env)
	for _, name := range plumbing {
		delete(env, name)
	}
	nameTask(env, s.Task)
	if _, set := env["PYTHONUNBUFFERED"]; !set {
		env["PYTHONUNBUFFERED"] = "1"
	}
	if s.GPUs == 0 {
		hideGPUs(env)
	}
	return env
}

// nameTask says whose child it is, once that is known.
func nameTask(env map[string]string, task tf.TaskName) {
	if task.JobName != "" {
		env["TFMESOS_JOB_NAME"], env["TFMESOS_TASK_INDEX"] = task.JobName, strconv.Itoa(task.TaskIndex)
	}
}

// hideGPUs keeps a task without gpus off those of its agent: GPU images set NVIDIA_VISIBLE_DEVICES=all, so that value is
// nobody's wish; any other is.
func hideGPUs(env map[string]string) {
	if devices := env["NVIDIA_VISIBLE_DEVICES"]; devices == "" || devices == "all" {
		env["NVIDIA_VISIBLE_DEVICES"] = "void"
	}
	if _, set := env["CUDA_VISIBLE_DEVICES"]; !set {
		env["CUDA_VISIBLE_DEVICES"] = "-1"
	}
}

// clusterEnv is what the child is told of the cluster beside TF_CONFIG.
func clusterEnv(a callback.Assignment) map[string]string {
	text, err := json.Marshal(a.ClusterDef)
	if err != nil {
		panic(err) // strings always marshal
	}
	return map[string]string{"TFMESOS_GENERATION": strconv.Itoa(a.Generation), "TFMESOS_CLUSTER_DEF": string(text)}
}

// proxyEnv keeps the tasks' traffic among themselves off a proxy: gRPC obeys the same variables as curl does. Without a
// proxy it is empty.
func proxyEnv(env map[string]string, d tf.ClusterDef) map[string]string {
	proxied := func(name string) bool { return env[name] != "" || env[strings.ToUpper(name)] != "" }
	if !slices.ContainsFunc([]string{"http_proxy", "https_proxy", "grpc_proxy", "all_proxy"}, proxied) {
		return nil
	}
	exceptions := map[string]string{}
	for _, name := range []string{"no_proxy", "NO_PROXY", "no_grpc_proxy"} {
		before, set := env[name]
		for _, other := range []string{"no_proxy", "NO_PROXY"} { // who reads one does not read the other
			if !set {
				before, set = env[other]
			}
		}
		exceptions[name] = addHosts(before, d)
	}
	return exceptions
}

// addHosts adds the cluster's hosts to a list of proxy exceptions; "*" has them all already.
func addHosts(list string, d tf.ClusterDef) string {
	var hosts []string
	for _, host := range strings.Split(list, ",") {
		if host = strings.TrimSpace(host); host != "" {
			hosts = append(hosts, host)
		}
	}
	if slices.Contains(hosts, "*") {
		return list
	}
	for _, job := range slices.Sorted(maps.Keys(d)) {
		for _, address := range d[job] {
			host := strings.Trim(address[:strings.LastIndexByte(address, ':')], "[]")
			if !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
	}
	return strings.Join(hosts, ",")
}

// split reads KEY=VALUE entries; of a KEY that comes twice the last counts, as with execve in most shells.
func split(env []string) map[string]string {
	values := make(map[string]string, len(env))
	for _, entry := range env {
		if name, value, found := strings.Cut(entry, "="); found && name != "" {
			values[name] = value
		}
	}
	return values
}

func join(values map[string]string) []string {
	env := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+values[name])
	}
	return env
}
