package httpapi

import (
	"encoding/json"
	"errors"
	"net"

	"github.com/valyala/fasthttp"

	"tfmesos/shared/callback"
	"tfmesos/shared/logkey"
)

// refusal is an answer that is no success. Its text is for the caller.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, text string) error { return &refusal{status, text} }

// The answers that more than one place gives.
var (
	errUnauthorized = refuse(fasthttp.StatusUnauthorized, "credentials: want those of the operator or of a task's current launch")
	errForbidden    = refuse(fasthttp.StatusForbidden, "task_id: a task may act on itself only")
	errGone         = refuse(fasthttp.StatusGone, "task_id: this launch is over or another one has followed it")
	errNoTask       = refuse(fasthttp.StatusNotFound, "task_id: no task has it")
	errNoRoute      = refuse(fasthttp.StatusNotFound, "path: there is nothing here")
	errBadMethod    = refuse(fasthttp.StatusMethodNotAllowed, "method: see Allow for those of this path")
	errTooLarge     = refuse(fasthttp.StatusRequestEntityTooLarge, "body: too large, or none is wanted here")
	errUnavailable  = refuse(fasthttp.StatusServiceUnavailable, "the scheduler cannot store this now: come again")
	errOurFault     = refuse(fasthttp.StatusInternalServerError, "a fault of the scheduler: see its log")
)

// answerError writes the answer to an error; one that is no refusal is a fault of ours. All of /v0 and /v1 have the same
// body, and every 401 is the same whatever the path, so that it tells nothing.
func answerError(rc *fasthttp.RequestCtx, err error) {
	var r *refusal
	if !errors.As(err, &r) {
		errors.As(errOurFault, &r)
	}
	switch r.status {
	case fasthttp.StatusUnauthorized:
		rc.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, `Basic realm="tfmesos"`)
	case fasthttp.StatusServiceUnavailable:
		rc.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	}
	answerJSON(rc, r.status, callback.Error{Error: r.text})
}

func answerJSON(rc *fasthttp.RequestCtx, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // our messages always marshal
	}
	rc.SetStatusCode(status)
	rc.SetContentType("application/json")
	rc.SetBody(text)
}

func answerText(rc *fasthttp.RequestCtx, text string) {
	rc.SetContentType("text/plain")
	rc.SetBodyString(text)
}

// refuseBroken is fasthttp.Server.ErrorHandler: the request could not be read. It says nothing of what was read, which may
// be half a credential. The connection is closed after it.
func (s *Server) refuseBroken(rc *fasthttp.RequestCtx, err error) {
	var header *fasthttp.ErrSmallBuffer
	var timeout net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		if _, err := s.authenticate(&rc.Request.Header); err != nil {
			answerError(rc, err)
		} else {
			answerError(rc, errTooLarge)
		}
	case errors.As(err, &header):
		answerError(rc, refuse(fasthttp.StatusRequestHeaderFieldsTooLarge, "header: too large"))
	case errors.As(err, &timeout) && timeout.Timeout():
		answerError(rc, refuse(fasthttp.StatusRequestTimeout, "the request took too long to come"))
	default:
		answerError(rc, refuse(fasthttp.StatusBadRequest, "this is no HTTP request"))
	}
	s.logger.Debug("broken request", logkey.Status, rc.Response.StatusCode())
}
