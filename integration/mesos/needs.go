package mesosrig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// ErrUnavailable is returned when this machine lacks what the rig needs; the text around it says what, and how to get it.
var ErrUnavailable = errors.New("mesosrig: not available here")

// ErrNoDocker is returned where a Docker daemon cannot be started; the text around it says why.
var ErrNoDocker = errors.New("mesosrig: Docker does not start here")

// withoutDocker is the variable whose value "no" skips tests that need Docker.
const withoutDocker = "TFMESOS_TEST_DOCKER"

// need is one thing the rig cannot do without, and the Debian package that has it.
type need struct{ name, debian string }

// runNeeds are the shared libraries Mesos itself is linked against, as far as a minimal Debian lacks them.
var runNeeds = []need{
	{"libsvn_delta-1.so.1", "libsvn1"},
	{"libsvn_subr-1.so.1", "libsvn1"},
	{"libapr-1.so.0", "libapr1"},
	{"libsasl2.so.2", "libsasl2-2"},
	{"libcurl-gnutls.so.4", "libcurl3-gnutls"},
}

// buildNeeds are the programs that build the rig.
var buildNeeds = []need{{"gcc", "gcc"}, {"g++", "g++"}, {"go", "golang"}}

// dockerNeeds are the programs of a Docker daemon of the rig's own; the first is for any.
var dockerNeeds = []need{{"docker", "docker.io"}, {"dockerd", "docker.io"}}

// imageNeeds make the base image.
var imageNeeds = []need{{"debootstrap", "debootstrap"}, {"tar", "tar"}}

// zooKeeperJar is Debian's; a class path is in it that has all else.
const zooKeeperJar = "/usr/share/java/zookeeper.jar"

// zooKeeperNeeds is the program of it; its package has the jar too.
var zooKeeperNeeds = []need{{"java", "zookeeper"}}

// checkZooKeeper returns ErrUnavailable where masters cannot elect a leader for want of something.
func checkZooKeeper() error {
	missing := missingPrograms(zooKeeperNeeds)
	if !exists(zooKeeperJar) {
		missing = append(missing, need{zooKeeperJar, "zookeeper"})
	}
	return missingError(missing)
}

// checkMachine returns ErrUnavailable with all that is missing: always what it takes to run, and, as far as they are still to
// be done, to build the rig and to fetch Mesos.
func checkMachine(ctx context.Context, build, fetch bool) error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("%w: Mesos' library is for linux/amd64, this is %s/%s", ErrUnavailable, runtime.GOOS, runtime.GOARCH)
	}
	missing := missingLibraries(ctx)
	if build {
		missing = append(missing, missingPrograms(buildNeeds)...)
	}
	if fetch && exec.CommandContext(ctx, python(), "-m", "pip", "--version").Run() != nil {
		missing = append(missing, need{"pip of " + python(), "python3-pip"})
	}
	return missingError(missing)
}

// checkDockerMachine returns ErrUnavailable where a daemon cannot be started for want of something.
func checkDockerMachine() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: no Docker daemon answers at %s, and only root can start one", ErrUnavailable, cmp.Or(os.Getenv("DOCKER_HOST"), "/var/run/docker.sock"))
	}
	return missingError(missingPrograms(dockerNeeds))
}

// checkImageMachine returns ErrUnavailable where the base image cannot be made for want of something.
func checkImageMachine() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: the Docker image of the tests is not made yet, and only root can (debootstrap)", ErrUnavailable)
	}
	return missingError(missingPrograms(imageNeeds))
}

func missingPrograms(needs []need) []need {
	return slices.DeleteFunc(slices.Clone(needs), func(n need) bool { return findProgram(n.name) != "" })
}

// findProgram also looks where programs for root are, which is not in the PATH of everybody; empty when it is not there.
func findProgram(name string) string {
	for _, candidate := range []string{name, "/usr/sbin/" + name, "/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	return ""
}

// missingError returns nil when nothing is missing.
func missingError(missing []need) error {
	if len(missing) == 0 {
		return nil
	}
	var names, packages []string
	for _, n := range missing {
		names = append(names, n.name)
		packages = append(packages, n.debian)
	}
	slices.Sort(packages)
	return fmt.Errorf("%w: missing %s; on Debian: apt-get install %s",
		ErrUnavailable, strings.Join(names, ", "), strings.Join(slices.Compact(packages), " "))
}

// missingLibraries asks the dynamic linker's cache, whose program is not on the PATH of everybody.
func missingLibraries(ctx context.Context) []need {
	ldconfig, err := exec.LookPath("ldconfig")
	if err != nil {
		ldconfig = "/sbin/ldconfig"
	}
	known, err := exec.CommandContext(ctx, ldconfig, "-p").Output()
	if err != nil {
		return []need{{"ldconfig", "libc-bin"}}
	}
	var missing []need
	for _, n := range runNeeds {
		if !strings.Contains(string(known), "\t"+n.name+" ") {
			missing = append(missing, n)
		}
	}
	return missing
}

// python returns the Python whose pip fetches Mesos.
func python() string {
	if path := os.Getenv("TFMESOS_TEST_PYTHON"); path != "" {
		return path
	}
	return "python3"
}
