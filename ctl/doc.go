// Package ctl is how a running manager is watched and told what to do: JSON over HTTP
// on a unix socket, a ring of events that can be followed, and scrapes of metrics.
// docs/ctl.md describes the protocol.
//
// Server serves a Source, which its user implements; Client is the other end. The
// package knows nothing of subnets: rows are handed to it ready to be written. Whoever
// asks is served from values that do not change, so that nothing here can hold up what
// is asked about.
package ctl
