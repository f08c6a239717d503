package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"tfmesos/scheduler"
	"tfmesos/scheduler/cluster"
	"tfmesos/scheduler/dial"
	"tfmesos/scheduler/driver"
	"tfmesos/scheduler/httpapi"
	"tfmesos/scheduler/local"
	"tfmesos/scheduler/mesos"
	"tfmesos/scheduler/runfile"
	"tfmesos/scheduler/store"
	"tfmesos/scheduler/view"
	"tfmesos/shared/callback"
	"tfmesos/shared/logkey"
	"tfmesos/shared/tf"
)

// house is a run with everything it is built of. Parts are there from the step of build that makes them.
type house struct {
	run      *runCommand
	start    time.Time
	signals  chan os.Signal
	logger   *slog.Logger
	unplaced bool // the spec had constraints, which do not count on one machine

	unlock    func() // gives the name free
	local     *local.Mesos
	sandboxes string
	embedded  *store.Embedded
	store     *store.Store
	lease     *store.Lease
	api       *httpapi.Server
	loop      *scheduler.Scheduler
	stop      atomic.Pointer[cluster.Stopped] // the first signal's
	terminal  *view.Terminal
	events    []callback.EventStatus

	mesos mesos.Config // without the framework
	token string       // the operator's
}

// build makes the parts in the order in which they need one another. What fails is closed by close.
func (h *house) build(ctx context.Context, spec cluster.Spec) error {
	sidecar, err := h.run.sidecar(&spec)
	if err != nil {
		return err
	}
	if err := h.lockName(spec.Name); err != nil {
		return err
	}
	if err := h.openStore(ctx); err != nil {
		return err
	}
	record, err := h.peek(ctx, &spec)
	if err != nil {
		return err
	}
	h.token = randomHex(32)
	source := &lateSource{}
	if h.api, err = h.listen(source, h.portBefore(record)); err != nil {
		return err
	}
	callbacks, err := h.callbacks(ctx)
	if err != nil {
		return err
	}
	if err := h.checkDownloads(&spec, callbacks); err != nil {
		return err
	}
	c, err := h.claim(ctx, spec, strings.TrimPrefix(callbacks[0], "http://"))
	if err != nil {
		return err
	}
	if err := h.openMesos(ctx, &c.Spec); err != nil {
		return err
	}
	h.settle(c, sidecar, callbacks)
	h.mesos.Framework, h.mesos.Logger = h.framework(c, callbacks[0]+callback.PathCluster), h.logger
	client, err := mesos.New(h.mesos)
	if err != nil {
		return usage("%v", err)
	}
	h.terminal = h.run.terminal(c)
	h.loop = scheduler.New(scheduler.Config{Store: h.lease, Mesos: client, Logger: h.logger, Observe: h.observe, RenewEvery: renewEvery, Drive: h.drive, Probe: dial.Wait,
		Final: func(err error) bool { return errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrLost) }}, c)
	source.Scheduler = h.loop
	return h.announce(c, callbacks[0])
}

// lateSource breaks the circle between the server, whose port the cluster must know, and the loop, which owns the cluster.
type lateSource struct{ *scheduler.Scheduler }

func (h *house) openStore(ctx context.Context) error {
	url := h.run.Redis
	if url == "" {
		embedded, err := store.StartEmbedded()
		if err != nil {
			return err
		}
		h.embedded, url = embedded, embedded.URL()
		h.run.Redis = url
	}
	opened, err := store.Open(ctx, url, store.Options{})
	if err != nil {
		return &outcome{cluster.ExitAway, err.Error() + "; is REDIS_URL right, and does it run?"}
	}
	h.store = opened
	return nil
}

// localPrincipal is who we are at the local Mesos.
const localPrincipal = "tfmesos"

// openMesos starts the local Mesos, or reads how a real one is reached.
func (h *house) openMesos(ctx context.Context, spec *cluster.Spec) error {
	if !h.run.Local {
		var err error
		h.mesos, err = h.run.connection.config()
		return err
	}
	sandboxes, err := runfile.Sandboxes(spec.Name)
	if err != nil {
		return &outcome{cluster.ExitJobFailed, err.Error()}
	}
	secret := randomHex(32)
	h.sandboxes = sandboxes
	h.local, err = local.Start(ctx, local.Config{WorkDir: sandboxes, Principal: localPrincipal, Secret: secret, Resources: localResources(spec),
		Env: localEnvironment(os.Environ()), Logger: h.logger})
	if err != nil {
		return fmt.Errorf("start the local Mesos: %w", err)
	}
	h.mesos = mesos.Config{Master: h.local.Addr(), Principal: localPrincipal, Secret: mesos.Secret(secret)}
	return nil
}

// portBefore returns the port at which the tasks of a run to resume look for their scheduler, 0 if there is none.
func (h *house) portBefore(record *store.Record) int {
	if !h.resumes(record) {
		return 0
	}
	_, text, err := net.SplitHostPort(record.Leader.Address)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(text) // 0 if it is none
	return port
}

func (h *house) listen(source httpapi.Source, before int) (*httpapi.Server, error) {
	host, ports := "", []int{defaultPort, 0}
	switch {
	case h.run.Port != 0:
		ports = []int{h.run.Port}
	case before != 0: // at another port the tasks would not find us
		ports = []int{before}
	}
	if h.run.Local {
		host = "127.0.0.1"
	}
	var api *httpapi.Server
	var err error
	for _, port := range ports {
		api, err = httpapi.New(httpapi.Config{Listen: net.JoinHostPort(host, strconv.Itoa(port)), OperatorToken: h.token, DownloadDir: h.run.DownloadDir, Logs: h.output, Logger: h.logger}, source)
		if !errors.Is(err, httpapi.ErrPortTaken) {
			break
		}
	}
	if err != nil && before != 0 {
		return nil, usage("%v, and the tasks of the run to resume look for their scheduler there; end what has it, and run this again", err)
	}
	if err != nil {
		return nil, usage("%v; end what has it, or give another --port", err)
	}
	return api, nil
}

// output shows what a task's program writes. It is called only while tasks run, so after build.
func (h *house) output(task tf.TaskName, _ int, log callback.Log) {
	if log.Dropped > 0 && h.run.LogFormat == "json" {
		h.logger.Warn(fmt.Sprintf("%s: %d lines of output were dropped", task, log.Dropped), logkey.Task, task.String())
		log.Dropped = 0
	}
	h.terminal.Output(task, log)
}

// drive runs the driver here, with what we were started with but our settings and secrets. It is the program of the run, so
// nothing stands before its lines.
func (h *house) drive(ctx context.Context, drive cluster.Drive) cluster.DriverEnded {
	return driver.Run(ctx, driver.Config{Environ: localEnvironment(os.Environ()), Grace: h.run.Grace / 2, Output: h.terminal.Driver}, drive)
}

// callbacks returns the URLs at which tasks reach us.
func (h *house) callbacks(ctx context.Context) ([]string, error) {
	port := h.api.Addr().Port
	host := "127.0.0.1"
	switch {
	case h.run.Advertise != "":
		given, text, err := net.SplitHostPort(h.run.Advertise)
		if err != nil {
			given = strings.Trim(h.run.Advertise, "[]")
		} else if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
			return nil, usage("--advertise %s: want HOST or HOST:PORT with a port from 1 to 65535", h.run.Advertise)
		}
		host = given
	case !h.run.Local:
		address, err := mesos.LocalAddress(ctx, h.run.Master)
		if err != nil { // no name of theirs is known now: any address of ours is a guess
			address = outwardAddress()
		}
		host = address.String()
	}
	return []string{"http://" + tf.JoinAddress(host, port)}, nil
}

// outwardAddress returns the first address of this machine that is not loopback, else 127.0.0.1.
func outwardAddress() netip.Addr {
	addresses, err := net.InterfaceAddrs()
	if err == nil {
		for _, a := range addresses {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().IsGlobalUnicast() {
				return prefix.Addr()
			}
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

func (h *house) framework(c *cluster.Cluster, webUI string) mesos.Framework {
	hostname, _ := os.Hostname() // shown to people only
	gpus := false
	for _, job := range c.Spec.Jobs {
		gpus = gpus || job.Num > 0 && job.Resources.GPUs > 0
	}
	c.Framework.WebUIURL, c.Framework.Principal = webUI, h.mesos.Principal
	c.Framework.FailoverTimeout = h.run.OrphanTimeout + time.Minute
	return mesos.Framework{Name: fmt.Sprintf("tfmesos %s (%s)", c.Spec.Name, userName()), User: userName(), Role: c.Spec.Role, Hostname: hostname,
		WebUIURL: webUI, FailoverTimeout: c.Framework.FailoverTimeout, GPUs: gpus}
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "uid-" + strconv.Itoa(os.Getuid())
}

// settle gives the cluster what this process knows.
func (h *house) settle(c *cluster.Cluster, sidecar string, callbacks []string) {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	values := map[string]string{}
	for _, job := range c.Spec.Jobs {
		for name, value := range job.Env {
			if value == nil {
				values[name] = os.Getenv(name)
			}
		}
	}
	settings := cluster.Settings{Callbacks: callbacks, Sidecar: sidecar, Secret: secret, Values: values, Grace: h.run.Grace,
		OrphanTimeout: h.run.OrphanTimeout, TFImport: h.run.TFImport}
	if c.Framework.ID != "" {
		c.Resume(settings, time.Now())
	} else {
		c.Settings = settings
	}
}

// sidecar returns the program that tasks start.
func (r *runCommand) sidecar(spec *cluster.Spec) (string, error) {
	if r.Sidecar != "" && !r.Local {
		return r.Sidecar, nil
	}
	if strings.ContainsRune(r.Sidecar, '/') {
		return executable(r.Sidecar)
	}
	plain := false
	for _, job := range spec.Jobs {
		plain = plain || job.Image == ""
	}
	if !plain {
		return "sidecar", nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return executable(filepath.Join(filepath.Dir(self), "sidecar"))
}

// executable returns the absolute path of a sidecar on this machine, since tasks have working directories of their own.
func executable(sidecar string) (string, error) {
	path, err := filepath.Abs(sidecar)
	if err != nil {
		return "", fmt.Errorf("find the sidecar: %w", err)
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return "", usage("nothing to run with: there is no program %s; build it (make build) or give --sidecar PATH", path)
	}
	return path, nil
}
