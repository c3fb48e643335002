// Package path finds what a PathRecord request asks for: which two ports, along
// which LIDs, and what MTU and rate the forwarding tables give them on the way
// (IBA 15.2.5.16). It is pure: a View in, a record out.
package path
