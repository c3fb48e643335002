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
	// perUnresponsive replaces it for an unresponsive device: no agent is there that would be kept
	// from answering, or the device does not answer such requests.
	perUnresponsive = 32
	// slowPart is the part of the time-out after which an answer is that of a slow device. Such
	// a device is sent one request at a time: a second one would wait for the first, and what
	// waits for longer than a time-out is sent again and has to be answered twice.
	slowPart = 2
	// leastPatience is the least that Table.patience can be.
	leastPatience = 10 * time.Millisecond
	// maxDevices is how many are remembered. More routes than that are only in use where the
	// subnet has changed.
	maxDevices = 1 << 16
)

// device is what the agent at the end of a route has to take. Device 0 stands for all that are
// not known.
type device struct {
	active int // requests that wait for the window or an answer
	speed  speed
	rtt    time.Duration // recent round trips of a slow one, else 0
	heard  time.Duration // when it last answered
	parked list

	heardIn, lostIn uint32 // losses.period of the last answer, and of the last loss that counted
}

// speed is how fast a device answers.
type speed uint8

const (
	quick        speed = iota // or not known
	slow                      // it has recently taken more than slowPart of the time-out
	unresponsive              // the last request that ended was not answered, though there was time
)

// answered takes a round trip of the device.
func (d *device) answered(now, rtt, timeout time.Duration) {
	d.heard = now
	if rtt > d.rtt {
		d.rtt = rtt
	} else {
		d.rtt -= (d.rtt - rtt) / 8
	}
	d.speed = slow
	if d.rtt < timeout/slowPart {
		d.speed, d.rtt = quick, 0
	}
}

// unanswered takes the end of a request without an answer. A slow device that has answered
// another one since it was sent had no time.
func (d *device) unanswered(firstSent time.Duration) {
	if d.speed != slow || d.heard < firstSent {
		d.speed, d.rtt = unresponsive, 0
	}
}

// patienceWith is how long an attempt is awaited. A slow device is asked again when twice the
// time has passed that it takes, so that its agent does not work on repetitions.
func (t *Table) patienceWith(s *slot) time.Duration {
	if s.device <= 0 || t.cfg.PortRetries {
		return t.cfg.Timeout
	}
	return max(t.cfg.Timeout, min(2*t.devices[s.device].rtt, s.firstSent+t.slowest()-s.lastSent))
}

// isLast reports whether no attempt follows the last one. A slow device has fewer attempts, each with more time.
func (t *Table) isLast(s *slot) bool {
	return int(s.attempt) > t.cfg.Retries ||
		s.patience > t.cfg.Timeout && s.lastSent+s.patience-s.firstSent >= t.slowest()
}

// slowest is how long a request to a slow device may take.
func (t *Table) slowest() time.Duration { return time.Duration(t.cfg.Retries+1) * t.allAttempts() }

// allAttempts is how long a device may take for an answer if it is not known to be slow.
func (t *Table) allAttempts() time.Duration {
	return time.Duration(t.cfg.Retries+1) * t.cfg.Timeout
}

// hears notes that the device of a request has answered it after a time. Of unknown ones only
// those that are slow are noted.
func (t *Table) hears(now, rtt time.Duration, i int32, p *mad.Packet) {
	switch {
	case i > 0:
	case i < 0 || rtt < t.cfg.Timeout/slowPart || p.MgmtClass() != mad.ClassDirected:
		return
	default:
		r := mad.MakeRoute(p.InitialPath()[1 : 1+min(int(p.HopCount()), mad.MaxHops)]...)
		i = t.deviceAt(&r)
	}
	t.devices[i].answered(now, rtt, t.cfg.Timeout)
}

// deviceOf is the index of the device that answers a request, -1 for one without a limit.
func (t *Table) deviceOf(r *Request) int32 {
	switch {
	case !r.limited():
		return -1
	case r.Unknown:
		if i, known := t.byRoute.find(&r.Route); known && t.devices[i].speed == slow {
			return i
		}
		return 0
	}
	if len(t.devices) > maxDevices && t.Outstanding() == 0 {
		t.devices, t.byRoute = t.devices[:1], newRoutes()
	}
	return t.deviceAt(&r.Route)
}

// deviceAt is the index of the device at the end of a route.
func (t *Table) deviceAt(r *mad.Route) int32 {
	i, known := t.byRoute.find(r)
	if !known {
		i = int32(len(t.devices))
		t.devices = append(t.devices, device{heard: -1})
		t.byRoute.add(r, i)
	}
	return i
}

// routes are the indices of devices by the routes to them. Most routes are short, and a short one is
// found by a number: hashing and comparing 64 bytes for each request costs more than all else here.
type routes struct {
	short map[uint64]int32
	long  map[mad.Route]int32
}

func newRoutes() routes { return routes{map[uint64]int32{}, map[mad.Route]int32{}} }

// shortRoute is the number of a route of at most seven hops.
func shortRoute(r *mad.Route) (key uint64, ok bool) {
	ports := r.Ports()
	if len(ports) > 7 {
		return 0, false
	}
	key = uint64(len(ports))
	for _, p := range ports {
		key = key<<8 | uint64(p)
	}
	return key, true
}

func (m *routes) find(r *mad.Route) (i int32, known bool) {
	if key, ok := shortRoute(r); ok {
		i, known = m.short[key]
		return i, known
	}
	i, known = m.long[*r]
	return i, known
}

func (m *routes) add(r *mad.Route, i int32) {
	if key, ok := shortRoute(r); ok {
		m.short[key] = i
		return
	}
	m.long[*r] = i
}

// mayTake reports whether a device can be sent one more request.
func (t *Table) mayTake(d *device) bool {
	switch d.speed {
	case unresponsive:
		return d.active < max(perUnresponsive, t.cfg.PerDevice)
	case slow:
		return d.active < 1
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
// unresponsive devices delay others for a time-out.
func (t *Table) patience() time.Duration {
	if !t.directed {
		return t.cfg.Timeout
	}
	return min(max(leastPatience, min(4*t.rtt, t.cfg.Timeout/4)), t.cfg.Timeout)
}

// age takes attempts from the window that have waited for longer than patience, so that unresponsive
// devices do not hold up others; and requests to unknown devices from their limit.
func (t *Table) age(now time.Duration) {
	for t.directed && t.sent.n > 0 {
		i := t.sent.head
		s := &t.slots[i]
		if s.lastSent+t.patience() > now {
			return
		}
		t.unlink(i)
		if s.patience > t.cfg.Timeout {
			t.push(&t.slow, i, awaited)
		} else {
			t.push(&t.late, i, late)
		}
		if s.device == 0 {
			t.leave(s)
		}
	}
}
