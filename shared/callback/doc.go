// Package callback is the contract between scheduler and sidecar: paths, JSON bodies, limits and their checks.
//
// It is pure and has no transport. docs/callback-api.md tells it to people; testdata/ has one golden body a message.
package callback
