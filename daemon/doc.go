// Package daemon is the subnet manager as a running program: the configuration in force, managers one after the other
// on a port, the state that they keep for the next start, the log, the control socket, OpenSM's console, dump files,
// the service manager, and several managers of one host in separate processes.
//
// Run is one manager, Launch several. The packages below do the work; this one opens files, sockets and ports, starts
// their goroutines as tasks, and ends them in reverse order. The caller chooses the port, so that this package does not
// depend on the simulation.
package daemon
