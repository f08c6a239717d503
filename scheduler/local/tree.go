package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// procStat is what /proc says of a process.
type procStat struct {
	pid, parent, group int
	dead               bool // a zombie that nobody has reaped
}

// processes lists those of this machine, or of this container.
func processes() (all []procStat) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		// "pid (name) state ppid pgrp …", where the name may hold anything
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) < 3 {
			continue
		}
		p := procStat{dead: fields[0] == "Z" || fields[0] == "X"}
		p.pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(file))) // digits, by the pattern
		p.parent, _ = strconv.Atoi(fields[1])
		p.group, _ = strconv.Atoi(fields[2])
		all = append(all, p)
	}
	return all
}

// groupRuns tells whether the group has a process that is not dead. Zombies
// count as members for kill(2) until somebody reaps them, which the init of
// many containers never does: so /proc has the last word.
func groupRuns(group int) bool {
	if syscall.Kill(-group, 0) != nil {
		return false
	}
	for _, p := range processes() {
		if p.group == group && !p.dead {
			return true
		}
	}
	return false
}

// killStrays kills what a task that was killed could not end itself, wherever
// it is in the tree by now: all processes that have its sandbox in their
// environment. They start others while one looks, so it goes on until there are
// none; at most 2 s, for one may hang in a device.
func killStrays(sandbox string) (gone bool) {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		pids := strays(sandbox)
		if len(pids) == 0 {
			return true
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // fails only if it has ended by itself
		}
	}
	return false
}

// strays lists the processes of a sandbox. The environment of a dead one is empty.
func strays(sandbox string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well formed
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environ, []byte("\x00MESOS_SANDBOX="+sandbox+"\x00")) {
			continue // it has ended meanwhile, or is somebody else's
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file))) // digits, by the pattern
		pids = append(pids, pid)
	}
	return pids
}

// descendants lists the children of a process, their children and so on.
func descendants(root int) (pids []int) {
	children := map[int][]int{}
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p.pid)
	}
	for next := children[root]; len(next) > 0; {
		pids = append(pids, next...)
		var below []int
		for _, pid := range next {
			below = append(below, children[pid]...)
		}
		next = below
	}
	return pids
}
