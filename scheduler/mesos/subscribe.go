package mesos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/logkey"
)

// Run keeps a subscription until ctx ends, the master refuses the framework, or a Teardown was accepted; the latter is
// no error. frameworkID is the one known from before, or empty to register anew; the id that Subscribed brings is used
// from then on.
//
// It calls deliver from this goroutine for each event in the order of the stream. deliver must not wait for anything: a
// stream that is not read makes the master hold all events in memory. Offers and calls of one subscription are void in the
// next; each begins with Subscribed. While there is none, Disconnected tells why, again whenever the reason changes. On a
// refusal Refused is the last event; the error is then ErrRefused, ErrFrameworkRemoved or ErrFailedOver.
func (c *Client) Run(ctx context.Context, frameworkID string, deliver func(cluster.Event)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer c.follow(ctx)()
	defer cancel()
	r := &run{Client: c, frameworkID: frameworkID, deliver: deliver, warned: map[scheduler.Event_Type]bool{}}
	for attempt := 0; ; attempt++ {
		began := time.Now()
		err := r.subscribe(ctx)
		c.settle(ctx)
		refused := (*refusal)(nil)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case c.ended():
			return nil
		case errors.As(err, &refused):
			c.log.Error("the master refuses the framework", logkey.FrameworkID, r.frameworkID, logkey.Reason, refused.message)
			deliver(cluster.Refused{Message: refused.message})
			return refused
		}
		if r.subscribed && time.Since(began) > c.timing.backoff.Max {
			attempt = 0 // it has worked; one that fails soon after each SUBSCRIBED must not come back ever so fast
		}
		wait := c.timing.backoff.Delay(attempt, c.fraction())
		r.disconnected(err, wait, attempt)
		news, err := c.pause(ctx, wait)
		if err != nil {
			return err
		}
		if news {
			attempt = -1 // how long the one before was away says nothing of this one
		}
	}
}

// pause returns early when ctx ends, with its error, after a Teardown, or when ZooKeeper has news of the leader.
func (c *Client) pause(ctx context.Context, wait time.Duration) (news bool, err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-c.tornDown:
	case <-c.elected.changed:
		return true, nil
	case <-timer.C:
	}
	return false, nil
}

// run is the state of one Run.
type run struct {
	*Client
	frameworkID string
	deliver     func(cluster.Event)
	subscribed  bool   // SUBSCRIBED has come on the present stream
	met         bool   // SUBSCRIBED has come on any
	why         string // of the Disconnected delivered last; empty once subscribed
	warned      map[scheduler.Event_Type]bool
}

// disconnected reports that there is no subscription, once for each reason.
func (r *run) disconnected(err error, wait time.Duration, attempt int) {
	why := oneLine(err.Error())
	if why == r.why {
		r.log.Debug("still not subscribed", logkey.Reason, why, logkey.Wait, wait, logkey.Attempt, attempt)
		return
	}
	r.why = why
	r.log.Info("not subscribed", logkey.Master, r.masters.String(), logkey.Reason, why, logkey.Wait, wait, logkey.Attempt, attempt)
	r.deliver(cluster.Disconnected{Why: why})
}

// subscribe opens a subscription and reads it to its end; the error says what ended it, and is never nil.
func (r *run) subscribe(ctx context.Context) error {
	if r.ended() {
		return errTornDown
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sub := &subscription{drop: cancel}
	r.subscribed = false
	err := r.stream(ctx, sub)
	if cause := context.Cause(ctx); cause != nil && !errors.As(err, new(*refusal)) {
		err = cause // rather than what cancelling did to the connection
	}
	r.lose(sub, err)
	r.closeIdle()
	return err
}

func (r *run) stream(ctx context.Context, sub *subscription) error {
	answer, from, err := r.open(ctx, sub)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	dog := watch(r.timing.subscribe, func() { sub.drop(errSilent) })
	defer dog.stop()
	sub.url, sub.streamID = from, answer.Header.Get(streamIDHeader)
	if sub.streamID == "" || len(sub.streamID) > maxStreamID {
		return fmt.Errorf("%s answers SUBSCRIBE without a usable %s: is it a Mesos master?", from.Host, streamIDHeader)
	}
	records := newRecordReader(answer.Body)
	for {
		record, err := records.next()
		if err == io.EOF {
			return errClosed
		}
		if err != nil {
			return err
		}
		if r.subscribed {
			dog.heard()
		}
		event, err := decode(record)
		if err != nil {
			return err
		}
		if err := r.handle(event, sub, dog); err != nil {
			return err
		}
	}
}

// subscribeCall has a known framework id in both of its places, or the master refuses it.
func (r *run) subscribeCall() *scheduler.Call {
	call := &scheduler.Call{
		Type:      scheduler.Call_SUBSCRIBE,
		Subscribe: &scheduler.Call_Subscribe{FrameworkInfo: r.config.frameworkInfo(r.frameworkID)},
	}
	if r.frameworkID != "" {
		call.FrameworkID = &mesos.FrameworkID{Value: r.frameworkID}
	}
	return call
}
