package local

import (
	"encoding/json"
	"fmt"

	"github.com/gogo/protobuf/proto"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// codec is one of the two encodings of the API.
type codec struct {
	mediaType string
	what      string // it makes of a body
	unmarshal func([]byte, *scheduler.Call) error
	marshal   func(*scheduler.Event) ([]byte, error)
}

var (
	protobuf = codec{
		mediaType: "application/x-protobuf", what: "Call protobuf",
		unmarshal: func(data []byte, call *scheduler.Call) error { return call.Unmarshal(data) },
		marshal:   func(event *scheduler.Event) ([]byte, error) { return proto.Marshal(event) },
	}
	jsonText = codec{
		mediaType: "application/json", what: "JSON",
		unmarshal: func(data []byte, call *scheduler.Call) error { return json.Unmarshal(data, call) },
		marshal:   func(event *scheduler.Event) ([]byte, error) { return json.Marshal(event) },
	}
)

// decode reads a call. mesos-go's decoders come from an old generator and can
// panic on malformed input, which is an error like any other.
func (c codec) decode(data []byte) (call *scheduler.Call, err error) {
	defer func() {
		if r := recover(); r != nil {
			call, err = nil, fmt.Errorf("malformed: %v", r)
		}
	}()
	call = new(scheduler.Call)
	if err := c.unmarshal(data, call); err != nil {
		return nil, err
	}
	return call, nil
}
