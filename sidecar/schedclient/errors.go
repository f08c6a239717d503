package schedclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"tfmesos/shared/callback"
	"tfmesos/sidecar/boot"
)

// Error is the error of every method of Client.
type Error struct {
	// Status is that of the HTTP answer; 0 if there was none or it was a success with a useless body.
	Status  int
	failure boot.Failure
	err     error
}

// Failure says what to do about it.
func (e *Error) Failure() boot.Failure { return e.failure }

func (e *Error) Error() string { return "schedclient: " + e.err.Error() }

func (e *Error) Unwrap() error { return e.err }

// statusError makes an error of an answer that is no success. A 404 means that the launch is unknown only if a scheduler
// says so: some other program may have got its port.
func statusError(host string, status int, text []byte) *Error {
	e := &Error{Status: status, failure: boot.Away}
	said, ours := words(text)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.failure = boot.Refused
	case ours && (status == http.StatusNotFound || status == http.StatusConflict || status == http.StatusGone):
		e.failure = boot.Superseded
	case ours && (status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge):
		e.failure = boot.Invalid
	}
	e.err = fmt.Errorf("%s answers %d: %s", host, status, said)
	return e
}

// words returns what an answer says, and whether a scheduler has said it.
func words(text []byte) (said string, ours bool) {
	var body callback.Error
	if err := json.Unmarshal(text, &body); err == nil && body.Error != "" {
		return excerpt([]byte(body.Error)), true
	}
	return excerpt(text), false
}

// excerpt makes a foreign text fit for one line of a log.
func excerpt(text []byte) string {
	const longest = 200
	if len(text) > longest {
		text = append(text[:longest:longest], "…"...)
	}
	return strconv.Quote(string(text))
}
