package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"tfmesos/shared/callback"
	"tfmesos/shared/logkey"
)

// route is one row of the API. GET answers HEAD too.
type route struct {
	method string
	path   string
	body   bool // takes a JSON body; the others refuse one
	handle func(s *Server, ctx context.Context, r *request) error
}

// routes is the whole API.
var routes = []route{
	{method: http.MethodGet, path: callback.PathHealth, handle: (*Server).health},
	{method: http.MethodGet, path: callback.PathCluster, handle: (*Server).cluster},
	{method: http.MethodPut, path: callback.PathRegistration, body: true, handle: (*Server).putRegistration},
	{method: http.MethodGet, path: callback.PathClusterDef, handle: (*Server).getClusterDef},
	{method: http.MethodPut, path: callback.PathPhase, body: true, handle: (*Server).putPhase},
	{method: http.MethodPost, path: callback.PathLog, body: true, handle: (*Server).postLog},

	{method: http.MethodGet, path: callback.PathV0Status, handle: (*Server).v0Status},
	{method: http.MethodGet, path: callback.PathV0Job, handle: (*Server).v0Job},
	{method: http.MethodPut, path: callback.PathV0Port, handle: (*Server).v0Port},
	{method: http.MethodPut, path: callback.PathV0Initialised, handle: (*Server).v0Initialised},
	{method: http.MethodGet, path: callback.PathV0Download, handle: (*Server).v0Download},
}

// request is a request whose sender is known. It must not be kept: fasthttp uses its memory again.
type request struct {
	*fasthttp.RequestCtx
	who    caller
	taskID string // of the path; "" if it has none
}

// callerKey is where a caller is on its way through the router.
type callerKey struct{}

// handler returns the way of every request. ctx ends when the server does.
func (s *Server) handler(ctx context.Context) fasthttp.RequestHandler {
	rt := s.router(ctx)
	return func(rc *fasthttp.RequestCtx) {
		began := time.Now()
		defer func() {
			if fault := recover(); fault != nil { // fasthttp would let it end the scheduler
				s.logger.Error("callback API", logkey.Error, fmt.Sprint(fault), "stack", string(debug.Stack()))
				rc.Response.Reset()
				answerError(rc, errOurFault)
			}
			s.logRequest(rc, began)
		}()
		if err := s.admit(rc); err != nil {
			answerError(rc, err)
			return
		}
		rt.Handler(rc)
	}
}

// admit lets a request through to the router, or says why not.
func (s *Server) admit(rc *fasthttp.RequestCtx) error {
	target := string(rc.RequestURI())
	if target == callback.PathHealth && (rc.IsGet() || rc.IsHead()) {
		return nil
	}
	who, err := s.authenticate(&rc.Request.Header)
	if err != nil {
		return err
	}
	rc.SetUserValue(callerKey{}, who)
	return checkTarget(target)
}

func (s *Server) router(ctx context.Context) *router.Router {
	rt := router.New()
	rt.RedirectTrailingSlash, rt.RedirectFixedPath = false, false
	rt.HandleOPTIONS = false
	rt.NotFound = func(rc *fasthttp.RequestCtx) { answerError(rc, errNoRoute) }
	rt.MethodNotAllowed = func(rc *fasthttp.RequestCtx) {
		allow := string(rc.Response.Header.Peek(fasthttp.HeaderAllow)) // the router always adds OPTIONS
		rc.Response.Header.Set(fasthttp.HeaderAllow, strings.TrimSuffix(strings.Replace(allow, "OPTIONS, ", "", 1), ", OPTIONS"))
		answerError(rc, errBadMethod)
	}
	for _, row := range routes {
		handle := func(rc *fasthttp.RequestCtx) {
			if err := s.dispatch(ctx, row, rc); err != nil {
				s.fail(rc, err)
			}
		}
		path := strings.Replace(row.path, "{file}", "{file:*}", 1) // with its folders
		rt.Handle(row.method, path, handle)
		if row.method == http.MethodGet {
			rt.Handle(http.MethodHead, path, handle)
		}
	}
	return rt
}

// fail answers an error, and logs one that is a fault of ours.
func (s *Server) fail(rc *fasthttp.RequestCtx, err error) {
	if !errors.As(err, new(*refusal)) {
		s.logger.Error("callback API", logkey.Error, err)
	}
	answerError(rc, err)
}

// dispatch checks what the route allows and calls its handler.
func (s *Server) dispatch(ctx context.Context, row route, rc *fasthttp.RequestCtx) error {
	who, _ := rc.UserValue(callerKey{}).(caller)
	r := &request{RequestCtx: rc, who: who, taskID: pathValue(rc, "task_id")}
	if r.taskID != "" && !who.operator && r.taskID != who.taskID {
		return errForbidden
	}
	if !row.body && len(rc.PostBody()) > 0 {
		return errTooLarge
	}
	return row.handle(s, ctx, r)
}

// pathValue returns a copy of what the router found for {name}, whose own text is part of the request's memory.
func pathValue(rc *fasthttp.RequestCtx, name string) string {
	value, _ := rc.UserValue(name).(string)
	return strings.Clone(value)
}

const (
	// maxStrangerBody is read of a body before anyone knows whose it is: enough that a sidecar of a past launch gets its
	// answer rather than a closed connection, and no more.
	maxStrangerBody = 8 << 10
	// noBody is the least that fasthttp can be told to read; dispatch refuses that too.
	noBody = 1
)

// bodyLimit is fasthttp.Server.HeaderReceived: how much of a body is read.
func (s *Server) bodyLimit(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	switch {
	case !takesBody(string(h.Method()), string(h.RequestURI())):
		return fasthttp.RequestConfig{MaxRequestBodySize: noBody}
	case !s.knows(h):
		return fasthttp.RequestConfig{MaxRequestBodySize: maxStrangerBody}
	}
	return fasthttp.RequestConfig{MaxRequestBodySize: callback.MaxBody}
}

func (s *Server) knows(h *fasthttp.RequestHeader) bool {
	_, err := s.authenticate(h)
	return err == nil
}

func takesBody(method, target string) bool {
	path, _, _ := strings.Cut(target, "?")
	id := taskIDIn(path)
	for _, row := range routes {
		if row.body && row.method == method && path == callback.For(row.path, id) {
			return true
		}
	}
	return false
}

// logRequest writes one record. The path is the caller's; the logger's handler quotes what is not plain.
func (s *Server) logRequest(rc *fasthttp.RequestCtx, began time.Time) {
	path, _, _ := strings.Cut(string(rc.RequestURI()), "?")
	s.logger.Debug("request", logkey.Method, string(rc.Method()), logkey.Path, path,
		logkey.Status, rc.Response.StatusCode(), logkey.Elapsed, time.Since(began))
}
