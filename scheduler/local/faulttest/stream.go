package faulttest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// Stream is a subscription on its way through the proxy. Its methods return at
// once; what they ask for happens in their order, between two records.
type Stream struct {
	// Subscribe is the call that opened it.
	Subscribe Call
	// Gone is closed when it has ended, on either side.
	Gone chan struct{}

	proxy  *Proxy
	w      http.ResponseWriter
	orders chan func()
	muted  bool
}

func newStream(p *Proxy, call Call, w http.ResponseWriter) *Stream {
	return &Stream{Subscribe: call, Gone: make(chan struct{}), proxy: p, w: w, orders: make(chan func(), 1000)}
}

// Send puts an event into the stream, as the master would.
func (s *Stream) Send(event *scheduler.Event) {
	data, err := event.Marshal()
	if err != nil {
		panic(fmt.Sprintf("the event of a test: %v", err))
	}
	s.Raw(Record(data))
}

// Raw puts bytes into the stream, which may be no record at all.
func (s *Stream) Raw(data []byte) { s.orders <- func() { s.write(data) } }

// Mute lets nothing through any more, not even heartbeats. The connection stays.
func (s *Stream) Mute() { s.orders <- func() { s.muted = true } }

// Break breaks the connection between two records.
func (s *Stream) Break() { s.orders <- func() { panic(http.ErrAbortHandler) } }

// BreakInside breaks the connection inside a record.
func (s *Stream) BreakInside() {
	s.Raw([]byte("1000\nhalf"))
	s.Break()
}

// End ends the stream in good order.
func (s *Stream) End() { s.orders <- func() { panic(ended{}) } }

type ended struct{}

// Record is data as RecordIO has it.
func Record(data []byte) []byte { return append(fmt.Appendf(nil, "%d\n", len(data)), data...) }

// copy passes the records of the master on until either side ends.
func (s *Stream) copy(ctx context.Context, from io.Reader) {
	defer close(s.Gone)
	defer func() {
		if r := recover(); r != nil && r != (ended{}) {
			panic(r)
		}
	}()
	_ = http.NewResponseController(s.w).Flush()
	done := make(chan struct{})
	defer close(done)
	records := make(chan []byte, 16)
	go func() {
		defer close(records)
		for in := bufio.NewReader(from); ; {
			record, err := read(in)
			if err != nil {
				return
			}
			if s.proxy.withholds(record[bytes.IndexByte(record, '\n')+1:]) {
				continue
			}
			select {
			case records <- record:
			case <-done:
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case order := <-s.orders:
			order()
		case record, open := <-records:
			if !open {
				return
			}
			for joined := 0; joined < len(records); joined++ { // those that have come meanwhile
				record = append(record, <-records...)
			}
			if !s.muted {
				s.write(record)
			}
		}
	}
}

// read reads a record with its length.
func read(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
	if err != nil {
		return nil, err
	}
	record := bytes.NewBufferString(line)
	_, err = io.CopyN(record, in, int64(size))
	return record.Bytes(), err
}

// write writes data in up to five chunks, cut anywhere.
func (s *Stream) write(data []byte) {
	flush := http.NewResponseController(s.w).Flush
	for pieces := rand.IntN(5); pieces > 0 && len(data) > 1; pieces-- {
		n := 1 + rand.IntN(len(data)-1)
		_, _ = s.w.Write(data[:n]) // who has gone is noticed by its context
		_ = flush()
		data = data[n:]
	}
	_, _ = s.w.Write(data)
	_ = flush()
}
