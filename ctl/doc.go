// Package ctl is the control protocol of a running manager: JSON over HTTP
// on a unix socket, a ring of events that can be followed, and scrapes of metrics.
// docs/ctl.md describes the protocol.
//
// Server serves a Source, which its user implements; Client is the client. The package
// does not interpret subnets: the Source provides complete rows. Requests are answered
// from immutable values, so that no request can block the manager.
package ctl
