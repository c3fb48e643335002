// Package ibsim speaks the socket protocol of ibsim, the InfiniBand fabric
// simulator of infiniband-diags and OpenSM: a control socket with one reply to each
// question, and a data socket with one datagram for each MAD.
//
// Port is the client's end: it attaches to one node of a running simulator. Server
// is the simulator's: it offers a sim/fabric to Port, and to every program that is
// linked with libibumad, through ibsim-run.
//
// Where Server differs from ibsim: it has room for more clients and waits for none
// of them, notices those that died, drops answers to questions that nobody asked,
// passes TrapRepress on to the agent that waits for it, and gives a request back
// that another client does not answer. A wrapped program dies of a MAD of a class
// that it has not registered for, so only requests of subnet management and
// administration go to the client with IsSM.
package ibsim
