package store

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Leader is the scheduler process that may write. Fence, Since and ExpiresAt are given by Redis, by its own clock.
type Leader struct {
	Host string
	PID  int
	// BootID, PIDNamespace and StartTime tell the process from every other that has or had its PID; empty where /proc
	// does not say.
	BootID, PIDNamespace, StartTime string
	// Address is host:port of the callback API.
	Address string
	Version string
	// Fence grows by one with each leader of the name.
	Fence int
	Since time.Time
	// ExpiresAt is when the lease ends unless it is renewed; zero once it has been released.
	ExpiresAt time.Time
}

var leaderFields = []field[Leader]{
	text("host", func(l *Leader) *string { return &l.Host }),
	count("pid", func(l *Leader) *int { return &l.PID }),
	text("boot_id", func(l *Leader) *string { return &l.BootID }),
	text("pid_namespace", func(l *Leader) *string { return &l.PIDNamespace }),
	text("start_time", func(l *Leader) *string { return &l.StartTime }),
	text("address", func(l *Leader) *string { return &l.Address }),
	text("version", func(l *Leader) *string { return &l.Version }),
	count("fence", func(l *Leader) *int { return &l.Fence }),
	instant("since", func(l *Leader) *time.Time { return &l.Since }),
	instant("expires_at", func(l *Leader) *time.Time { return &l.ExpiresAt }),
}

// leaseFields are of the leader hash too; only the scripts use them. writes is the number of the last write under the
// lease, events of how many events those writes have added.
var leaseFields = []string{"writes", "events"}

// ThisProcess returns the Leader that this process would be, without Address and Version. What /proc does not say stays empty.
func ThisProcess() Leader {
	l := Leader{PID: os.Getpid()}
	l.Host, _ = os.Hostname()
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		l.BootID = strings.TrimSpace(string(id))
	}
	l.PIDNamespace, _ = os.Readlink("/proc/self/ns/pid")
	if p, err := readProcess(l.PID); err == nil {
		l.StartTime = p.startTime
	}
	return l
}

// Dead reports whether the process is gone for sure: it is of this boot and this PID namespace, and nothing runs under its
// PID, or something that started at another time. Of other machines it knows nothing; there the lease decides.
func (l Leader) Dead() bool {
	here := ThisProcess()
	if l.PID <= 0 || l.BootID == "" || l.BootID != here.BootID || l.PIDNamespace == "" || l.PIDNamespace != here.PIDNamespace {
		return false
	}
	if errors.Is(syscall.Kill(l.PID, 0), syscall.ESRCH) {
		return true
	}
	p, err := readProcess(l.PID) // /proc may hide the processes of other users
	return err == nil && (p.zombie || l.StartTime != "" && p.startTime != l.StartTime)
}

// same reports whether both are one process.
func (l Leader) same(m Leader) bool {
	return l.BootID != "" && l.StartTime != "" && l.BootID == m.BootID && l.PIDNamespace == m.PIDNamespace && l.PID == m.PID && l.StartTime == m.StartTime
}

type process struct {
	startTime string // in clock ticks since the boot
	zombie    bool
}

// readProcess reads /proc/PID/stat (proc(5)). The second field is the program's name in parentheses, which may hold spaces
// and parentheses itself.
func readProcess(pid int) (process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return process{}, fmt.Errorf("read process %d: /proc has only %d fields", pid, len(fields))
	}
	return process{startTime: fields[19], zombie: fields[0] == "Z" || fields[0] == "X"}, nil
}
