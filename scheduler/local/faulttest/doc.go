// Package faulttest puts faults between a scheduler and any Mesos master, the
// local one or a real one: calls that are lost, late or doubled, answers that are
// lost, streams that are cut anywhere, fall silent, or bring what nobody knows.
//
// A test points its scheduler at Proxy.Addr. Calls go through, and the stream
// is cut into chunks at random, unless the test says otherwise.
//
// It is for tests alone: shared/archtest lets nothing that ships import a
// package whose name ends in "test".
package faulttest
