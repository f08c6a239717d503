package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// peak returns the most memory the process has held (VmHWM), in KiB; 0 if it is gone.
func peak(pid int) int {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return kib
		}
	}
	return 0
}

// peakOfServers returns the peak of the largest Python below a process.
func peakOfServers(root int) int {
	parents, names := processes()
	most := 0
	for pid, name := range names {
		if strings.HasPrefix(name, "python") && descends(pid, root, parents) {
			most = max(most, peak(pid))
		}
	}
	return most
}

func descends(pid, root int, parents map[int]int) bool {
	for ; pid > 1; pid = parents[pid] {
		if pid == root {
			return true
		}
	}
	return false
}

// processes returns the parent and the name of each process.
func processes() (parents map[int]int, names map[int]string) {
	parents, names = map[int]int{}, map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended since
		}
		line := string(text)
		open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
		if open < 0 || end < open {
			continue
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(line[:open]))
		names[pid] = line[open+1 : end]
		if fields := strings.Fields(line[end+1:]); len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	return parents, names
}
