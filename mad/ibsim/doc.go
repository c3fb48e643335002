// Package ibsim speaks the socket protocol of ibsim, the InfiniBand fabric
// simulator of infiniband-diags and OpenSM: a control socket with one reply to each
// question, and a data socket with one datagram for each MAD.
//
// Port is the client's end: it attaches to one node of a running simulator.
package ibsim
