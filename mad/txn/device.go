package txn

import (
	"time"

	"ibsm/mad"
)

// Limits of what one device has to take. An agent handles one SMP at a time, and its port's VL15
// buffer may hold only few: what finds it full is dropped, and costs a time-out.
const (
	// perDevice is the default of Config.PerDevice: the second request waits in the buffer
	// while the agent handles the first. With as many requests to devices that are not known
	// yet, no agent has more to take than from OpenSM, which has four on the wire.
	perDevice = 2
	// perSilent replaces it for a device that has left a request unanswered in all attempts:
	// then nobody is there who would be kept from answering.
	perSilent = 32
	// leastPatience is the least that Table.patience can be.
	leastPatience = 10 * time.Millisecond
	// maxDevices is how many are remembered. More routes than that are only in use where the
	// subnet has changed.
	maxDevices = 1 << 16
)

// device is what the agent at the end of a route has to take. Device 0 stands for all that are
// not known.
type device struct {
	active int  // requests that wait for the window or an answer
	silent bool // the last request that ended was not answered
	parked list
}

// deviceOf is the index of the device that answers a request, -1 for one without a limit.
func (t *Table) deviceOf(r *Request) int32 {
	switch {
	case !r.limited():
		return -1
	case r.Unknown:
		return 0
	}
	if len(t.devices) > maxDevices && t.Outstanding() == 0 {
		t.devices, t.byRoute = t.devices[:1], map[mad.Route]int32{}
	}
	i, known := t.byRoute[r.Route]
	if !known {
		i = int32(len(t.devices))
		t.devices = append(t.devices, device{})
		t.byRoute[r.Route] = i
	}
	return i
}

// mayTake reports whether a device can be sent one more request.
func (t *Table) mayTake(d *device) bool {
	if d.silent && d != &t.devices[0] {
		return d.active < max(perSilent, t.cfg.PerDevice)
	}
	return d.active < t.cfg.PerDevice
}

// RoomForUnknown reports whether a request to an unknown device would not have to wait for
// others of its kind.
func (t *Table) RoomForUnknown() bool { return t.devices[0].parked.n == 0 && t.mayTake(&t.devices[0]) }

// leave takes a request from its device's limit, and lets others proceed that wait for it.
func (t *Table) leave(s *slot) {
	if s.device < 0 {
		return
	}
	d := &t.devices[s.device]
	d.active--
	s.device = -1
	for d.parked.n > 0 && t.mayTake(d) {
		next := d.parked.head
		d.active++
		t.parked--
		t.unlink(next)
		t.push(&t.ready, next, ready)
	}
}

// patience is how long an attempt counts in the window: what has no answer by then has most
// likely been dropped, or nobody is there. It is far above a round trip, but not so long that
// silent devices delay others for a time-out.
func (t *Table) patience() time.Duration {
	if !t.directed {
		return t.cfg.Timeout
	}
	return min(max(leastPatience, min(4*t.rtt, t.cfg.Timeout/4)), t.cfg.Timeout)
}

// age takes attempts from the window that have waited for longer than patience, so that silent
// devices do not hold up others; and requests to unknown devices from their limit.
func (t *Table) age(now time.Duration) {
	for t.directed && t.sent.n > 0 {
		i := t.sent.head
		s := &t.slots[i]
		if s.lastSent+t.patience() > now {
			return
		}
		t.unlink(i)
		t.push(&t.late, i, late)
		if s.device == 0 {
			t.leave(s)
		}
	}
}
