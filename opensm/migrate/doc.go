// Package migrate decides how a host goes from OpenSM to ibsm and back: from the processes, units and files of the host
// it makes findings and steps. It does nothing itself: all of its results are values.
package migrate
