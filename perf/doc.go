// Package perf reads the performance counters of all ports again and again, and says what each
// has counted between two readings.
//
// Machine is a state machine: events with their times go in, requests come out, and there is no
// clock and no I/O. A sweep reads every port once; a bounded number of requests is on the way
// at a time, and one to each agent. What an agent can do is in its ClassPortInfo, which is read
// once, and again after a reboot. Counters of 64 bits are taken where there are any; those of
// PortCounters are reset at three quarters of their largest value.
//
//	m := perf.New(perf.Settings{Interval: time.Minute, Window: 500, QueryInfo: true})
//	out := m.Step(now, &perf.Ports{List: ports})
//	for i := range out.Asks { ... } // send; later Answered or Unanswered with its Tag
//	if out.Image != nil { ... }     // a sweep is done
//
// What is counted between two readings is judged (judge.go). A Note distinguishes a reset by
// others, a reboot, a counter that goes backwards and a value that no link can reach in the
// time; none of them appears as more than the link can carry. A count that may be too low is
// marked AtLeast.
//
// An Image is one sweep, immutable. The History keeps those of the last hour, as differences.
package perf
