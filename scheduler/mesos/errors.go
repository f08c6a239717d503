package mesos

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// What Run and Call return; compare with errors.Is.
var (
	// ErrNotSubscribed: there is no subscription now, so nothing can be called. Nothing was sent.
	ErrNotSubscribed = errors.New("mesos: not subscribed")
	// ErrRefused: the master will not have this framework as it is: credentials, role, principal, user …
	ErrRefused = errors.New("mesos: the master refuses the framework")
	// ErrFrameworkRemoved: the framework id is dead, by TEARDOWN or because the failover timeout has passed.
	ErrFrameworkRemoved = errors.New("mesos: the framework has been removed")
	// ErrFailedOver: another scheduler has subscribed with our framework id. To subscribe again would be a fight.
	ErrFailedOver = errors.New("mesos: another scheduler has taken the framework over")
)

// Reasons for which a subscription ends and Run opens the next one.
var (
	errSilent   = errors.New("the master has gone silent: the connection is broken, or a proxy before the master holds back the stream")
	errNoAnswer = errors.New("no answer to SUBSCRIBE")
	errElected  = errors.New("another master has been elected")
	errClosed   = errors.New("the master has closed the stream")
	errTornDown = errors.New("the framework was torn down")
)

// CallError says that a call got no 2xx.
type CallError struct {
	// Call is the type of the call, as in ACCEPT.
	Call string
	// Code is the HTTP status, or 0 if no answer came; then Err says why, and the master may have acted on the call.
	Code int
	// Message is the body of the answer.
	Message string
	Err     error
}

// Error tells the call, the status and what the master said to it.
func (e *CallError) Error() string {
	status := fmt.Sprintf("%d %s", e.Code, http.StatusText(e.Code))
	switch {
	case e.Code == 0:
		return fmt.Sprintf("call %s: no answer: %v", e.Call, e.Err)
	case e.Message == "" || strings.HasPrefix(e.Message, status): // Mesos' own body of a 401
		return fmt.Sprintf("call %s: %s", e.Call, status)
	}
	return fmt.Sprintf("call %s: %s: %s", e.Call, status, e.Message)
}

// Unwrap returns Err.
func (e *CallError) Unwrap() error { return e.Err }

// Temporary reports whether the same call may be answered differently later: no answer, no leading master, a master
// that is still starting (its routes are missing at first: 404) or too busy.
func (e *CallError) Temporary() bool {
	switch e.Code {
	case 0, http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented:
		return false
	}
	return e.Code < 400 || e.Code >= 500
}

// unsubscribes reports whether the answer to a call means that the subscription is no good any more (the texts are
// those of Master::Http::scheduler).
func (e *CallError) unsubscribes() bool {
	switch e.Code {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect, http.StatusUnauthorized, http.StatusForbidden:
		return true
	case http.StatusBadRequest:
		return strings.Contains(e.Message, "stream ID") || strings.Contains(e.Message, "Framework cannot be found")
	}
	return false
}

// refusal ends Run: kind is one of the exported errors, message is what the master said.
type refusal struct {
	kind    error
	message string
	cause   error
}

func (r *refusal) Error() string { return fmt.Sprintf("%v: %s", r.kind, r.message) }

func (r *refusal) Unwrap() []error {
	if r.cause == nil {
		return []error{r.kind}
	}
	return []error{r.kind, r.cause}
}

// refusalOf classifies the message of an ERROR event.
func (c *Config) refusalOf(message string) *refusal {
	switch {
	case strings.Contains(message, "Framework has been removed"):
		return &refusal{kind: ErrFrameworkRemoved, message: message}
	case strings.Contains(message, "Framework failed over"):
		return &refusal{kind: ErrFailedOver, message: message}
	case message == "":
		message = "an ERROR event without a message"
	}
	if hint := c.explainError(message); hint != "" {
		message += ": " + hint
	}
	return &refusal{kind: ErrRefused, message: message}
}

// withoutURL drops the method and address that net/http puts before an error; they are known and long.
func withoutURL(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// oneLine makes text from elsewhere fit for one line of a log or terminal.
func oneLine(text string) string {
	text = strings.ToValidUTF8(text, "?")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage]) + " …"
	}
	return text
}

const maxMessage = 500
