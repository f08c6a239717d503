package local

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"tfmesos/shared/logkey"
)

// stream is one subscription: the events on their way to a scheduler.
type stream struct {
	id    string // the Mesos-Stream-Id
	codec codec
	box   *mailbox[[]byte] // RecordIO records
}

func newStream(c codec) *stream {
	return &stream{id: newUUID().String(), codec: c, box: newMailbox[[]byte]()}
}

// push sends an event. It is encoded here, so that events may share parts of
// the state without the writer of the stream seeing them change.
func (s *stream) push(event *scheduler.Event) error {
	data, err := s.codec.marshal(event)
	if err != nil {
		return err
	}
	record := make([]byte, 0, len(data)+12)
	record = append(strconv.AppendInt(record, int64(len(data)), 10), '\n')
	s.box.put(append(record, data...))
	return nil
}

// fail sends ERROR as the last event of the stream.
func (s *stream) fail(message string) {
	_ = s.push(&scheduler.Event{Type: scheduler.Event_ERROR, Error: &scheduler.Event_Error{Message: message}}) // a text can be encoded
	s.box.close()
}

func heartbeat() *scheduler.Event { return &scheduler.Event{Type: scheduler.Event_HEARTBEAT} }

// write copies the stream to its scheduler until either ends it.
func (s *stream) write(ctx context.Context, w http.ResponseWriter, interval time.Duration) {
	w.Header().Set("Content-Type", s.codec.mediaType)
	w.Header().Set("Mesos-Stream-Id", s.id)
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	beat := time.NewTicker(interval)
	defer beat.Stop()
	for {
		records, open := s.box.take()
		for _, record := range records {
			if _, err := w.Write(record); err != nil {
				return
			}
		}
		if err := out.Flush(); err != nil || !open {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.box.ready:
		case <-beat.C:
			_ = s.push(heartbeat()) // has no content that could not be encoded
		}
	}
}

// send sends an event to the framework if it is connected; else the event is
// lost, as on a real master.
func (m *Mesos) send(f *framework, event *scheduler.Event) {
	if f.stream == nil {
		return
	}
	if err := f.stream.push(event); err != nil {
		m.log.Warn("event left out", logkey.FrameworkID, f.id, logkey.Event, event.Type.String(), logkey.Error, err)
	}
}
