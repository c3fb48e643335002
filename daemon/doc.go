// Package daemon is the subnet manager as a program that runs: the configuration in force,
// managers one after the other at a port, what they leave behind for the next start, the
// log, the control socket, OpenSM's console, dump files, the service manager, and several
// managers of one host in processes of their own.
//
// Run is one manager, Launch several. The packages below do the work; this one opens files,
// sockets and ports, starts their goroutines as tasks, and ends them in the reverse order.
// The caller chooses the port, so that the package knows no simulation.
package daemon
