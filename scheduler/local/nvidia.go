package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tfmesos/shared/logkey"
)

const (
	// listTimeout is how long nvidia-smi may take; with a driver that is stuck it hangs.
	listTimeout = 2 * time.Second
	// listMax is far more than any machine's list has, in bytes.
	listMax = 1 << 20
)

// gpu is a device that can be handed out: a GPU, or a MIG device, which is a part of one.
type gpu struct {
	uuid  string
	whole string // the UUID of the GPU that it is, or is a part of
	index int    // of that GPU
}

func isMIG(uuid string) bool { return strings.HasPrefix(uuid, "MIG-") }

// findGPUs returns the UUIDs of the devices that env, the agent's environment,
// lets us use. A machine on which they cannot be listed has none.
func findGPUs(ctx context.Context, env []string, log *slog.Logger) (uuids []string) {
	list, err := listGPUs(ctx, env)
	if err != nil {
		log.Debug("no GPUs to offer", logkey.Error, err)
		return nil
	}
	found := parseGPUs(list)
	listed := len(found)
	if value, set := lookup(env, cudaDevices); set {
		found = visibleGPUs(found, value)
	}
	for _, g := range found {
		uuids = append(uuids, g.uuid)
	}
	log.Debug("GPUs to offer", logkey.Devices, strings.Join(uuids, ","), logkey.Count, listed)
	return uuids
}

// lookup returns the value of a variable: of several, as exec does, the last.
func lookup(env []string, name string) (value string, set bool) {
	for _, pair := range env {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value, set = v, true
		}
	}
	return value, set
}

// listGPUs returns what nvidia-smi -L says, within listTimeout and a moment.
func listGPUs(ctx context.Context, env []string) (string, error) {
	path, err := lookPath("nvidia-smi", env)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var out limited
	cmd := &exec.Cmd{Path: path, Args: []string{"nvidia-smi", "-L"}, Env: env, Stdout: &out, Stderr: &out,
		WaitDelay: 100 * time.Millisecond, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with nvidia-smi, which is waited for below
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails only if it has just ended
		select {
		case <-ended:
		case <-time.After(time.Second): // it hangs in the driver, where nothing kills it
		}
		return "", fmt.Errorf("nvidia-smi -L: no answer within %v: %w", listTimeout, ctx.Err())
	}
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(out.text.String()), "\n")
		return "", fmt.Errorf("nvidia-smi -L: %w: %s", err, line)
	}
	return out.text.String(), nil
}

// limited is a buffer that takes listMax bytes.
type limited struct{ text bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.text.Len()+len(p) > listMax {
		return 0, errors.New("more output than a list of GPUs has")
	}
	return l.text.Write(p)
}

var (
	gpuLine = regexp.MustCompile(`^GPU (\d{1,4}): .*\(UUID: (GPU-[0-9A-Za-z-]+)\)\s*$`)
	migLine = regexp.MustCompile(`^\s+MIG .*\(UUID: (MIG-[0-9A-Za-z/-]+)\)\s*$`)
)

// parseGPUs reads the list of nvidia-smi -L, in which the MIG devices of a GPU
// follow it. They stand for it: as a whole it cannot be used then. Other lines,
// and devices without a UUID, are passed over.
func parseGPUs(list string) (found []gpu) {
	seen := map[string]bool{}
	var last gpu
	for line := range strings.Lines(list) {
		g := gpu{}
		if m := gpuLine.FindStringSubmatch(line); m != nil {
			g.uuid, g.whole = m[2], m[2]
			g.index, _ = strconv.Atoi(m[1]) // a few digits, by the pattern
			last = g
		} else if m := migLine.FindStringSubmatch(line); m != nil && last.uuid != "" {
			g = gpu{uuid: m[1], whole: last.uuid, index: last.index}
			found = slices.DeleteFunc(found, func(f gpu) bool { return f.uuid == last.uuid })
		} else if strings.HasPrefix(line, "GPU ") {
			last = gpu{} // what follows is of a device that we cannot name
		}
		if g.uuid != "" && !seen[g.uuid] {
			seen[g.uuid] = true
			found = append(found, g)
		}
	}
	return found
}

// visibleGPUs returns those of all that a value of CUDA_VISIBLE_DEVICES names, in
// its order. As CUDA does, it goes no further than the first entry that names
// none: so -1 and an empty value leave nothing.
func visibleGPUs(all []gpu, value string) (visible []gpu) {
	for entry := range strings.SplitSeq(value, ",") {
		named := namedGPUs(all, strings.TrimSpace(entry))
		if len(named) == 0 {
			break
		}
		for _, g := range named {
			if !slices.Contains(visible, g) {
				visible = append(visible, g)
			}
		}
	}
	return visible
}

// namedGPUs returns the GPU, or its MIG devices, or the MIG device of an entry: an
// index as nvidia-smi counts, a UUID, or the beginning of a UUID if it is that of one only.
func namedGPUs(all []gpu, entry string) (named []gpu) {
	key := func(g gpu) string { return g.whole }
	if isMIG(entry) {
		key = func(g gpu) string { return g.uuid }
	} else if index, err := strconv.Atoi(entry); err == nil {
		return slices.DeleteFunc(slices.Clone(all), func(g gpu) bool { return g.index != index })
	} else if !strings.HasPrefix(entry, "GPU-") {
		return nil
	}
	names := map[string]bool{}
	for _, g := range all {
		if strings.HasPrefix(key(g), entry) {
			names[key(g)] = true
		}
	}
	whole := names[entry]
	if len(names) > 1 && !whole {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(g gpu) bool { return !names[key(g)] || whole && key(g) != entry })
}
