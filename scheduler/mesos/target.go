package mesos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/mesos/detector"
	"tfmesos/shared/logkey"
)

// maxHops bounds the redirects from a master to the leading one.
const maxHops = 5

// elected is what ZooKeeper says of the leading master.
type elected struct {
	leader  string        // host:port; empty: none
	why     error         // there is none, or it is not known whether this is still the one
	refused bool          // there will be none: ZooKeeper does not let us look
	changed chan struct{} // has room for one message
}

// follow keeps up with ZooKeeper, if that is where the leader is found, until ctx ends; the returned function waits for that.
func (c *Client) follow(ctx context.Context) (wait func()) {
	if c.masters.zookeeper == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.masters.zookeeper.Follow(ctx, c.log, c.elect)
	}()
	return func() { <-done }
}

// elect takes news of ZooKeeper. While that is away the leader remains who it was: masters go on for a while too.
func (c *Client) elect(found detector.Finding) {
	c.mu.Lock()
	c.elected.why, c.elected.refused = found.Err, errors.Is(found.Err, detector.ErrRefused)
	switch {
	case found.Err == nil && c.masters.scheme == "https":
		c.elected.leader = found.Master.ByName()
	case found.Err == nil:
		c.elected.leader = found.Master.ByIP()
	case errors.Is(found.Err, detector.ErrNoLeader):
		c.elected.leader = ""
	}
	leader := c.elected.leader
	c.mu.Unlock()
	c.log.Debug("zookeeper says who leads", logkey.Master, leader, logkey.Error, found.Err)
	c.outvoted()
	select {
	case c.elected.changed <- struct{}{}:
	default: // there is a message already
	}
}

// outvoted ends a subscription at a master in whose place another one was elected. As long as there is none, the stream tells
// best whether its master is still there.
func (c *Client) outvoted() {
	c.mu.Lock()
	sub, leader := c.current, c.elected.leader
	c.mu.Unlock()
	if sub != nil && sub.elected != "" && leader != "" && sub.elected != leader {
		c.lose(sub, fmt.Errorf("%w: %s", errElected, leader))
	}
}

// candidates returns where to subscribe, the most likely first: the leader that a call was redirected to, once, then whom
// ZooKeeper names, or each of the list. The error says why there is nobody.
func (r *run) candidates(sub *subscription) ([]*url.URL, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var to []*url.URL
	if r.leader != nil {
		to = append(to, r.leader)
		r.leader = nil
	}
	sub.elected = r.elected.leader
	switch {
	case r.masters.zookeeper == nil:
		to = append(to, r.masters.list...)
	case r.elected.refused:
		return nil, &refusal{kind: ErrRefused, message: r.elected.why.Error(), cause: r.elected.why}
	case r.elected.leader != "":
		to = append(to, masterURL(r.masters.scheme, r.elected.leader))
	case len(to) == 0 && r.elected.why != nil:
		return nil, r.elected.why
	case len(to) == 0:
		return nil, fmt.Errorf("%s does not say who leads", r.masters.zookeeper)
	}
	return to, nil
}

// open subscribes at the first candidate that leads to the leading master, and returns the answer of 200 with its address. Its error
// tells of each of them; a refusal of one is final.
func (r *run) open(ctx context.Context, sub *subscription) (*http.Response, *url.URL, error) {
	body, err := r.subscribeCall().Marshal()
	if err != nil {
		return nil, nil, fmt.Errorf("encode call SUBSCRIBE: %w", err)
	}
	r.awaitZooKeeper(ctx)
	candidates, err := r.candidates(sub)
	if err != nil {
		return nil, nil, err
	}
	var failures []error
	for _, to := range candidates {
		answer, from, err := r.openAt(ctx, to, body)
		if err == nil || ctx.Err() != nil || errors.As(err, new(*refusal)) {
			return answer, from, err
		}
		failures = append(failures, err)
	}
	return nil, nil, r.unopened(failures)
}

// awaitZooKeeper waits for the first word of ZooKeeper, which may take as long as an answer of a master.
func (r *run) awaitZooKeeper(ctx context.Context) {
	r.mu.Lock()
	silent := r.masters.zookeeper != nil && r.elected.leader == "" && r.elected.why == nil
	r.mu.Unlock()
	if !silent {
		return
	}
	timer := time.NewTimer(r.timing.answer)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-r.tornDown:
	case <-r.elected.changed:
	case <-timer.C:
	}
}

// unopened joins what each candidate has come to. If it is certificates at all of them, and none has ever been good, it is not
// going to get better by itself.
func (r *run) unopened(failures []error) error {
	texts, distrusted := []string{}, 0
	for _, err := range failures {
		texts = append(texts, err.Error())
		if errors.As(err, new(*distrust)) {
			distrusted++
		}
	}
	err := fmt.Errorf("%s", strings.Join(texts, "; "))
	if distrusted == len(failures) && !r.met {
		return &refusal{kind: ErrRefused, message: err.Error(), cause: failures[0]}
	}
	if r.masters.zookeeper != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.elected.why != nil {
			err = fmt.Errorf("%w; %w", err, r.elected.why)
		}
	}
	return err
}

// openAt follows redirects from one master.
func (r *run) openAt(ctx context.Context, to *url.URL, body []byte) (*http.Response, *url.URL, error) {
	for range maxHops + 1 {
		r.log.Debug("subscribe", logkey.URL, to.String(), logkey.FrameworkID, r.frameworkID)
		answer, err := r.postSubscribe(ctx, to, body)
		if err != nil {
			return nil, nil, fmt.Errorf("subscribe at %s: %w", to.Host, explainTLS(to, withoutURL(err)))
		}
		if answer.StatusCode == http.StatusOK {
			return answer, to, nil
		}
		message := readMessage(answer)
		answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			if to, err = redirected(to, answer.Header.Get("Location")); err != nil {
				return nil, nil, err
			}
		default:
			return nil, nil, r.unsubscribable(to, &CallError{Call: scheduler.Call_SUBSCRIBE.String(), Code: answer.StatusCode, Message: message})
		}
	}
	return nil, nil, fmt.Errorf("redirected %d times, at last to %s: the masters have no leader", maxHops+1, to.Host)
}

// postSubscribe is post, whose answer must begin in time. The rest of it has no limit but the watchdog.
func (r *run) postSubscribe(ctx context.Context, to *url.URL, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(r.timing.answer, func() { cancel(fmt.Errorf("%w within %s", errNoAnswer, r.timing.answer)) })
	answer, err := r.post(ctx, r.streams, to, "", body)
	switch {
	case !timer.Stop() && context.Cause(ctx) != nil: // too late
		if err == nil {
			answer.Body.Close()
		}
		return nil, context.Cause(ctx)
	case err != nil:
		cancel(err)
		return nil, err
	}
	answer.Body = &bodyOf{answer.Body, func() { cancel(nil) }}
	return answer, nil
}

// bodyOf ends the request's context when it is closed.
type bodyOf struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (b *bodyOf) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
