package txn

import (
	"slices"
	"time"

	"ibsm/mad"
)

// trial compares a device with itself, where round trips of different devices do not show how switches pass
// SMPs on: adapters may take longer for an answer than switches, a switch longer than the next one, and a cable
// of ten kilometres takes as long as an agent. A device is asked alone, then behind requests to others whose
// routes begin as its own does, then alone again. Agents on the common part of the routes handle
// those others first, and so add their time for each. Neither the speed of the device nor the length of cables does.
//
// All that is not exempt waits meanwhile, for about four round trips. What the trial sends beside the requests of the
// table's users is the device's Get, twice more.
type trial struct {
	state  trialState
	began  time.Duration
	next   time.Duration // no trial begins earlier
	slot   int32         // the request that is timed
	get    mad.Datagram
	hops   int           // that it proves
	others int           // requests that were sent before it
	alone  time.Duration // the least round trip of two
	behind time.Duration
}

// trialState is what a trial does.
type trialState uint8

const (
	trialNone    trialState = iota
	trialEmpties            // it waits until nothing is on the wire
	trialAlone              // the device is asked alone
	trialQueues             // it waits until others can be asked before the device
	trialBehind             // the device is asked behind others
	trialRests              // it waits until those are answered
	trialAgain              // the device is asked alone for the second time
)

const (
	// trialPause is the time between two trials that show nothing or agents: each of them
	// costs less than a hundredth of it. One that was disturbed by other load of the machine is soon repeated.
	trialPause = 100 * time.Millisecond
	// trialRetry is the time until the next one where there were too few requests for one.
	trialRetry = 2 * time.Millisecond
	// lossPause is the time without trials after a loss has refuted one.
	lossPause = 10 * time.Second
	// leastOthers is how many requests have to be ahead of the device.
	leastOthers = 2
)

// try begins and continues a trial. It reports whether all other requests have to wait.
func (t *Table) try(now time.Duration, out []mad.Datagram) ([]mad.Datagram, bool) {
	tr := &t.window.trial
	if tr.state == trialNone {
		open := int32(t.window.open())
		if !t.window.undecided() || now < tr.next || t.ready.n == 0 || t.sent.n+t.ready.n < open {
			return out, false
		}
		tr.state, tr.began = trialEmpties, now
	}
	if t.again.n > 0 || now-tr.began > leastPatience {
		tr.end(now + trialPause) // a loss, or a device that is slow or gone
		return out, false
	}
	switch tr.state {
	case trialEmpties, trialQueues, trialRests:
		if t.sent.n > 0 {
			return out, true
		}
	default:
		return out, true
	}
	switch tr.state {
	case trialEmpties:
		i, hops := t.candidate()
		if hops <= t.window.passing.proven {
			tr.end(now + trialRetry)
			return out, false
		}
		tr.state, tr.slot, tr.get = trialAlone, i, t.slots[i].d
		return t.send(now, i, out), true
	case trialQueues:
		others, hops := t.ahead(&tr.get.Packet, leastOthers)
		if len(others) < leastOthers || hops <= t.window.passing.proven {
			tr.end(now + trialRetry)
			return out, false
		}
		for _, i := range others {
			out = t.send(now, i, out)
		}
		tr.hops, tr.others = hops, len(others)
		return t.repeat(now, trialBehind, out), true
	}
	return t.repeat(now, trialAgain, out), true
}

// repeat sends the trial's Get again.
func (t *Table) repeat(now time.Duration, next trialState, out []mad.Datagram) []mad.Datagram {
	tr := &t.window.trial
	i := t.allocate()
	if i == 0 {
		tr.end(now + trialPause)
		return out
	}
	s := &t.slots[i]
	s.d, s.device, s.repeat, s.exempt, s.busy, s.lost, s.measured = tr.get, -1, true, false, false, false, false
	t.push(&t.ready, i, ready)
	tr.state, tr.slot = next, i
	return t.send(now, i, out)
}

// timed takes a round trip of the trial's Get.
func (w *window) timed(now, rtt time.Duration) {
	tr := &w.trial
	switch tr.state {
	case trialAlone:
		tr.state, tr.alone = trialQueues, rtt
	case trialBehind:
		tr.state, tr.behind = trialRests, rtt
	case trialAgain:
		tr.alone = min(tr.alone, rtt)
		if tr.behind-tr.alone > time.Duration(tr.others)*passTime {
			tr.end(now + trialPause)
			return
		}
		w.passing.prove(tr.hops)
		tr.end(now)
	}
}

func (tr *trial) end(next time.Duration) { *tr = trial{next: next} }

// candidate is the waiting request with which a trial proves most: a Get to a known device. hops is 0 without one.
func (t *Table) candidate() (slot int32, hops int) {
	for i := t.ready.head; i != 0; i = t.slots[i].next {
		s := &t.slots[i]
		if s.device < 0 || t.devices[s.device].speed != quick || s.d.Packet.Method() != mad.MethodGet {
			continue
		}
		if _, h := t.ahead(&s.d.Packet, 1); h > hops {
			slot, hops = i, h
		}
	}
	return slot, hops
}

// ahead are waiting requests to other known devices than that of p whose routes have most in common
// with the one to it. hops is one more than all of those routes have in common: agents of so many switches less one
// would delay p.
func (t *Table) ahead(p *mad.Packet, least int) (others []int32, hops int) {
	var common []int
	for i := t.ready.head; i != 0; i = t.slots[i].next {
		s := &t.slots[i]
		if c := commonHops(p, &s.d.Packet); s.device >= 0 && c > 0 {
			others, common = append(others, i), append(common, c)
		}
	}
	for len(others) >= pathWindow || len(others) > least && slices.Min(common) < slices.Max(common) {
		at := slices.Index(common, slices.Min(common))
		others, common = slices.Delete(others, at, at+1), slices.Delete(common, at, at+1)
	}
	if len(others) == 0 {
		return nil, 0
	}
	return others, slices.Min(common) + 1
}

// commonHops is how many hops the routes of two SMPs have in common at their beginning, where
// both go farther; else 0.
func commonHops(p, q *mad.Packet) int {
	if q.MgmtClass() != mad.ClassDirected {
		return 0
	}
	n := min(int(p.HopCount()), int(q.HopCount()), mad.MaxHops)
	a, b := p.InitialPath()[1:1+n], q.InitialPath()[1:1+n]
	for c := range n {
		if a[c] != b[c] {
			return c
		}
	}
	return 0
}
