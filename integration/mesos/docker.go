package mesosrig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// dockerReadyWithin is how long a daemon may take from its start until it answers. It is 0.2 s where nothing else happens.
	dockerReadyWithin = 30 * time.Second
	// dockerDownWithin is how long a daemon may take to end; it ends what is left of its containers itself.
	dockerDownWithin = 30 * time.Second
	// dockerSlots is how many daemons of one user's rigs may run at once.
	dockerSlots = 20
)

// Docker is a Docker daemon that has the image Image: one that was there, or one the rig has started. Its methods may be
// called from several goroutines.
type Docker struct {
	socket string // path
	slot   string // the cache directory of a daemon of ours, empty for one that was there
	unlock func()
	daemon *daemon
	users  int // of the same process; guarded by running.mu
}

// running is the daemon of this process, which all rigs of the process share.
var running struct {
	mu     sync.Mutex
	docker *Docker
}

// UpDocker returns a Docker daemon that has the base image, for as long as Down is not called. It is the one at DOCKER_HOST or
// /var/run/docker.sock when that answers, else one that this process starts, with the host's network only. All callers in one
// process share one. The image is made once for all, which takes 40 s.
//
// ErrUnavailable says that something is to be installed, or that this takes root; ErrNoDocker that a daemon does not start here.
func UpDocker(ctx context.Context, logf func(format string, args ...any)) (*Docker, error) {
	running.mu.Lock()
	defer running.mu.Unlock()
	if running.docker == nil {
		d, err := upDocker(ctx, Config{Logf: logf})
		if err != nil {
			return nil, err
		}
		running.docker = d
	}
	running.docker.users++
	return running.docker, nil
}

// Down gives the daemon back. The last to do so ends it, if the rig has started it, with its containers.
func (d *Docker) Down() error {
	running.mu.Lock()
	defer running.mu.Unlock()
	if d.users--; d.users > 0 {
		return nil
	}
	running.docker = nil
	return d.down()
}

// Host is what DOCKER_HOST is to be set to.
func (d *Docker) Host() string { return "unix://" + d.socket }

// Image is the name of the base image: the smallest Debian of this machine's release, with python3.
func (d *Docker) Image() string { return imageName() }

// Command returns a command of Docker's client for this daemon, like Command(ctx, "ps", "--quiet").
func (d *Docker) Command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "docker", append([]string{"--host", d.Host()}, args...)...)
}

func (d *Docker) output(ctx context.Context, args ...string) (string, error) {
	out, err := d.Command(ctx, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, text)
	}
	return text, nil
}

func upDocker(ctx context.Context, cfg Config) (*Docker, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, missingError([]need{dockerNeeds[0]})
	}
	d := &Docker{socket: ambientSocket()}
	if d.socket == "" || !d.answers(ctx) {
		started, err := startDocker(ctx)
		if err != nil {
			return nil, err
		}
		d = started
	}
	if err := d.provideImage(ctx, cfg); err != nil {
		return nil, errors.Join(err, d.down())
	}
	return d, nil
}

// ambientSocket is the path of the daemon that Docker's client would ask; empty when it is no socket, the only thing an agent
// can be given.
func ambientSocket() string {
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		return "/var/run/docker.sock"
	}
	path, ok := strings.CutPrefix(host, "unix://")
	if !ok {
		return ""
	}
	return path
}

func (d *Docker) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return d.Command(ctx, "version").Run() == nil
}

// startDocker starts a daemon in the first slot that no other process uses. What is below the slot stays for the next one, so
// that an image is there already; what is below its run directory goes.
func startDocker(ctx context.Context) (*Docker, error) {
	if err := checkDockerMachine(); err != nil {
		return nil, err
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	slot, unlock, err := lockSlot(filepath.Join(cache, "docker"))
	if err != nil {
		return nil, err
	}
	run := runDir(slot)
	d := &Docker{socket: filepath.Join(run, "docker.sock"), slot: slot, unlock: unlock}
	d.daemon = &daemon{
		name: "dockerd", log: filepath.Join(slot, "log"), env: baseEnv(),
		// It ends in order, with its containers, when this process is killed.
		deathSignal: syscall.SIGTERM,
		argv: []string{findProgram("dockerd"), "--host", d.Host(),
			"--data-root", filepath.Join(slot, "data"), "--exec-root", filepath.Join(run, "exec"), "--pidfile", filepath.Join(run, "pid"),
			"--bridge=none", "--iptables=false", "--ip-masq=false", "--ip-forward=false", "--shutdown-timeout=3"},
	}
	err = d.endFormer(ctx)
	if err == nil {
		err = errors.Join(os.MkdirAll(run, 0o711), os.RemoveAll(d.daemon.log), d.daemon.start())
	}
	if err == nil {
		err = d.awaitAnswer(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, d.down())
	}
	return d, nil
}

// lockSlot takes the first directory below dir whose lock is free, and clears up in all others that killed processes have left.
func lockSlot(dir string) (slot string, unlock func(), err error) {
	for i := range dockerSlots {
		candidate := filepath.Join(dir, strconv.Itoa(i))
		if slot != "" && !exists(runDir(candidate)) {
			continue
		}
		free, err := tryLock(candidate)
		switch {
		case err != nil:
			return "", nil, err
		case free == nil:
		case slot == "":
			slot, unlock = candidate, free
		default:
			if formerDaemon(candidate) == 0 {
				err = clearRunDir(candidate)
			}
			free()
			if err != nil {
				return "", nil, err
			}
		}
	}
	if slot == "" {
		err = fmt.Errorf("all %d Docker daemons of the rigs of this user are running (%s)", dockerSlots, dir)
	}
	return slot, unlock, err
}

// tryLock returns nil when somebody has the slot. The kernel gives the lock back when its holder dies.
func tryLock(slot string) (unlock func(), err error) {
	if err := os.MkdirAll(slot, 0o711); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(slot, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		file.Close()
		return nil, nil
	}
	return func() { file.Close() }, nil
}

// runDir is where a slot's daemon has its socket and what it knows of running containers. It is the same each time, so that the
// next daemon finds containers of one that was killed, and ends them. Its path is short, because those of sockets must be.
func runDir(slot string) string { return "/run/tfmesos-docker-" + hashOf(slot)[:8] }

// endFormer ends the daemon that a killed process has left in the slot, if it still lives.
func (d *Docker) endFormer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dockerDownWithin)
	defer cancel()
	pid := formerDaemon(d.slot)
	if pid == 0 {
		return nil
	}
	_ = syscall.Kill(pid, syscall.SIGTERM) // a second one would make it forget its containers
	err := poll(ctx, 50*time.Millisecond, func() (bool, error) { return formerDaemon(d.slot) == 0, nil })
	if err != nil {
		return fmt.Errorf("end the dockerd %d that an earlier process has left: %w", pid, err)
	}
	return nil
}

// formerDaemon is the process of the slot's daemon, 0 when it has ended.
func formerDaemon(slot string) int {
	text, _ := os.ReadFile(filepath.Join(runDir(slot), "pid"))
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || !strings.Contains(commandLine(pid), slot+"/") {
		return 0
	}
	return pid
}

func (d *Docker) awaitAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dockerReadyWithin)
	defer cancel()
	err := poll(ctx, 50*time.Millisecond, func() (bool, error) {
		if !d.daemon.running() {
			return false, errors.New("it has ended")
		}
		return d.answers(ctx), nil
	})
	if err != nil {
		return fmt.Errorf("%w: wait for dockerd to answer: %w\n%s", ErrNoDocker, err, d.daemon.logTail(tailLines))
	}
	return nil
}

// down ends a daemon of ours with all its containers and leaves its slot to others.
func (d *Docker) down() error {
	if d.daemon == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), dockerDownWithin)
	defer cancel()
	var errs []error
	if d.daemon.running() && exists(d.socket) {
		if ids, err := d.output(ctx, "ps", "--all", "--quiet"); err == nil && ids != "" {
			_, err := d.output(ctx, append([]string{"rm", "--force", "--volumes"}, strings.Fields(ids)...)...)
			errs = append(errs, err)
		}
	}
	errs = append(errs, d.daemon.stop(syscall.SIGTERM), clearRunDir(d.slot))
	d.daemon = nil // the slot is somebody else's now
	d.unlock()
	return errors.Join(errs...)
}

// clearRunDir removes what a daemon that has ended leaves outside of its slot.
func clearRunDir(slot string) error {
	return errors.Join(unmountBelow(slot), unmountBelow(runDir(slot)), os.RemoveAll(runDir(slot)))
}

// unmountBelow undoes what a daemon has mounted in the directory, which outlives it.
func unmountBelow(dir string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	var errs []error
	for _, line := range slices.Backward(strings.Split(string(table), "\n")) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			errs = append(errs, syscall.Unmount(fields[4], syscall.MNT_DETACH))
		}
	}
	return errors.Join(errs...)
}
