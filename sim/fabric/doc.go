// Package fabric is an InfiniBand subnet inside the process: switches, channel
// adapters and routers with their subnet-management agents, forwarding by the
// tables programmed into them, and faults on command or at random from one seed.
//
// It is the judge of what a subnet manager does, so it refuses what the
// architecture forbids and never imports the packages it judges.
//
//	f := fabric.New(n, fabric.Config{Seed: 1, Latency: 5 * time.Microsecond})
//	st, err := f.Attach(net.End{Node: 0, Port: 1}) // where the manager sits
//	st.Send(requests)                              // at f.Now()
//	for at, ok := f.Next(); ok; at, ok = f.Next() {
//		f.Advance(at) // agents answer, replies reach the inbox
//		got := replies[:st.Recv(replies)]
//	}
//
// Time is virtual: it is the last argument of Advance, and everything random comes
// from Config.Seed, so the same calls give the same bytes. There is no goroutine
// and no lock; the caller serialises all calls on a Fabric and its Stations.
//
// With Latency and Jitter zero a request is answered before Send returns.
//
// Adapters can have virtual functions (VPorts), each with a GUID, a state, P_Keys and a station of its own.
//
// Not modelled: credits and congestion, partial directed routes (DrSLID or DrDLID
// other than permissive), random forwarding tables and sampling of counters. Agents of
// congestion control hold what is written (Congestion).
//
// Ports count what probes and MADs carry and what is lost, and agents of performance
// management show it (Perf). SetBitErrorRate makes a cable bad.
package fabric
