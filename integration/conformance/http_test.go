//go:build integration

package conformance_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

var httpStories = []told{
	{"requests-that-are-refused", requestsThatAreRefused, []codec{jsonText}},
	{"calls-that-are-not-valid", callsThatAreNotValid, both},
	{"answers-to-calls", answersToCalls, both},
	{"encodings-of-events", encodingsOfEvents, []codec{jsonText}},
	{"json-as-people-write-it", jsonAsPeopleWriteIt, []codec{jsonText}},
}

// send sends any bytes and writes down what comes back.
func (c *client) send(name, body string, changes ...func(*http.Request)) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, "http://"+c.master.addr+"/api/v1/scheduler", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.SetBasicAuth(principal, secret)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Mesos-Stream-Id", c.streamID)
	for _, f := range changes {
		f(request)
	}
	response, err := c.http.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text := "…" // a stream
	if response.Header.Get("Mesos-Stream-Id") == "" {
		all, err := io.ReadAll(response.Body)
		if err != nil {
			c.t.Fatal(err)
		}
		text = string(all)
	}
	headers := ""
	for _, name := range []string{"Content-Type", "WWW-Authenticate", "Allow"} {
		if value, ok := response.Header[name]; ok {
			headers += fmt.Sprintf(" %s=%q", name, value[0])
		} else if value := response.Header.Get(name); value != "" {
			headers += fmt.Sprintf(" %s=%q", name, value)
		}
	}
	c.note("%s: %d %q%s", name, response.StatusCode, parserWords(text), headers)
}

// parserWords cuts off what only the parser of one master would say.
func parserWords(text string) string {
	for _, known := range []string{"Failed to parse body into JSON", "Failed to parse body into Call protobuf", "Failed to convert JSON into Call protobuf"} {
		if strings.HasPrefix(text, known) {
			return known
		}
	}
	return text
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = []string{value} }
}

func without(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }

func requestsThatAreRefused(s *story) {
	c := s.subscribe(modern)
	revive := `{"type":"REVIVE","framework_id":{"value":"` + c.id + `"}}`
	sub := `{"type":"SUBSCRIBE","subscribe":{"framework_info":{"user":"root","name":"n"}}}`
	noStream := without("Mesos-Stream-Id")
	c.send("no credentials", revive, without("Authorization"))
	c.send("wrong secret", revive, func(r *http.Request) { r.SetBasicAuth(principal, "s3cre") })
	c.send("unknown principal", revive, func(r *http.Request) { r.SetBasicAuth("somebody", secret) })
	c.send("no credentials and a wrong method", revive, without("Authorization"), func(r *http.Request) { r.Method = http.MethodGet })
	c.send("another scheme", revive, header("Authorization", "Bearer x"))
	c.send("GET", revive, func(r *http.Request) { r.Method = http.MethodGet })
	c.send("PUT", revive, func(r *http.Request) { r.Method = http.MethodPut })
	c.send("no content type", revive, without("Content-Type"))
	c.send("content type with a charset", revive, header("Content-Type", "application/json; charset=utf-8"))
	c.send("content type in capitals", revive, header("Content-Type", "APPLICATION/JSON"))
	c.send("content type of another kind", revive, header("Content-Type", "text/plain"))
	c.send("an empty body", "")
	c.send("not JSON", "{")
	c.send("JSON, but no object", "[]")
	c.send("protobuf said to be JSON", "\n\x03\n\x01F\x10\x0b")
	c.send("JSON said to be protobuf", revive, header("Content-Type", "application/x-protobuf"))
	c.send("no stream id", revive, noStream)
	c.send("another stream id", revive, header("Mesos-Stream-Id", "x"))
	c.send("SUBSCRIBE with a stream id", sub)
	c.send("SUBSCRIBE that takes no encoding of ours", sub, noStream, header("Accept", "text/html"))
	c.send("a call that takes no encoding of ours", revive, header("Accept", "text/html"))
	c.quiet()
}

func callsThatAreNotValid(s *story) {
	c := s.subscribe(modern)
	id := &mesos.FrameworkID{Value: c.id}
	try := func(name string, call *scheduler.Call) {
		s.t.Helper()
		response := c.post(call)
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		s.note("%s: %d %q", name, response.StatusCode, parserWords(string(text)))
	}
	// None without a type: with UNKNOWN in its place, as mesos-go encodes it, a master of 1.11.0 ends itself.
	try("no framework id", &scheduler.Call{Type: scheduler.Call_REVIVE})
	try("an unknown framework", &scheduler.Call{Type: scheduler.Call_REVIVE, FrameworkID: &mesos.FrameworkID{Value: "nobody"}})
	for _, kind := range []scheduler.Call_Type{scheduler.Call_ACCEPT, scheduler.Call_DECLINE, scheduler.Call_KILL, scheduler.Call_ACKNOWLEDGE,
		scheduler.Call_RECONCILE, scheduler.Call_ACCEPT_INVERSE_OFFERS, scheduler.Call_DECLINE_INVERSE_OFFERS, scheduler.Call_UPDATE_FRAMEWORK,
		scheduler.Call_SHUTDOWN, scheduler.Call_MESSAGE, scheduler.Call_REQUEST, scheduler.Call_ACKNOWLEDGE_OPERATION_STATUS, scheduler.Call_RECONCILE_OPERATIONS} {
		try("no body of "+kind.String(), &scheduler.Call{Type: kind, FrameworkID: id})
	}
	try("a short uuid", &scheduler.Call{Type: scheduler.Call_ACKNOWLEDGE, FrameworkID: id,
		Acknowledge: &scheduler.Call_Acknowledge{AgentID: mesos.AgentID{Value: "A"}, TaskID: mesos.TaskID{Value: "T"}, UUID: []byte{1}}})
	other := &mesos.FrameworkInfo{User: "root", Name: "other", ID: &mesos.FrameworkID{Value: "other"}}
	try("UPDATE_FRAMEWORK of another framework", &scheduler.Call{Type: scheduler.Call_UPDATE_FRAMEWORK, FrameworkID: id,
		UpdateFramework: &scheduler.Call_UpdateFramework{FrameworkInfo: *other}})
	stream := c.streamID
	c.streamID = ""
	try("SUBSCRIBE without a body", &scheduler.Call{Type: scheduler.Call_SUBSCRIBE})
	try("SUBSCRIBE with the id in one place", &scheduler.Call{Type: scheduler.Call_SUBSCRIBE, Subscribe: &scheduler.Call_Subscribe{FrameworkInfo: other}})
	try("SUBSCRIBE with the id in the other place", &scheduler.Call{Type: scheduler.Call_SUBSCRIBE, FrameworkID: id,
		Subscribe: &scheduler.Call_Subscribe{FrameworkInfo: &mesos.FrameworkInfo{User: "root", Name: "other"}}})
	stranger := "stranger"
	try("SUBSCRIBE with another principal", &scheduler.Call{Type: scheduler.Call_SUBSCRIBE,
		Subscribe: &scheduler.Call_Subscribe{FrameworkInfo: &mesos.FrameworkInfo{User: "root", Name: "other", Principal: &stranger}}})
	c.streamID = stream
	c.quiet()
}

// answersToCalls has what a master says to each call that it takes.
func answersToCalls(s *story) {
	c := s.subscribe(modern)
	body := map[scheduler.Call_Type]func(*scheduler.Call){
		scheduler.Call_DECLINE:                func(call *scheduler.Call) { call.Decline = &scheduler.Call_Decline{} },
		scheduler.Call_RECONCILE:              func(call *scheduler.Call) { call.Reconcile = &scheduler.Call_Reconcile{} },
		scheduler.Call_ACCEPT_INVERSE_OFFERS:  func(call *scheduler.Call) { call.AcceptInverseOffers = &scheduler.Call_AcceptInverseOffers{} },
		scheduler.Call_DECLINE_INVERSE_OFFERS: func(call *scheduler.Call) { call.DeclineInverseOffers = &scheduler.Call_DeclineInverseOffers{} },
		scheduler.Call_UPDATE_FRAMEWORK: func(call *scheduler.Call) {
			info := *c.info
			info.ID = &mesos.FrameworkID{Value: c.id}
			call.UpdateFramework = &scheduler.Call_UpdateFramework{FrameworkInfo: info}
		},
	}
	for _, kind := range []scheduler.Call_Type{scheduler.Call_DECLINE, scheduler.Call_REVIVE, scheduler.Call_SUPPRESS, scheduler.Call_RECONCILE,
		scheduler.Call_ACCEPT_INVERSE_OFFERS, scheduler.Call_DECLINE_INVERSE_OFFERS, scheduler.Call_UPDATE_FRAMEWORK, scheduler.Call_TEARDOWN} {
		call := &scheduler.Call{Type: kind, FrameworkID: &mesos.FrameworkID{Value: c.id}}
		if body[kind] != nil {
			body[kind](call)
		}
		response := c.post(call)
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		s.note("%s: %d %q Content-Type=%q", kind, response.StatusCode, text, response.Header.Get("Content-Type"))
	}
}

// encodingsOfEvents has which encoding a master picks.
func encodingsOfEvents(s *story) {
	c := s.connect(modern)
	sub := `{"type":"SUBSCRIBE","subscribe":{"framework_info":{"user":"root","name":"n"}}}`
	for _, accept := range []string{"", "*/*", "application/*", "application/json", "application/x-protobuf", "application/x-protobuf, application/json",
		"application/json;q=0.5, application/x-protobuf", "application/json; charset=utf-8", "text/html, */*"} {
		change := header("Accept", accept)
		if accept == "" {
			change = without("Accept")
		}
		c.send(fmt.Sprintf("Accept: %s", accept), sub, without("Mesos-Stream-Id"), change)
	}
}

// jsonAsPeopleWriteIt has what a master makes of JSON that is not quite as it should be.
func jsonAsPeopleWriteIt(s *story) {
	c := s.subscribe(modern)
	start := `{"framework_id":{"value":"` + c.id + `"},`
	c.send("no type", `{"framework_id":{"value":"`+c.id+`"}}`)
	c.send("an unknown field", start+`"type":"REVIVE","colour":"red"}`)
	c.send("a field that is null", start+`"type":"REVIVE","revive":null}`)
	c.send("an unknown type", start+`"type":"DANCE"}`)
	c.send("a type of the wrong kind", start+`"type":{}}`)
	c.send("a type in small letters", start+`"type":"revive"}`)
	c.send("the documented form of REVIVE, which names no role that is read", start+`"type":"REVIVE","revive":{"role":"x"}}`)
	c.send("a uuid that is not base64", start+`"type":"ACKNOWLEDGE","acknowledge":{"agent_id":{"value":"A"},"task_id":{"value":"T"},"uuid":"!"}}`)
	c.send("a required field that is missing", start+`"type":"KILL","kill":{}}`)
	c.send("a number that is a text", start+`"type":"DECLINE","decline":{"offer_ids":[],"filters":{"refuse_seconds":"5"}}}`)
	c.send("a text that is a number", `{"framework_id":{"value":5},"type":"REVIVE"}`)
	c.send("an unknown capability", `{"type":"SUBSCRIBE","subscribe":{"framework_info":{"user":"root","name":"n","capabilities":[{"type":"FLYING"}]}}}`, without("Mesos-Stream-Id"))
	c.send("blanks around it", "\n "+start+`"type":"REVIVE"} `+"\n")
	c.quiet()
}
