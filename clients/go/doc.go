// Package keyturn is the client of Keyturn, the sidecar that gives every key its turn: one worker per key at a time, in
// order, without doing the same work twice.
//
// A [Client] sends all calls of a process over one stream, keeps the turns that it is given alive, comes back after a
// break with what it held, and tells a handler in time when its turn is lost. [Client.WithTurn] and [Client.Turn] are for
// messages that you have, [Client.Consume] for those that Keyturn keeps, [Client.Submit] and [Client.Producer] hand
// messages over, [Client.Result] waits for what one came to.
//
// A client and everything that it makes may be used by any number of goroutines at the same time. Every wait ends: with
// its context, with its own time-out, or ten seconds after the wait that was asked for.
package keyturn
