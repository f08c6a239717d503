package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tfmesos/shared/tf"
	"tfmesos/sidecar/boot"
)

// Config is what a sidecar's environment says; cmd/sidecar explains each variable.
type Config struct {
	boot.Setup
	TaskID         string
	Cluster        string
	User           string // of Basic credentials; only of a sidecar with arguments
	Token          Secret
	Callbacks      []string // without trailing slash, the best first
	VerifySSL      bool
	RequestTimeout time.Duration
}

// Secret is a text that no log and no error shows.
type Secret string

// LogValue keeps it out of records.
func (Secret) LogValue() slog.Value { return slog.StringValue("(secret)") }

// String keeps it out of formatted text.
func (Secret) String() string { return "(secret)" }

// GoString keeps it out of %#v.
func (Secret) GoString() string { return "(secret)" }

// Reveal returns the text itself, for the header that carries it.
func (s Secret) Reveal() string { return string(s) }

// FromEnv reads the environment, KEY=VALUE entries, and checks it whole: the error names every variable that is wrong,
// with its value unless that is secret.
func FromEnv(environ []string) (Config, error) {
	e := read(environ)
	c := e.common()
	c.Env = environ
	c.Task = tf.TaskName{JobName: e.needed("TFMESOS_JOB_NAME"), TaskIndex: e.count("TFMESOS_TASK_INDEX", e.needed("TFMESOS_TASK_INDEX"))}
	c.TaskID = e.taskID("TFMESOS_TASK_ID", e.needed("TFMESOS_TASK_ID"))
	c.Cluster = e.needed("TFMESOS_CLUSTER")
	c.Token = e.secret("TFMESOS_TOKEN")
	c.Callbacks = e.urls("TFMESOS_CALLBACK", e.needed("TFMESOS_CALLBACK"))
	return c, errors.Join(e.problems...)
}

// FromArgs reads the two arguments of tfmesos2's sidecar, a task_id and HOST:PORT of the scheduler, and for all else the
// environment, from which such a sidecar needs nothing. The task is not named: its scheduler tells it.
func FromArgs(taskID, address string, environ []string) (Config, error) {
	e := read(environ)
	c := e.common()
	c.Env = append(slices.Clip(environ), "TFMESOS_TASK_ID="+taskID)
	if c.TaskID = e.taskID("TASK_ID", taskID); taskID == "" {
		e.wrong("TASK_ID", "is empty")
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	c.Callbacks = e.urls("HOST:PORT", address)
	if u, err := url.Parse(address); err == nil && u.Port() == "" {
		e.wrong("HOST:PORT", "%q: want one host with its port, as in 10.0.0.1:11000", address)
	}
	c.User, c.Token = e.values["TFMESOS2_CLIENT_USERNAME"], Secret(e.values["TFMESOS2_CLIENT_PASSWORD"])
	if strings.ContainsFunc(c.User, func(r rune) bool { return r < ' ' || r == ':' || r == 0x7f }) {
		e.wrong("TFMESOS2_CLIENT_USERNAME", "%q: want no colon and no control character", c.User)
	}
	if strings.ContainsFunc(c.Token.Reveal(), unicode.IsControl) {
		e.wrong("TFMESOS2_CLIENT_PASSWORD", "has a control character, as the end of a line is (its value is secret)")
	}
	return c, errors.Join(e.problems...)
}

func read(environ []string) *env {
	e := &env{values: map[string]string{}}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		e.values[name] = value
	}
	return e
}

// common reads what may be set for every sidecar.
func (e *env) common() Config {
	c := Config{
		Setup: boot.Setup{
			Side:          e.oneOf("TFMESOS_SIDE", "", "0", "1") == "1",
			Command:       e.command("TFMESOS_COMMAND"),
			Python:        e.or("TFMESOS_PYTHON", "python3"),
			Import:        e.oneOf("TFMESOS_TF_IMPORT", boot.ImportLean, boot.ImportFull),
			Workdir:       e.values["TFMESOS_WORKDIR"],
			GPUs:          e.count("TFMESOS_GPUS", e.or("TFMESOS_GPUS", "-1")),
			Grace:         e.duration("TFMESOS_GRACE", 10*time.Second),
			OrphanTimeout: e.duration("TFMESOS_ORPHAN_TIMEOUT", 15*time.Minute),
		},
		VerifySSL:      e.boolean("TFMESOS2_VERIFY_SSL", true),
		RequestTimeout: e.seconds("TFMESOS2_REQUEST_TIMEOUT", 30*time.Second),
	}
	if c.Side && len(c.Command) == 0 {
		e.wrong("TFMESOS_COMMAND", "a side task (TFMESOS_SIDE=1) needs a command")
	}
	return c
}

// env reads variables and collects what is wrong with them.
type env struct {
	values   map[string]string
	problems []error
}

func (e *env) wrong(name, format string, args ...any) {
	e.problems = append(e.problems, fmt.Errorf("%s: "+format, append([]any{name}, args...)...))
}

// needed returns a variable that must not be empty.
func (e *env) needed(name string) string {
	value := e.values[name]
	if value == "" {
		e.wrong(name, "is not set")
	}
	return value
}

func (e *env) or(name, unset string) string {
	if value := e.values[name]; value != "" {
		return value
	}
	return unset
}

// oneOf returns a variable that has one of these values, the first if it is empty.
func (e *env) oneOf(name string, allowed ...string) string {
	value := e.or(name, allowed[0])
	for _, one := range allowed {
		if value == one {
			return value
		}
	}
	e.wrong(name, "%q: want %s", value, strings.TrimPrefix(strings.Join(allowed, " or "), " or "))
	return value
}

// count reads a whole number; an unset variable was complained of already or has a default below 0.
func (e *env) count(name, text string) int {
	n, err := strconv.Atoi(text)
	if e.values[name] != "" && (err != nil || n < 0) {
		e.wrong(name, "%q: want a whole number from 0", text)
	}
	return n
}

func (e *env) duration(name string, unset time.Duration) time.Duration {
	d, err := time.ParseDuration(e.or(name, unset.String()))
	if err != nil || d <= 0 {
		e.wrong(name, "%q: want a duration above 0, as in 10s or 15m", e.values[name])
	}
	return d
}

// seconds reads tfmesos2's form, a number of seconds, or a duration.
func (e *env) seconds(name string, unset time.Duration) time.Duration {
	text := strings.TrimSpace(e.or(name, unset.String()))
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		e.wrong(name, "%q: want seconds above 0, as in 30", e.values[name])
	}
	return d
}

// boolean takes the common spellings and refuses all others: a typo must not switch a check off.
func (e *env) boolean(name string, unset bool) bool {
	switch strings.ToLower(strings.TrimSpace(e.values[name])) {
	case "":
		return unset
	case "true", "1", "yes", "on":
		return true
	case "false", "0", "no", "off":
		return false
	}
	e.wrong(name, "%q: want true or false", e.values[name])
	return unset
}

var taskID = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func (e *env) taskID(name, value string) string {
	if value != "" && !taskID.MatchString(value) {
		e.wrong(name, "%q: want letters, digits, dots, dashes and underscores only", value)
	}
	return value
}

// secret reads a text that goes into a header.
func (e *env) secret(name string) Secret {
	value := e.needed(name)
	if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		e.wrong(name, "has a character that no credential may have (its value is secret)")
	}
	return Secret(value)
}

// command reads a JSON list of texts, the first not empty; unset is none.
func (e *env) command(name string) []string {
	value := e.values[name]
	if value == "" {
		return nil
	}
	var argv []string
	err := json.Unmarshal([]byte(value), &argv)
	switch {
	case err != nil:
		e.wrong(name, "%q: want a JSON list of texts, as in [\"python\", \"train.py\"]: %w", value, err)
	case len(argv) > 0 && argv[0] == "":
		e.wrong(name, "%q: the program's name is empty", value)
	case strings.ContainsRune(strings.Join(argv, ""), 0):
		e.wrong(name, "%q: a NUL cannot be passed to a program", value)
	}
	return argv
}

// urls reads a list of URLs of schedulers.
func (e *env) urls(name, value string) []string {
	if value == "" {
		return nil
	}
	var urls []string
	for _, text := range strings.Split(value, ",") {
		text = strings.TrimRight(strings.TrimSpace(text), "/")
		u, err := url.Parse(text)
		switch {
		case err != nil:
			e.wrong(name, "an entry is no URL") // the error would show it, and it may hold a password
		case u.User != nil:
			e.wrong(name, "%q: want no user or password in it", u.Redacted())
		case (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
			e.wrong(name, "%q: want http://host:port", text)
		}
		urls = append(urls, text)
	}
	return urls
}
