package mesos

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/backoff"
	"tfmesos/shared/logkey"
)

const (
	mediaType      = "application/x-protobuf" // the master compares it byte by byte: no parameters
	streamIDHeader = "Mesos-Stream-Id"
	maxStreamID    = 128 // bytes
)

// timing is fixed; only tests have another.
type timing struct {
	call      time.Duration  // a call without an answer is given up after it
	answer    time.Duration  // from sending SUBSCRIBE to the head of its answer, at each master
	subscribe time.Duration  // from there to SUBSCRIBED
	silence   time.Duration  // heartbeat intervals without any record before the stream is taken for dead
	backoff   backoff.Policy // between subscriptions
}

// defaultTiming: Mesos' documentation suggests 5 heartbeats (75 s) of silence and a backoff of up to 15 s. A call waits less
// than that, because those after it wait for it.
var defaultTiming = timing{
	call:      30 * time.Second,
	answer:    15 * time.Second,
	subscribe: 75 * time.Second,
	silence:   5,
	backoff:   backoff.Policy{First: 250 * time.Millisecond, Max: 15 * time.Second, Factor: 2},
}

// Client is one framework at one master. Its methods may be called from different goroutines.
type Client struct {
	config   Config
	masters  *masters
	log      *slog.Logger
	timing   timing
	fraction func() float64 // of the jitter, from [0, 1)
	streams  *http.Client
	calls    *http.Client

	tornDown chan struct{} // closed after a Teardown

	mu      sync.Mutex
	current *subscription // nil while not subscribed
	tearing chan struct{} // closed when the Teardown that is on its way has its answer; nil if there is none
	leader  *url.URL      // where a call was redirected to; the next SUBSCRIBE tries it first
	elected elected
}

// subscription is what calls need to know of the stream they belong to. It does not change.
type subscription struct {
	url         *url.URL
	streamID    string
	frameworkID string
	elected     string                  // who led when it began, as ZooKeeper says; empty without one
	drop        context.CancelCauseFunc // ends the stream
}

// New checks the configuration; the error names all that is wrong with it. It connects to nothing: Run does.
func New(config Config) (*Client, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	masters, err := parseMasters(config.Master, config.Secure)
	if err != nil {
		return nil, err
	}
	trust, err := config.tls()
	if err != nil {
		return nil, err
	}
	return &Client{
		config: config, masters: masters, log: config.Logger, timing: defaultTiming, fraction: rand.Float64,
		streams: newHTTPClient(trust), calls: newHTTPClient(trust), tornDown: make(chan struct{}),
		elected: elected{changed: make(chan struct{}, 1)},
	}, nil
}

// newHTTPClient returns a client for one connection. It asks no proxy: masters are inside the cluster, and a proxy would hold
// back the stream. It follows no redirect, because only SUBSCRIBE may, and unpacks nothing.
func newHTTPClient(trust *tls.Config) *http.Client {
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext,
			TLSClientConfig:     trust.Clone(),
			TLSHandshakeTimeout: tlsTimeout,
			Protocols:           &http1,
			MaxConnsPerHost:     1, // calls keep their order
			DisableCompression:  true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Call sends one call to the master of the current subscription and waits until the master has taken it. That is not to say
// that it has acted on it: what becomes of a call, if anything, comes as events. The order of calls is the order at the
// master only if each waits for the one before.
//
// The error is ErrNotSubscribed, or a *CallError, or says that the call cannot be put into a message. If the answer
// means that the subscription is void, Run opens a new one. After a Teardown Run ends, and the client with it.
func (c *Client) Call(ctx context.Context, call cluster.Call) error {
	sub := c.subscription()
	if sub == nil {
		return ErrNotSubscribed
	}
	defer c.closeIdle()
	message, err := convertCall(call, sub.frameworkID, c.config.Framework.role())
	if err != nil {
		return err
	}
	body, err := message.Marshal()
	if err != nil {
		return fmt.Errorf("encode call %s: %w", message.Type, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timing.call)
	defer cancel()
	_, teardown := call.(cluster.Teardown)
	if teardown {
		defer c.tearDown()()
	}
	c.log.Debug("call the master", logkey.Call, message.Type.String())
	location, failed := c.send(ctx, sub, message.Type.String(), body)
	if failed == nil {
		if teardown {
			c.end()
			c.lose(sub, errTornDown)
		}
		return nil
	}
	if failed.unsubscribes() {
		c.redirect(sub, location)
		c.lose(sub, failed)
	}
	return failed
}

// send posts a call. It returns the Location if the answer is a redirect.
func (c *Client) send(ctx context.Context, sub *subscription, name string, body []byte) (string, *CallError) {
	answer, err := c.post(ctx, c.calls, sub.url, sub.streamID, body)
	if err != nil {
		return "", &CallError{Call: name, Err: withoutURL(err)}
	}
	defer answer.Body.Close()
	message := readMessage(answer)
	if answer.StatusCode/100 == 2 {
		return "", nil
	}
	return answer.Header.Get("Location"), &CallError{Call: name, Code: answer.StatusCode, Message: message}
}

// post sends one message; streamID is empty for SUBSCRIBE. The answer's body must be closed.
func (c *Client) post(ctx context.Context, client *http.Client, to *url.URL, streamID string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", mediaType)
	request.Header.Set("Accept", mediaType)
	request.Header.Set("User-Agent", "tfmesos")
	if streamID != "" {
		request.Header.Set(streamIDHeader, streamID)
	}
	if c.config.Secret != "" {
		request.SetBasicAuth(c.config.Principal, string(c.config.Secret))
	}
	return client.Do(request)
}

// readMessage reads the text of an answer that is no stream, and no more of it than anybody wants to see.
func readMessage(answer *http.Response) string {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4*maxMessage)) // a message cut short is better than none
	return oneLine(string(text))
}

func (c *Client) subscription() *subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// lose ends a subscription, for the reason that Run is to report.
func (c *Client) lose(sub *subscription, why error) {
	c.mu.Lock()
	if c.current == sub {
		c.current = nil
	}
	c.mu.Unlock()
	sub.drop(why)
}

// tearDown makes Run wait, should the stream end, until the returned function is called: the master may close the stream
// before it answers the TEARDOWN, and that is no lost connection.
func (c *Client) tearDown() (answered func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tearing := make(chan struct{})
	c.tearing = tearing
	return func() { close(tearing) }
}

// settle waits for the answer to a TEARDOWN that is on its way, which comes within the time of a call, or for ctx.
func (c *Client) settle(ctx context.Context) {
	c.mu.Lock()
	tearing := c.tearing
	c.mu.Unlock()
	if tearing == nil {
		return
	}
	select {
	case <-ctx.Done():
	case <-tearing:
	}
}

// end tells Run that the framework was torn down.
func (c *Client) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended() {
		close(c.tornDown)
	}
}

func (c *Client) ended() bool {
	select {
	case <-c.tornDown:
		return true
	default:
		return false
	}
}

// redirect notes where a call was sent on to. A Location that is no use is forgotten; the master's address remains.
func (c *Client) redirect(sub *subscription, location string) {
	if to, err := redirected(sub.url, location); err == nil {
		c.mu.Lock()
		c.leader = to
		c.mu.Unlock()
	}
}

// closeIdle closes connections that nothing will use again, after the end of the subscription.
func (c *Client) closeIdle() {
	if c.subscription() == nil {
		c.calls.CloseIdleConnections()
		c.streams.CloseIdleConnections()
	}
}
