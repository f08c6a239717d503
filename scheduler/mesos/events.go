package mesos

import (
	"fmt"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/scheduler/cluster"
	"tfmesos/shared/logkey"
)

// decode reads one event. The generated code of mesos-go can panic on bytes that are no message (CVE-2021-3121: its
// checked-in files come from a generator before the fix), which is an error here like any other.
func decode(record []byte) (event *scheduler.Event, err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			event, err = nil, fmt.Errorf("decode an event of %d bytes: %v", len(record), recovered)
		}
	}()
	event = &scheduler.Event{}
	if err := event.Unmarshal(record); err != nil {
		return nil, fmt.Errorf("decode an event of %d bytes: %w", len(record), err)
	}
	return event, nil
}

// handle acts on one event: it delivers what the cluster decides on, and returns an error when the stream is to end.
func (r *run) handle(event *scheduler.Event, sub *subscription, dog *watchdog) error {
	switch {
	case event.Type == scheduler.Event_ERROR:
		return r.config.refusalOf(oneLine(event.GetError().GetMessage()))
	case event.Type == scheduler.Event_SUBSCRIBED:
		return r.handleSubscribed(event.GetSubscribed(), sub, dog)
	case !r.subscribed:
		r.log.Debug("ignore an event before SUBSCRIBED", logkey.Event, event.Type.String())
		return nil
	}
	if _, known := scheduler.Event_Type_name[int32(event.Type)]; !known || event.Type == scheduler.Event_UNKNOWN {
		r.warnOnce(event.Type)
		return nil
	}
	r.log.Debug("event", logkey.Event, event.Type.String())
	if converted := convertEvent(event, r.config.Framework.role()); converted != nil {
		r.deliver(converted)
	}
	return nil
}

// handleSubscribed makes the subscription the current one before it is announced, so that calls work at once.
func (r *run) handleSubscribed(subscribed *scheduler.Event_Subscribed, sub *subscription, dog *watchdog) error {
	id := subscribed.GetFrameworkID().GetValue()
	switch {
	case id == "":
		return fmt.Errorf("%s sends SUBSCRIBED without a framework id", sub.url.Host)
	case r.subscribed:
		r.log.Warn("ignore a second SUBSCRIBED on one stream", logkey.FrameworkID, id)
		return nil
	}
	if r.frameworkID != "" && r.frameworkID != id {
		r.log.Warn("the master gives another framework id than asked for", logkey.From, r.frameworkID, logkey.To, id)
	}
	r.frameworkID, r.subscribed, r.met, r.why = id, true, true, ""
	sub.frameworkID = id
	r.mu.Lock()
	r.current = sub
	r.mu.Unlock()
	r.outvoted() // ZooKeeper may have had news meanwhile
	dog.expect(silence(subscribed.HeartbeatIntervalSeconds, r.timing.silence))
	r.log.Info("subscribed", logkey.FrameworkID, id, logkey.Master, sub.url.Host)
	r.deliver(cluster.Subscribed{FrameworkID: id, Master: sub.url.Host})
	return nil
}

// warnOnce tells of an event type that this version does not know, the first time it comes.
func (r *run) warnOnce(kind scheduler.Event_Type) {
	if !r.warned[kind] {
		r.warned[kind] = true
		r.log.Warn("ignore events of a type this version does not know", logkey.Event, int32(kind))
	}
}

// convertEvent returns what the cluster needs to know of an event, or nil: heartbeats, messages of executors, inverse
// offers and operations have no use here. The part of the event that its type promises may be missing.
func convertEvent(event *scheduler.Event, role string) cluster.Event {
	switch event.Type {
	case scheduler.Event_OFFERS:
		if event.Offers == nil || len(event.Offers.Offers) == 0 {
			return nil
		}
		offered := cluster.Offered{}
		for i := range event.Offers.Offers {
			offered.Offers = append(offered.Offers, convertOffer(&event.Offers.Offers[i], role))
		}
		return offered
	case scheduler.Event_RESCIND:
		if id := event.GetRescind().GetOfferID(); id.Value != "" {
			return cluster.Rescinded{OfferID: id.Value}
		}
	case scheduler.Event_UPDATE:
		if event.Update != nil {
			return explainUpdate(convertStatus(&event.Update.Status))
		}
	case scheduler.Event_FAILURE:
		// With an executor it is the end of that one, and the update of its task says more.
		if f := event.Failure; f.GetAgentID() != nil && f.GetExecutorID() == nil {
			return cluster.AgentLost{AgentID: f.AgentID.Value}
		}
	}
	return nil
}
