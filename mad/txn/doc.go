// Package txn keeps the requests that wait for a reply: Table pairs replies with
// requests, retries what stays unanswered, and decides how much may be on the
// wire. It is a pure value: packets, the time and replies are passed in and out.
//
// Requests that come from others, traps and reports are no business of this
// package, and it sends no reply.
package txn
