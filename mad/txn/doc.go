// Package txn keeps the requests that wait for a reply: Table pairs replies with
// requests, retries what stays unanswered, and decides how much may be on the
// wire. It is a pure value: packets, the time and replies are passed in and out.
//
// Port is what moves packets, and Engine the one goroutine that a queue pair
// needs: it receives from a Port and keeps what came until its owner takes it.
//
// Requests that come from others, traps and reports are no business of this
// package, and it sends no reply.
package txn
