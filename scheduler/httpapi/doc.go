// Package httpapi serves the callback API: what sidecars report and ask, and what people ask about the cluster.
//
// It decides nothing. A handler reads the published cluster, or turns a request into an event of scheduler/cluster and
// answers once the loop has stored it. A request passes, in this order:
//
//	limits on header, body and time → credentials → the original path → the router → whose task it is → the handler
//
// so that a stranger learns nothing but 401, whatever the request. fasthttp uses the memory of a request again for the next
// one: whatever outlives a handler is copied to a string first.
//
// docs/callback-api.md tells it to people; a test compares its tables with the routes and limits here.
package httpapi
