package mad

// Port moves the packets of one queue pair, or of both. Any number of goroutines may send
// while one receives.
type Port interface {
	// Send sends the datagrams in order and returns how many it took; fewer than
	// all only with an error. It keeps no reference to ds.
	Send(ds []Datagram) (int, error)
	// TrySend sends those of the datagrams, from the first on, that the port takes
	// without waiting, and returns how many. It keeps no reference to ds.
	TrySend(ds []Datagram) (int, error)
	// Recv blocks until something has come, and fills ds with up to len(ds) of
	// what is there. An error is final: the port is closed or broken.
	Recv(ds []Datagram) (int, error)
	// Close ends a blocked Recv. It may be called at any time, more than once.
	Close() error
}
