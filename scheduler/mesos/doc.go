// Package mesos speaks the v1 scheduler API of a Mesos master over HTTP.
//
// It has two connections. Run keeps the subscription, one long answer full of events, and opens it anew whenever
// it is lost; Call sends one call on the other, with the Mesos-Stream-Id that ties it to the subscription. Events come out
// and calls go in as the types of scheduler/cluster; deciding, storing and acknowledging is the caller's.
//
//	Run:   SUBSCRIBE ─307→ leader ─200→ SUBSCRIBED, events … ─┬─ lost, silent, 503, refused connection → wait, again
//	                                                          └─ ERROR, 400, 401, 403                 → Refused, end
//	Call:  POST with the stream id ─┬─ 2xx → nil
//	                                ├─ 307, 401, 403, 400 about the stream or framework → CallError, and Run subscribes anew
//	                                └─ anything else → CallError
//
// Messages are protobuf in the types of mesos-go, because its JSON codec fails on enum values it does not know. Where
// the text of Mesos' documentation and its source differ (redirects, refusals, nesting of events), the source counts.
package mesos
