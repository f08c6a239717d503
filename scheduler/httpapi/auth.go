package httpapi

import (
	"bytes"
	"crypto/subtle"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/tf"
)

// operatorUser is the user of the operator's token in Basic credentials.
const operatorUser = "operator"

// caller is who sent a request: the operator, the current launch of a task, or the fetcher of one.
type caller struct {
	operator bool
	taskID   string
	fetches  string // the one file of the download folder that a fetcher may have
}

// credentials are what a request brings. Bearer brings no user.
type credentials struct {
	user    string
	hasUser bool
	token   string
}

// fits reports whether the credentials may be those of the user.
func (c credentials) fits(user string) bool { return !c.hasUser || c.user == user }

// readCredentials reads the one Authorization header: Bearer TOKEN, or Basic with user and token. The scheme's case does
// not matter (RFC 9110, 11.1); the token is the rest after the first colon (RFC 7617, 2). Anything else is not ok.
func readCredentials(h *fasthttp.RequestHeader) (c credentials, ok bool) {
	values := h.PeekAll(fasthttp.HeaderAuthorization)
	if len(values) != 1 {
		return credentials{}, false
	}
	scheme, value, _ := bytes.Cut(values[0], []byte(" "))
	switch strings.ToLower(string(scheme)) {
	case "bearer":
		c.token = string(value)
	case "basic":
		text, err := base64.StdEncoding.Strict().DecodeString(string(value))
		if err != nil {
			return credentials{}, false
		}
		c.hasUser = true
		c.user, c.token, _ = strings.Cut(string(text), ":")
	}
	return c, c.token != ""
}

// identify returns whose credentials these are. Tokens are compared by their SHA-256 in constant time, with every launch, so
// that the time tells nothing about any of them.
func (s *Server) identify(given credentials, c *cluster.Cluster) (who caller, ok bool) {
	sum := cluster.HashToken(given.token)
	if same(sum, s.operatorSHA256) && given.fits(operatorUser) {
		who, ok = caller{operator: true}, true
	}
	for i := range c.Tasks {
		t := &c.Tasks[i]
		if same(sum, t.TokenSHA256) && t.TaskID != "" && given.fits(t.TaskID) {
			who, ok = caller{taskID: t.TaskID}, true
		}
	}
	return who, ok
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// authenticate returns who sent the request, or why it is refused: 401 for everyone unknown, with one exception. The
// hashes of past launches are not kept, yet the sidecar of one must learn that it is over and end itself. So whoever names
// a past launch of this run in the path, and brings credentials of any kind, is told 410; that tells no more than that it is
// over, to those who know the run's nonce.
func (s *Server) authenticate(h *fasthttp.RequestHeader) (caller, error) {
	c, _ := s.source.Snapshot()
	if who, ok := fetcherOf(string(h.RequestURI()), c); ok {
		return who, nil
	}
	given, ok := readCredentials(h)
	if !ok {
		return caller{}, errUnauthorized
	}
	if who, ok := s.identify(given, c); ok {
		return who, nil
	}
	if isPastLaunch(c, taskIDIn(string(h.RequestURI()))) {
		return caller{}, errGone
	}
	return caller{}, errUnauthorized
}

// taskIDIn returns the task_id of a request target, as it stands there, or "".
func taskIDIn(target string) string {
	for _, prefix := range []string{"/v1/task/", "/v0/task/"} {
		if rest, ok := strings.CutPrefix(target, prefix); ok {
			if end := strings.IndexAny(rest, "/?"); end >= 0 {
				rest = rest[:end]
			}
			return rest
		}
	}
	return ""
}

// isPastLaunch reports whether the task_id, CLUSTER.NONCE.JOB-INDEX.LAUNCH, is of a launch of this run that another
// has followed or that is over.
func isPastLaunch(c *cluster.Cluster, taskID string) bool {
	rest, ok := strings.CutPrefix(taskID, c.Spec.Name+"."+c.Nonce+".")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return false
	}
	dash := strings.LastIndexByte(rest[:dot], '-')
	if dash < 0 {
		return false
	}
	launch, err := strconv.Atoi(rest[dot+1:])
	name, badName := tf.ParseTaskName(rest[:dash] + ":" + rest[dash+1:dot])
	if err != nil || badName != nil || launch < 1 || strconv.Itoa(launch) != rest[dot+1:] {
		return false
	}
	t := c.Task(name)
	return t != nil && (launch < t.Launch || launch == t.Launch && t.TaskID != taskID)
}
