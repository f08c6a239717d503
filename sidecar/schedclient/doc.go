// Package schedclient calls the scheduler's callback API over HTTP.
//
// A scheduler has one or more URLs, and may get others when it moves: each answer of the registration and of the long poll
// carries those it can be called at from then on. Every call tries them in turn, beginning with the one that answered last.
// No proxy is ever used: the scheduler is inside, and the credentials are not for others.
package schedclient
