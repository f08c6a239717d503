package main

import (
	"fmt"
	"time"
)

type commandLine struct {
	Run     runCommand     `cmd:"" help:"Start a cluster and follow it to its end."`
	Plan    planCommand    `cmd:"" help:"Say what a spec would launch and where, or what is short; nothing is started."`
	Agents  agentsCommand  `cmd:"" help:"List what the agents of the master have free."`
	Status  statusCommand  `cmd:"" help:"Show a run of this machine."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// specFlags say what to run, for run and plan alike.
type specFlags struct {
	Spec string `arg:"" optional:"" help:"File of the spec, YAML or JSON; - reads standard input. Without one the flags below say what to run."`

	Name          string `env:"TFMESOS_NAME" help:"Name of the cluster; default: the spec's, else PROGRAM-4hex." placeholder:"NAME"`
	Image         string `env:"DOCKER_IMAGE" help:"Container image of jobs that name none; without one tasks are plain commands." placeholder:"IMAGE"`
	Containerizer string `env:"TFMESOS_CONTAINERIZER" help:"Who runs images: DOCKER or MESOS." placeholder:"DOCKER"`
	Role          string `env:"MESOS_FRAMEWORK_ROLE" help:"Mesos role to register with." placeholder:"*"`
	Attributes    string `env:"MESOS_ATTRIBUTES" help:"Attributes that agents must have, several separated by ; or ,: only those get tasks." placeholder:"KEY:VALUE"`

	Chief      string `env:"TFMESOS_CHIEF" help:"Number of chiefs: 0 or 1." placeholder:"N" group:"Without a spec"`
	PS         string `name:"ps" env:"TFMESOS_PS" help:"Number of parameter servers." placeholder:"N" group:"Without a spec"`
	Worker     string `env:"TFMESOS_WORKER" help:"Number of workers." placeholder:"N" group:"Without a spec"`
	Evaluator  string `env:"TFMESOS_EVALUATOR" help:"Number of evaluators: 0 or 1." placeholder:"N" group:"Without a spec"`
	CPUs       string `name:"cpus" env:"TFMESOS_CPUS" help:"CPUs of each task; default 1." placeholder:"N" group:"Without a spec"`
	Mem        string `env:"TFMESOS_MEM" help:"Memory of each task, in MiB or with a unit; default 1024." placeholder:"MIB" group:"Without a spec"`
	WorkerGPUs string `name:"worker-gpus" env:"TFMESOS_WORKER_GPUS" help:"GPUs of each worker." placeholder:"N" group:"Without a spec"`
}

type runCommand struct {
	specFlags

	Local bool `env:"TFMESOS_LOCAL" help:"Run on this machine: an own Mesos stand-in and Redis, both in this process."`
	connection

	Redis string `env:"REDIS_URL" help:"Redis that keeps the state; without one, an own in this process, gone with it." placeholder:"redis://…"`

	Sidecar   string `env:"TFMESOS_SIDECAR" help:"Program that tasks start; default: sidecar beside this program, with an image sidecar in its PATH." placeholder:"PATH"`
	Port      int    `env:"TFMESOS_PORT" help:"Port of the callback API; default 11000, or a free one when that is taken." placeholder:"N"`
	Advertise string `env:"TFMESOS_ADVERTISE" help:"Where tasks reach the callback API; default: the address used towards the master." placeholder:"HOST[:PORT]"`

	DownloadDir string `name:"download-dir" env:"TFMESOS_DOWNLOAD_DIR" help:"Folder whose files tasks may fetch as /v0/download/FILE; without one there is none." placeholder:"PATH"`
	ClusterFile string `env:"TFMESOS_CLUSTER_FILE" help:"File to write cluster_def and targets to, as JSON, once all tasks are ready; removed at the end." placeholder:"PATH"`

	Grace         time.Duration `env:"TFMESOS_GRACE" default:"20s" help:"How long an end may take, all in all."`
	OrphanTimeout time.Duration `env:"TFMESOS_ORPHAN_TIMEOUT" help:"How long tasks go on without a scheduler; default 15m, with the own Redis 5m." placeholder:"15m"`
	Keep          time.Duration `env:"TFMESOS_KEEP" default:"168h" help:"How long Redis keeps a run that has ended."`
	TFImport      string        `name:"tf-import" env:"TFMESOS_TF_IMPORT" enum:"lean,full" default:"lean" help:"How servers import TensorFlow: lean or full."`
	LogFormat     string        `env:"TFMESOS_LOG_FORMAT" enum:"text,json" default:"text" help:"Form of our lines on stderr: text or json."`
	Verbose       bool          `short:"v" env:"TFMESOS_VERBOSE" help:"Say more: calls, offers, requests."`
}

type planCommand struct {
	specFlags
	connection
	Offline bool   `env:"TFMESOS_OFFLINE" help:"Only validate: ask no master."`
	Output  string `short:"o" enum:"table,json" default:"table" env:"TFMESOS_OUTPUT" help:"Form of the output: table or json."`
}

type agentsCommand struct {
	connection
	Role   string `env:"MESOS_FRAMEWORK_ROLE" help:"Role for which resources count as free." placeholder:"*"`
	Output string `short:"o" enum:"table,json" default:"table" env:"TFMESOS_OUTPUT" help:"Form of the output: table or json."`
}

type statusCommand struct {
	Name   string `arg:"" optional:"" env:"TFMESOS_NAME" help:"Name of the cluster; may be left out while only one runs here."`
	Output string `short:"o" enum:"table,json" default:"table" env:"TFMESOS_OUTPUT" help:"Form of the output: table or json."`
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run() error {
	fmt.Println("scheduler " + version)
	return nil
}
