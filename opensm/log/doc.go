// Package log writes a log as OpenSM does, so that what reads OpenSM's goes on
// working: File is where the lines go, Handler gives them their shape, and the
// functions of text.go say in OpenSM's words what scripts look for.
package log
