package program

import (
	"hash/maphash"
	"maps"
	"slices"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// A Set that is sent sweep after sweep and changes nothing rests: it is left out of the next sweeps. If it has failed,
// its failure is still reported. It is sent again at once when the device may have changed (see wakeRepeats), when
// other settings are in force, or when an operator requests a heavy sweep; otherwise when its rest is over, because
// silence, and even a refusal, may pass. Quick sweeps, of which links that flap cause many a second, count no silence.
//
// Only Sets that a subnet needs are reported one by one. device.Optional has the attributes that a subnet can do
// without: they are given up for a port or a device as a whole, and routes and lanes are computed without them.

// setKey names a Set across sweeps. The attribute 0 stands for all that a node is sent.
type setKey struct {
	device.Block
	op    plan.Op
	split split
}

// repeat is a Set that was sent in the last sweep, or rests.
type repeat struct {
	sum     uint64 // of its modifier, M_Key and data
	sweeps  uint8  // in a row in which it was due, up to maxSends
	rests   uint8  // sweeps in which it is not sent, from this one on
	rested  bool   // before
	failure failure
	kind    finding.Kind // of the failure
	reason  string
}

// failure is how a Set has failed in a sweep.
type failure uint8

const (
	noFailure    failure = iota
	isRefused            // the device has answered with an error
	isNotKept            // it has shown that it does not keep what it was sent
	isUnanswered         // no answer, or it is busy
)

// pace is in how many sweeps in a row a Set is sent before it rests, and for how many sweeps it rests, at first and
// later.
type pace struct{ sends, first, later uint8 }

// paces are by failure. An answer says that the next one will be the same; silence may pass. Sweeps that try again what
// failed come after 1, 2, 4, 8 and then every 10 s: the first six take half a minute. What a device has taken rests
// only where no walk reads it (see outcome.unread).
var paces = [...]pace{noFailure: {3, 16, 32}, isRefused: {3, 16, 32}, isNotKept: {2, 16, 32},
	isUnanswered: {maxSends, 16, 16}}

// maxSends is the largest pace.sends.
const maxSends = 4

// Repeats are Sets of the last sweep that may be sent again, or rest.
type Repeats map[setKey]repeat

// maxRemembered bounds the Sets that are remembered from one sweep to the next.
const maxRemembered = 1 << 16

var repeatSeed = maphash.MakeSeed()

// keyOf names the Set of a step.
func (p *Program) keyOf(st plan.Step) setKey {
	return setKey{p.block(st, st.Op.Attr()), st.Op, p.split[st.Port]}
}

// nodeKey names all that a node is sent.
func (p *Program) nodeKey(n topo.NodeIdx) setKey {
	return setKey{Block: device.Block{Place: device.Place{Node: p.Topo.Nodes[n].GUID}}}
}

// isResting reports whether a Set that is due is not sent in this sweep. One that rests after a failure has failed
// again.
func (p *Program) isResting(st plan.Step, set *plan.Set) bool {
	if !outcomes[st.Op].repeats || st.Op == plan.SetPort && (*smp.PortInfo)(&set.Data).ClientReregister() {
		return false // a port in use that has not registered again gets no multicast
	}
	key, sum := p.keyOf(st), setSum(set)
	if p.rests(p.nodeKey(p.Topo.Ports[st.Port].Node), 0, st) || p.rests(key, sum, st) {
		return true
	}
	if st.Op == plan.SetLFT && p.repeats[p.keyOf(plan.Step{Op: plan.SetSwitch, Port: st.Port})].rests > 0 {
		return true // its table is of no use
	}
	if p.First {
		return false // see sent
	}
	was, e := p.Before[key], repeat{sum: sum, sweeps: 1}
	if was.sum == sum && was.sweeps > 0 {
		e.sweeps, e.rested = min(was.sweeps+1, maxSends), was.rested
	}
	if _, before := p.repeats[key]; before || len(p.repeats) < maxRemembered {
		p.repeats[key] = e
	}
	return false
}

// Wake has the Sets that rest sent again to devices that may have changed since the last sweep: they have
// restarted, or left, or answer again, also those that left only some requests unanswered; a link has changed at one of
// their ports, or at the switch beside them; they have other capabilities. Other Sets stay in memory: what a device has
// acknowledged without doing it looks as if it had restarted.
//
// prev is the subnet as the last sweep left it, now as it has been found. cleared are switches that have reported that
// a link has changed, answers reports whether a node answers everything again, and restarted whether it has restarted
// or left.
func (r Repeats) Wake(prev, now *topo.Topo, cleared []mad.GUID, answers, restarted func(mad.GUID) bool) {
	stirred := map[mad.GUID]bool{}
	for _, guid := range cleared {
		stirred[guid] = true
	}
	for key, e := range r {
		if key.Attr == smp.AttrSwitchInfo && (key.op == plan.ClearChange || e.failure != noFailure) {
			delete(stirred, key.Node) // its PortStateChange says nothing
		}
	}
	maps.DeleteFunc(r, func(key setKey, e repeat) bool {
		return e.rests > 0 && (answers(key.Node) || restarted(key.Node) || hasChanged(prev, now, key.Node, stirred))
	})
}

// hasChanged reports whether a walk shows that a node may be other than in the sweep before. stirred are switches that
// have reported that a link has changed.
func hasChanged(prev, t *topo.Topo, guid mad.GUID, stirred map[mad.GUID]bool) bool {
	if prev == nil {
		return true
	}
	n, was := t.FindNode(guid), prev.FindNode(guid)
	if n == topo.None || was == topo.None || t.Nodes[n].NumPorts != prev.Nodes[was].NumPorts ||
		prev.Nodes[was].Missed > 0 && t.Nodes[n].Missed == 0 || stirred[guid] {
		return true
	}
	for num := range int(t.Nodes[n].NumPorts) + 1 {
		now, then := &t.Ports[t.Port(n, uint8(num))], &prev.Ports[prev.Port(was, uint8(num))]
		if now.Info.CapabilityMask() != then.Info.CapabilityMask() || now.Peer != topo.None &&
			stirred[t.Nodes[t.Ports[now.Peer].Node].GUID] {
			return true
		}
	}
	return false
}

// Uncleared are switches whose PortStateChange is not cleared, because that rests.
func (r Repeats) Uncleared() map[mad.GUID]bool {
	var nodes map[mad.GUID]bool
	for key, e := range r {
		if e.rests > 0 && (key.op == plan.ClearChange || key.op == 0) {
			if nodes == nil {
				nodes = map[mad.GUID]bool{}
			}
			nodes[key.Node] = true
		}
	}
	return nodes
}

// rests reports whether a Set, or all of a node, rests in this sweep.
func (p *Program) rests(key setKey, sum uint64, st plan.Step) bool {
	e, noted := p.repeats[key]
	if !noted {
		if e = p.Before[key]; e.rests == 0 || e.sum != sum {
			return false
		}
		if p.repeats[key] = e; e.failure != noFailure {
			p.note(st, e.kind, e.reason)
		}
	}
	if e.rests > 0 && e.failure != noFailure {
		p.failed(st)
	}
	return e.rests > 0
}

// sent is what is remembered of a Set that this sweep has sent. The first sweep of a large subnet sends hundreds of
// thousands: of these nothing is remembered until one fails.
func (p *Program) sent(st plan.Step) (e repeat, is bool) {
	if e, is = p.repeats[p.keyOf(st)]; is || !p.First {
		return e, is
	}
	set, is := p.Plan.Set(st)
	return repeat{sum: setSum(&set), sweeps: 1}, is
}

func setSum(set *plan.Set) uint64 {
	var h maphash.Hash
	h.SetSeed(repeatSeed)
	mod := set.Mod
	if set.Attr == smp.AttrPortInfo {
		mod &^= smp.ExtendedSpeedsMod // see bit31
	}
	maphash.WriteComparable(&h, mod)
	maphash.WriteComparable(&h, set.MKey)
	h.Write(set.Data[:])
	return h.Sum64()
}

// countFailure notes that the Set of a step has failed. Those of what a subnet can do without are not counted here.
func (p *Program) countFailure(st plan.Step, kind finding.Kind, reason string) {
	key := p.keyOf(st)
	e, sent := p.sent(st)
	switch {
	case !sent || kind != finding.Refused && kind != finding.NoAnswer && kind != finding.SlowAgent:
		return
	case slices.Contains(device.OptionalAttributes, st.Op.Attr()):
		delete(p.repeats, key)
		return
	}
	if e.kind, e.reason = kind, reason; e.failure != isUnanswered {
		e.failure = p.failure
	}
	p.repeats[key] = e
	for key.split = range minimal + 1 { // the last says most
		if e := p.repeats[key]; e.failure != noFailure {
			e.kind, e.reason = kind, reason
			p.repeats[key] = e
		}
	}
}

// takes notes that a port has taken a Set of its PortInfo, whole or in parts.
func (p *Program) takes(st plan.Step) {
	key := p.keyOf(st)
	for key.split = range minimal + 1 {
		if e, sent := p.repeats[key]; sent {
			e.failure = noFailure
			p.repeats[key] = e
		}
	}
}

// unconfirmed reports whether the values of a port that has acknowledged a Set must be read: its answer has other
// values, which may be those from before the Set, or the last sweep has sent the same values.
func (p *Program) unconfirmed(r request, o *txn.Outcome) bool {
	key := p.keyOf(r.Step)
	repeated := p.repeats[key].sweeps > 1 && p.Before[key].kind != finding.SlowAgent
	port := &p.Topo.Ports[r.Port]
	switch r.Op {
	case plan.SetLFT:
		return repeated ||
			string(o.Data[:]) != string(p.Devices.Switches[p.Topo.SwitchOf(r.Port)].LFT.Block(int(r.Block)))
	case plan.AddPKeys, plan.SetPKeys:
		sent := p.Plan.PKeysSent(r.Step)
		return repeated || p.event(r, o, sent[:]) != device.Confirmed
	case plan.SetSLtoVL, plan.SetTurns:
		return repeated || p.event(r, o, p.Plan.LaneSent(r.Step)) != device.Confirmed
	case plan.SetSwitch:
		wanted, held := p.Plan.WantedSwitch(port.Node), (*smp.SwitchInfo)(&o.Data)
		sent := p.Plan.SwitchSent(port.Node)
		return repeated || held.LinearFDBTop() != sent.LinearFDBTop() ||
			p.Devices.Unsupported.Lacks(&device.SwitchInfo, p.Plan.Place(o.Attr, r.Port),
				(*device.Data)(&wanted), &o.Data)
	case plan.ClearChange:
		return repeated
	case plan.SetPort:
		sent := p.Plan.Wanted(r.Port)
		_, taken := device.PortInfo.Differs((*device.Data)(&port.Info), &o.Data)
		_, changes := device.PortInfo.Differs((*device.Data)(&port.Info), (*device.Data)(&sent))
		return repeated || changes && !taken
	case plan.Arm, plan.Activate:
		state := (*smp.PortInfo)(&o.Data).PortState()
		return repeated || state < smp.PortArmed || r.Op == plan.Activate && state < smp.PortActive
	}
	return false
}

// tallyRepeats ends a sweep: Sets that have failed often enough rest in the next ones. If the walk lost many answers,
// the Sets may have been lost too.
func (p *Program) tallyRepeats() {
	if p.Conclusive {
		p.countGivenUp()
	}
	for key, e := range p.repeats {
		pace := paces[e.failure]
		if p.Quick && e.failure == isUnanswered && e.rests == 0 {
			e.sweeps = max(p.Before[key].sweeps, 1)
		}
		switch {
		case e.failure != noFailure && !p.Conclusive:
			delete(p.repeats, key)
			continue
		case e.rests > 0:
			e.rests--
		case p.First && e.failure == noFailure: // it may be very many
			delete(p.repeats, key)
			continue
		case e.sweeps >= pace.sends && (e.failure != noFailure || outcomes[key.op].unread):
			if e.rests = pace.first; e.rested {
				e.rests = pace.later
			}
			e.rested = true
		}
		p.repeats[key] = e
	}
}

// countGivenUp notes the nodes that have left what they were sent unanswered, but for those whose M_Key is hidden: they
// answer when their lease has ended.
func (p *Program) countGivenUp() {
	for n := range p.Topo.Nodes {
		n := topo.NodeIdx(n)
		key, node := p.nodeKey(n), &p.Topo.Nodes[n]
		if _, noted := p.repeats[key]; noted || !p.isGivenUp(n) {
			continue
		}
		hides := false
		for num := range int(node.NumPorts) + 1 {
			hides = hides || smp.HidesMKey(&p.Topo.Ports[p.Topo.Port(n, uint8(num))].Info)
		}
		if !hides {
			was := p.Before[key]
			p.repeats[key] = repeat{sweeps: min(was.sweeps+1, maxSends), rested: was.rested, failure: isUnanswered,
				kind: finding.NoAnswer, reason: "no answer to what it is sent"}
		}
	}
}
