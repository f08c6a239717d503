package local

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/shared/logkey"
)

const (
	schedulerPath = "/api/v1/scheduler"
	masterPath    = "/master" + schedulerPath // where a redirect leads to
	realm         = "mesos-master-scheduler"
	streamHeader  = "Mesos-Stream-Id"
	maxBody       = 64 << 20 // bytes of a call
)

// refusal is an answer other than success.
type refusal struct {
	status int
	text   string
	leader string // of a redirect, host:port
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, text: fmt.Sprintf(format, args...)}
}

// serveHTTP answers a request. The checks come in the order of a real master.
func (m *Mesos) serveHTTP(w http.ResponseWriter, r *http.Request) {
	status, no := m.answer(w, r)
	if no != nil {
		status = no.status
		m.log.Warn("request refused", logkey.Status, no.status, logkey.Reason, no.text)
	}
	if status == 0 {
		return // a subscription, which has answered itself
	}
	w.Header()["Content-Type"] = nil
	if no != nil && no.text != "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	if no != nil && no.leader != "" {
		w.Header().Set("Location", "//"+no.leader+masterPath) // without a scheme, as a real one
	}
	w.WriteHeader(status)
	if no != nil {
		_, _ = io.WriteString(w, no.text) // who has gone needs no answer
	}
}

func (m *Mesos) answer(w http.ResponseWriter, r *http.Request) (status int, no *refusal) {
	m.mu.Lock()
	elsewhere := m.elsewhere()
	m.mu.Unlock()
	if elsewhere != nil && elsewhere.status == http.StatusNotFound { // nobody is there yet to ask for credentials
		return 0, elsewhere
	}
	if !m.authorized(r) {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Basic realm=%q", realm))
		return 0, refuse(http.StatusUnauthorized, "401 Unauthorized.")
	}
	if r.URL.Path != schedulerPath && r.URL.Path != masterPath {
		return 0, refuse(http.StatusNotFound, "The local Mesos has only %s", schedulerPath)
	}
	if elsewhere != nil {
		return 0, elsewhere
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return 0, refuse(http.StatusMethodNotAllowed, "405 Method Not Allowed. Expecting one of { 'POST' }, but received '%s'.", r.Method)
	}
	call, c, no := readCall(w, r)
	if no != nil {
		return 0, no
	}
	if no := validateCall(call, m.config.Principal); no != nil {
		return 0, no
	}
	m.log.Debug("call", logkey.Call, call.Type.String(), logkey.FrameworkID, call.GetFrameworkID().GetValue())
	if call.Type == scheduler.Call_SUBSCRIBE {
		return 0, m.serveSubscribe(w, r, call, c)
	}
	return m.receive(call, r.Header.Values(streamHeader))
}

// authorized compares the credentials in constant time, whatever their length.
func (m *Mesos) authorized(r *http.Request) bool {
	user, password, _ := r.BasicAuth()
	same := func(a, b string) int {
		x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
		return subtle.ConstantTimeCompare(x[:], y[:])
	}
	return same(user, m.config.Principal)&same(password, m.config.Secret) == 1
}

func readCall(w http.ResponseWriter, r *http.Request) (*scheduler.Call, codec, *refusal) {
	var c codec
	switch kind := r.Header.Values("Content-Type"); {
	case len(kind) == 0:
		return nil, c, refuse(http.StatusBadRequest, "Expecting 'Content-Type' to be present")
	case kind[0] == protobuf.mediaType:
		c = protobuf
	case kind[0] == jsonText.mediaType:
		c = jsonText
	default:
		return nil, c, refuse(http.StatusUnsupportedMediaType, "Expecting 'Content-Type' of %s or %s", jsonText.mediaType, protobuf.mediaType)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
		return nil, c, refuse(http.StatusRequestEntityTooLarge, "A call may have at most %d bytes", tooBig.Limit)
	}
	if err != nil {
		return nil, c, refuse(http.StatusBadRequest, "Failed to read body: %v", err)
	}
	call, err := c.decode(body)
	if err != nil {
		return nil, c, refuse(http.StatusBadRequest, "%s", c.problem(body))
	}
	return call, c, nil
}

func (m *Mesos) serveSubscribe(w http.ResponseWriter, r *http.Request, call *scheduler.Call, c codec) *refusal {
	accepted, ok := negotiate(r.Header.Values("Accept"), c)
	if !ok {
		return refuse(http.StatusNotAcceptable, "Expecting 'Accept' to allow '%s' or '%s'", protobuf.mediaType, jsonText.mediaType)
	}
	if len(r.Header.Values(streamHeader)) > 0 {
		return refuse(http.StatusBadRequest, "Subscribe calls should not include the '%s' header", streamHeader)
	}
	s, framework, no := m.subscribe(call.Subscribe, accepted)
	if no != nil {
		return no
	}
	s.write(r.Context(), w, m.config.HeartbeatInterval)
	m.disconnect(framework, s)
	return nil
}

// negotiate picks the encoding of the events: that of the call where the
// scheduler takes it, for it speaks that one.
func negotiate(accept []string, called codec) (codec, bool) {
	if len(accept) == 0 {
		return called, true
	}
	takes := func(c codec) bool {
		for _, part := range strings.Split(strings.Join(accept, ","), ",") {
			kind, params, err := mime.ParseMediaType(part)
			if err == nil && params["q"] != "0" && (kind == c.mediaType || kind == "*/*" || kind == "application/*") {
				return true
			}
		}
		return false
	}
	for _, c := range []codec{called, protobuf, jsonText} {
		if takes(c) {
			return c, true
		}
	}
	return codec{}, false
}

// receive does every call but SUBSCRIBE.
func (m *Mesos) receive(call *scheduler.Call, streamIDs []string) (status int, no *refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, refuse(http.StatusServiceUnavailable, "The local Mesos is closing")
	}
	f, elsewhere := m.frameworks[call.FrameworkID.Value], m.elsewhere()
	switch {
	case elsewhere != nil:
		return 0, elsewhere
	case f == nil:
		return 0, refuse(http.StatusBadRequest, "Framework cannot be found")
	case f.stream == nil:
		return 0, refuse(http.StatusForbidden, "Framework is not subscribed")
	case len(streamIDs) == 0:
		return 0, refuse(http.StatusBadRequest, "All non-subscribe calls should include the '%s' header", streamHeader)
	case streamIDs[0] != f.stream.id:
		return 0, refuse(http.StatusBadRequest, "The stream ID '%s' included in this request didn't match the stream ID currently associated with framework ID %s",
			streamIDs[0], f.id)
	}
	defer m.settle()
	return m.do(f, call)
}

// do is the switch over the calls, of a framework that may make them.
func (m *Mesos) do(f *framework, call *scheduler.Call) (status int, no *refusal) {
	switch call.Type {
	case scheduler.Call_TEARDOWN:
		m.remove(f, "it was torn down")
	case scheduler.Call_ACCEPT:
		m.accept(f, call.Accept)
	case scheduler.Call_DECLINE:
		m.decline(f, call.Decline)
	case scheduler.Call_REVIVE:
		f.revive(call.Revive.GetRoles())
	case scheduler.Call_SUPPRESS:
		f.suppress(call.Suppress.GetRoles())
	case scheduler.Call_KILL:
		m.killCall(f, call.Kill)
	case scheduler.Call_ACKNOWLEDGE:
		m.acknowledge(f, call.Acknowledge)
	case scheduler.Call_RECONCILE:
		m.reconcile(f, call.Reconcile)
	case scheduler.Call_ACCEPT_INVERSE_OFFERS:
		m.answerInverse(f, call.AcceptInverseOffers.InverseOfferIDs, call.AcceptInverseOffers.Filters)
	case scheduler.Call_DECLINE_INVERSE_OFFERS:
		m.answerInverse(f, call.DeclineInverseOffers.InverseOfferIDs, call.DeclineInverseOffers.Filters)
	case scheduler.Call_UPDATE_FRAMEWORK:
		if problem := m.updateFramework(f, call.UpdateFramework); problem != "" {
			return 0, refuse(http.StatusBadRequest, "%s", problem)
		}
		return http.StatusOK, nil
	default:
		return 0, refuse(http.StatusNotImplemented, "The local Mesos does not implement %s", call.Type)
	}
	return http.StatusAccepted, nil
}
