package schedclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tfmesos/shared/callback"
	"tfmesos/sidecar/boot"
)

// Config says whom to call, as whom.
type Config struct {
	// URLs are where the scheduler can be called at first, as in "http://10.0.0.1:11000"; at least one.
	URLs []string
	// TaskID is the launch that this sidecar belongs to, and Token its credential.
	TaskID, Token string
	// Basic: the credentials go as User and Token in RFC 7617's way, and not at all if both are empty.
	Basic bool
	User  string
	// VerifySSL: check the certificate of an https URL.
	VerifySSL bool
	// RequestTimeout bounds one request to one URL, a long poll's wait not counted.
	RequestTimeout time.Duration
}

const (
	// maxAnswer is the largest answer read, in bytes: a cluster_def of some ten thousand tasks.
	maxAnswer = 1 << 20
	// dialTimeout bounds connecting, so that a URL that leads nowhere does not keep the others waiting.
	dialTimeout = 3 * time.Second
	// pollMargin is how much later than asked for the answer of a long poll may come. With it a scheduler that hangs is
	// left for another connection before its lease is over.
	pollMargin = 10 * time.Second
)

// Client calls the scheduler. Its methods may be called from any goroutine.
type Client struct {
	config Config
	http   *http.Client

	mu   sync.Mutex
	urls []string // the best first
}

// New returns a client; nothing is called yet.
func New(config Config) *Client {
	transport := &http.Transport{
		Proxy:                  nil,
		DialContext:            (&net.Dialer{Timeout: min(dialTimeout, config.RequestTimeout), KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: !config.VerifySSL, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    config.RequestTimeout,
		MaxIdleConnsPerHost:    4, // the long poll, reports and output each have one
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
	}
	doNotFollow := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{config: config, http: &http.Client{Transport: transport, CheckRedirect: doNotFollow}, urls: slices.Clone(config.URLs)}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Register reports the port.
func (c *Client) Register(ctx context.Context, r callback.Registration) (callback.Registered, error) {
	var answer callback.Registered
	err := c.call(ctx, http.MethodPut, callback.PathRegistration, c.config.RequestTimeout, r, &answer)
	if err == nil {
		c.learn(answer.Callbacks)
	}
	return answer, err
}

// Poll waits for a cluster_def of another generation than this, for callback.MaxWaitSeconds at most.
func (c *Client) Poll(ctx context.Context, generation int) (callback.Assignment, error) {
	query := url.Values{
		callback.QueryGeneration: {strconv.Itoa(generation)},
		callback.QueryWait:       {strconv.Itoa(callback.MaxWaitSeconds)},
	}
	limit := callback.MaxWaitSeconds*time.Second + min(pollMargin, c.config.RequestTimeout)
	var answer callback.Assignment
	err := c.call(ctx, http.MethodGet, callback.PathClusterDef+"?"+query.Encode(), limit, nil, &answer)
	if err == nil {
		c.learn(answer.Callbacks)
	}
	return answer, err
}

// Report tells of a phase.
func (c *Client) Report(ctx context.Context, r callback.PhaseReport) error {
	return c.call(ctx, http.MethodPut, callback.PathPhase, c.config.RequestTimeout, r, nil)
}

// Log hands over output.
func (c *Client) Log(ctx context.Context, l callback.Log) error {
	return c.call(ctx, http.MethodPost, callback.PathLog, c.config.RequestTimeout, l, nil)
}

// learn takes over the scheduler's current URLs; the one that works stays the first if it is still among them.
func (c *Client) learn(urls []string) {
	var usable []string
	for _, text := range urls {
		text = strings.TrimRight(text, "/")
		if u, err := url.Parse(text); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
			usable = append(usable, text)
		}
	}
	if len(usable) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	works := c.urls[0]
	c.urls = usable
	c.prefer(works)
}

// prefer moves a URL to the front if it is there. It needs c.mu.
func (c *Client) prefer(works string) {
	if i := slices.Index(c.urls, works); i > 0 {
		c.urls = slices.Insert(slices.Delete(slices.Clone(c.urls), i, i+1), 0, works)
	}
}

// call tries the URLs in turn until one answers with success. If none does, a refusal says more than no answer: the error
// is the first of the most telling kind.
func (c *Client) call(ctx context.Context, method, path string, limit time.Duration, body, answer any) error {
	content, err := encode(body)
	if err != nil {
		return &Error{failure: boot.Invalid, err: err}
	}
	c.mu.Lock()
	urls := slices.Clone(c.urls)
	c.mu.Unlock()
	var worst *Error
	for _, base := range urls {
		err := c.try(ctx, method, base+callback.For(path, c.config.TaskID), limit, content, answer)
		if err == nil {
			c.mu.Lock()
			c.prefer(base)
			c.mu.Unlock()
			return nil
		}
		if worst == nil || worst.failure == boot.Away && err.failure != boot.Away {
			worst = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return worst
}

func encode(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false) // < and > of output would take six bytes each
	err := encoder.Encode(body)
	return content.Bytes(), err
}

// try makes one request and reads its answer.
func (c *Client) try(ctx context.Context, method, address string, limit time.Duration, content []byte, answer any) *Error {
	_, text, err := c.ask(ctx, method, address, limit, content)
	if err != nil {
		return err
	}
	host := address
	if u, err := url.Parse(address); err == nil {
		host = u.Host
	}
	return decode(host, text, answer)
}

// authorize puts the credentials in.
func (c *Client) authorize(request *http.Request) {
	switch {
	case !c.config.Basic:
		request.Header.Set("Authorization", "Bearer "+c.config.Token)
	case c.config.User != "" || c.config.Token != "":
		request.SetBasicAuth(c.config.User, c.config.Token)
	}
}

// ask makes one request and returns the status, which is a success, and the body.
func (c *Client) ask(ctx context.Context, method, address string, limit time.Duration, content []byte) (int, []byte, *Error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err != nil {
		return 0, nil, &Error{failure: boot.Away, err: err}
	}
	c.authorize(request)
	request.Header.Set("Accept", "application/json")
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, &Error{failure: boot.Away, err: plain(err, limit)}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return 0, nil, &Error{failure: boot.Away, err: fmt.Errorf("read the answer of %s: %w", request.URL.Host, plain(err, limit))}
	case len(text) > maxAnswer:
		return 0, nil, &Error{failure: boot.Away, err: fmt.Errorf("%s: answer of more than %d bytes", request.URL.Host, maxAnswer)}
	case response.StatusCode/100 != 2:
		return 0, nil, statusError(request.URL.Host, response.StatusCode, text)
	}
	return response.StatusCode, text, nil
}

// plain takes the request out of an error of package http, and says how long it took to time out.
func plain(err error, limit time.Duration) error {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return dial // it names the address, and had less time
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s: %w", limit, context.DeadlineExceeded)
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// decode reads exactly one JSON object.
func decode(host string, text []byte, answer any) *Error {
	if answer == nil {
		return nil
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' {
		return &Error{failure: boot.Away, err: fmt.Errorf("%s: the answer is not a scheduler's: %s", host, excerpt(text))}
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return &Error{failure: boot.Away, err: fmt.Errorf("%s: the answer is not a scheduler's: %w", host, err)}
	}
	return nil
}
