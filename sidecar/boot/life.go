package boot

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/shared/tf"
)

// leftBehind is how long processes that outlive their program have from TERM to KILL; the scheduler learns of the end after
// that.
const leftBehind = 2 * time.Second

// atOnce is how long the last report may take when somebody does not want to wait.
const atOnce = time.Second

// run goes on from a complete cluster_def.
func (m *machine) run() {
	if m.setup.server() {
		m.Phase = Running
		m.configure()
		return
	}
	m.startCommand()
}

// configure gives Python its part once there is both.
func (m *machine) configure() {
	if !m.setup.server() || !m.child.alive || m.child.configured || m.Phase != Running {
		return
	}
	server, err := serverConfig(m.setup, m.assignment)
	if err != nil {
		panic(err) // assigned has checked it
	}
	m.child.configured = true
	m.act(Configure{server})
}

func (m *machine) startCommand() {
	launch, err := commandLaunch(m.setup, m.Port, m.assignment)
	if err != nil {
		panic(err) // assigned has checked it
	}
	m.Phase, m.child.asked = Running, true
	m.act(Start{launch})
}

func (m *machine) childStarted() {
	m.child.alive, m.child.tree = true, true
	for _, s := range m.child.early {
		m.act(Forward{s})
	}
	m.child.early = nil
	if m.end.cause != "" { // told to end in between
		m.act(EndTree{})
		return
	}
	if m.setup.server() {
		m.report(callback.PhaseReport{Phase: callback.PhasePythonStarted})
		m.configure()
		return
	}
	m.report(callback.PhaseReport{Phase: callback.PhaseTraining})
	m.act(Probe{Addresses: m.addresses(), Lazily: true})
}

// addresses are where the task's port can answer.
func (m *machine) addresses() []string {
	addresses := []string{tf.JoinAddress("127.0.0.1", m.Port)}
	if own := m.assignment.ClusterDef[m.setup.Task.JobName]; !m.setup.Side && m.setup.Task.TaskIndex < len(own) {
		addresses = append(addresses, own[m.setup.Task.TaskIndex])
	}
	return addresses
}

func (m *machine) imported(ev Imported) {
	r := callback.PhaseReport{Phase: callback.PhaseImported, Import: ev.How}
	if ev.Reason != "" {
		r.Message = tail("all of TensorFlow was imported: " + ev.Reason)
		m.note(r.Message)
	}
	m.report(r)
}

func (m *machine) answered() {
	if m.child.alive && !m.child.served {
		m.child.served = true
		m.report(callback.PhaseReport{Phase: callback.PhaseServing})
	}
}

// signalled ends the child at the first TERM or INT and kills it at the second; other signals are the child's.
func (m *machine) signalled(s Signal) {
	if s != TERM && s != INT {
		switch {
		case m.child.alive:
			m.act(Forward{s})
		case m.child.asked && m.end.cause == "": // it may run already, and ChildStarted be on its way
			m.child.early = append(m.child.early, s)
		default:
			m.note("got " + string(s) + " and there is no program to pass it on to")
		}
		return
	}
	m.end.stops++
	switch {
	case m.end.cause == "":
		code := 143
		if s == INT {
			code = 130
		}
		m.leave(callback.CauseStopped, code, "ended by SIG"+string(s))
	case m.Phase == Ending:
		m.kill("got another SIG" + string(s))
		m.end.exitAt = earlier(m.end.exitAt, m.now.Add(atOnce))
	case m.end.stops > 1:
		m.exit()
	}
}

// leave begins the end for a reason that is not the child's.
func (m *machine) leave(cause callback.Cause, code int, message string) {
	if m.end.cause != "" {
		if !m.child.asked && !m.child.tree { // there will be no child after all
			m.finish()
		}
		return
	}
	m.end.cause, m.end.code, m.end.message = cause, code, message
	m.limitEnd(m.setup.killAfter())
	m.Phase = Ending
	switch {
	case m.child.tree:
		m.act(EndTree{})
	case !m.child.asked:
		m.finish()
	}
}

// limitEnd sets the times of the end.
func (m *machine) limitEnd(killAfter time.Duration) {
	m.end.killAt, m.end.exitAt = m.now.Add(killAfter), m.now.Add(m.setup.exitAfter())
}

func (m *machine) kill(why string) {
	m.end.killAt = time.Time{}
	if m.child.tree || m.child.asked {
		m.warn("killing all that is left: " + why)
		m.act(KillTree{})
	}
}

// childExited says how the child ended, unless we ended it; what it left behind has a moment to go.
func (m *machine) childExited(ev ChildExited) {
	m.child.alive = false
	if m.end.cause != "" {
		if m.end.cause == callback.CauseStopped {
			m.end.code = ev.Code
		}
		return
	}
	m.limitEnd(min(m.setup.killAfter(), leftBehind))
	m.Phase = Ending
	m.end.cause, m.end.code = m.causeOf(ev), ev.Code
	m.end.message = describe(m.end.cause, ev)
	m.act(EndTree{})
}

func (m *machine) causeOf(ev ChildExited) callback.Cause {
	words := strings.Join(ev.LastWords, "\n")
	switch {
	case ev.Signal != "":
		return callback.CauseSignal
	case ev.Code == 0:
		return callback.CauseProgram
	case m.child.missing || strings.Contains(words, "No module named 'tensorflow'"):
		return callback.CauseNoTensorFlow
	case (ev.Code == ExitNoProgram || ev.Code == ExitNotRunnable) && isShell(m.setup.Command):
		return callback.CauseNoProgram
	}
	return callback.CauseProgram
}

// isShell tells whether a command is a line for the shell, which then says by its exit code that there is no program.
func isShell(command []string) bool {
	return len(command) == 3 && (command[0] == "sh" || strings.HasSuffix(command[0], "/sh")) && command[1] == "-c"
}

// describe gives the child's last words if it did not end well. Their last line is often all a person gets to see.
func describe(cause callback.Cause, ev ChildExited) string {
	if ev.Code == 0 {
		return ""
	}
	lines := ev.LastWords
	if len(lines) == 0 && cause != callback.CauseProgram && cause != callback.CauseSignal {
		lines = []string{fmt.Sprintf("%s, exit code %d", strings.ReplaceAll(string(cause), "_", " "), ev.Code)}
	}
	return tail(strings.Join(lines, "\n"))
}

// finish begins once no process is left. The output may take half of the time that is left: `ended` matters more.
func (m *machine) finish() {
	if m.Phase >= Finishing {
		return
	}
	m.Phase = Finishing
	m.end.killAt = time.Time{}
	m.act(Flush{Until: m.now.Add(m.end.exitAt.Sub(m.now) / 2)})
}

func (m *machine) flushed() {
	m.report(callback.PhaseReport{Phase: callback.PhaseEnded, ExitCode: m.end.code, Cause: m.end.cause, Message: m.end.message})
}

// exit leaves, whatever is on its way.
func (m *machine) exit() {
	if m.child.tree || m.child.asked && !m.child.alive && m.Phase < Finishing {
		m.act(KillTree{})
	}
	m.Phase = Done
	m.act(Exit{m.end.code})
}

// String says for people how the sidecar leaves; empty while it does not.
func (b Boot) String() string {
	if b.end.cause == "" {
		return ""
	}
	text := strings.ReplaceAll(string(b.end.cause), "_", " ") + ", exit code " + strconv.Itoa(b.end.code)
	if b.end.message != "" {
		text += ": " + b.end.message
	}
	return text
}
