package path

import (
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/routing/qos"
	"ibsm/topo"
	"ibsm/view"
)

// Decision is how a request for a path between two ports is decided, as far as it does not depend on the
// MTU, rate and lifetime that it wants.
type Decision struct {
	Rule    *qos.Rule  // that decides; nil for the default level, or without a policy
	Level   *qos.Level // nil without a policy
	SL      uint8
	Refusal Refusal
	// With SLDropped: the port that packets are not known to leave, why, and at a switch, the port by
	// which they come in.
	Drops topo.PortIdx
	Stop  Stop
	In    uint8
}

// Refusal is why a request has no path.
type Refusal uint8

// Refusals.
const (
	NotRefused     Refusal = iota
	NoCommonPKey           // the ports share no P_Key
	PKeyNotShared          // they do not share the one that is wanted
	PKeyNotInLevel         // the level does not list it
	NoPKeyOfLevel          // they share none of the level's
	OtherSL                // another SL is wanted than that of the level or of the routing engine
	NoRoute                // the forwarding tables do not lead there
	SLDropped              // a port on the way drops the SL, or is not known to let it pass
)

// Decide explains what Find says to a request for a path from src to dst, by their first LIDs. It
// takes a short time.
func (f *Finder) Decide(src, dst topo.PortIdx, want *sarec.PathRecord, comps mad.ComponentMask) (d Decision) {
	q := query{from: src, want: want, comps: comps}
	slid, dlid := f.lidOf(src), f.lidOf(dst)
	if f.policy != nil {
		d.Rule, d.Level = f.policy.Match(q.matched(f, src, dst))
	}
	a := f.agree(&q, src, dst)
	routed := f.routed(&q, a, f.routeLID(src, slid), f.routeLID(dst, dlid))
	d.SL = routed.sl
	listed := d.Level != nil && d.Level.PKeys != nil
	switch {
	case !f.mayTalk(src, dst):
		d.Refusal = NoCommonPKey
	case !a.ok && comps.Has(sarec.PathPKey) && !f.share(src, dst, want.PKey()):
		d.Refusal = PKeyNotShared
	case !a.ok && comps.Has(sarec.PathPKey) && listed && !d.Level.PKeys.Has(uint64(want.PKey().Base())):
		d.Refusal = PKeyNotInLevel
	case !a.ok && !comps.Has(sarec.PathPKey) && listed && a.pkey == 0:
		d.Refusal = NoPKeyOfLevel
	case !routed.ok:
		d.Refusal = OtherSL
	default:
		f.decideRoute(&d, src, dst, dlid)
	}
	return d
}

// decideRoute follows the tables.
func (f *Finder) decideRoute(d *Decision, src, dst topo.PortIdx, dlid mad.LID) {
	w := f.start(src, dst, dlid)
	if w.drops>>d.SL&1 != 0 {
		d.dropped(f.view, f.physical(src), 0)
		return
	}
	for range maxHops {
		if w.state != underWay {
			break
		}
		at := w.at
		if f.step(&w); w.drops>>d.SL&1 != 0 {
			sw := &f.switches[at.to]
			d.dropped(f.view, sw.first+topo.PortIdx(sw.lft[dlid]), at.in)
			return
		}
	}
	if w.state != arrived {
		d.Refusal = NoRoute
	}
}

// dropped refuses the path for a port that packets are not known to leave.
func (d *Decision) dropped(v *view.View, p topo.PortIdx, in uint8) {
	o := outputOf(v, p)
	d.Refusal, d.Drops, d.In, d.Stop = SLDropped, p, in, o.stop(int(in), d.SL)
}
