package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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
