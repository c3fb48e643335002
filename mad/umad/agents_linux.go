package umad

import (
	"sync/atomic"

	"ibsm/mad"
)

// agent is one of the kernel's that acts for us.
type agent struct {
	class mad.Class // 0 of a sender
	id    uint32
}

// maxAgents is how many agents the kernel gives a file, numbered from 0.
const maxAgents = 32

// senders is how many agents without a class send the requests of a queue pair.
//
// Newer kernels (Linux 7.3, not 6.12) keep at most 128 requests of such an agent on the wire,
// and only 16 of an agent of the SA's class; the others wait in the kernel for one of those to
// be answered or to time out (sol_fc_max in drivers/infiniband/core/mad.c). Each attempt of an
// SMP is a request of its own there, which is kept for Config.Timeout. With a window of 128, an
// attempt each 200 ms and a Timeout of 850 ms, nodes that do not answer make that 5 x 128 at most.
const senders = 8

// isLimited reports whether the kernel limits the requests of a class.
func isLimited(class mad.Class) bool { return class.IsSubnet() || class == mad.ClassSA }

// agents are those of one file. Each request of a class that is limited goes through the
// sender that has the fewest outstanding, so that the kernel has none of them wait; everything
// else goes through the agent of its class.
type agents struct {
	list []agent
	held [maxAgents]atomic.Int32 // requests that the kernel has not returned, by agent
}

// ofClass is the agent of a class.
func (a *agents) ofClass(class mad.Class) (id uint32, ok bool) {
	for _, g := range a.list {
		if g.class == class && class != 0 {
			return g.id, true
		}
	}
	return 0, false
}

// forRequest is the agent that sends a request, where own is that of its class.
func (a *agents) forRequest(own uint32) uint32 {
	best, least := own, int32(-1)
	for _, g := range a.list {
		if n := a.held[g.id%maxAgents].Load(); g.class == 0 && (least < 0 || n < least) {
			best, least = g.id, n
		}
	}
	return best
}

// has reports whether packets of a class may come from an agent.
func (a *agents) has(id uint32, class mad.Class) bool {
	if _, ok := a.ofClass(class); !ok {
		return false
	}
	for _, g := range a.list {
		if g.id == id {
			return g.class == class || g.class == 0
		}
	}
	return false
}

// took counts a request that the kernel took.
func (a *agents) took(id uint32) { a.held[id%maxAgents].Add(1) }

// returned counts a request that has come back with an answer or as timed out.
func (a *agents) returned(id uint32) {
	held := &a.held[id%maxAgents]
	for n := held.Load(); n > 0 && !held.CompareAndSwap(n, n-1); n = held.Load() {
	}
}

// outstanding is how many requests the kernel has not returned.
func (a *agents) outstanding() (n int) {
	for i := range a.held {
		n += int(a.held[i].Load())
	}
	return n
}
