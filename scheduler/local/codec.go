package local

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/gogo/protobuf/proto"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// codec is one of the two encodings of the API.
type codec struct {
	mediaType string
	problem   func([]byte) string // of a body that cannot be decoded
	unmarshal func([]byte, *scheduler.Call) error
	marshal   func(*scheduler.Event) ([]byte, error)
}

var (
	protobuf = codec{
		mediaType: "application/x-protobuf",
		problem:   func([]byte) string { return "Failed to parse body into Call protobuf" },
		unmarshal: func(data []byte, call *scheduler.Call) error { return call.Unmarshal(data) },
		marshal:   func(event *scheduler.Event) ([]byte, error) { return proto.Marshal(event) },
	}
	jsonText = codec{
		mediaType: "application/json",
		problem: func(data []byte) string {
			if json.Valid(data) {
				return "Failed to convert JSON into Call protobuf"
			}
			return "Failed to parse body into JSON"
		},
		unmarshal: func(data []byte, call *scheduler.Call) error { return json.Unmarshal(data, call) },
		marshal:   marshalJSON,
	}
)

// marshalJSON writes an event without what is null, which a master leaves out
// and mesos-go does not, and with the name of the one value that mesos-go has none for.
func marshalJSON(event *scheduler.Event) ([]byte, error) {
	data, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber() // nanoseconds are too many for a float
	var value any
	if err := in.Decode(&value); err != nil {
		return nil, err
	}
	data, err = json.Marshal(withoutNull(value))
	return bytes.ReplaceAll(data, []byte(`{"type":"3"}`), []byte(`{"type":"QUOTA_V2"}`)), err
}

func withoutNull(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, part := range value {
			if value[name] = withoutNull(part); part == nil {
				delete(value, name)
			}
		}
	case []any:
		for i := range value {
			value[i] = withoutNull(value[i])
		}
	}
	return value
}

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
