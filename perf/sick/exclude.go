package sick

import (
	"slices"

	"ibsm/disjoint"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/perf"
	"ibsm/routing"
	"ibsm/sweep"
	"ibsm/topo"
)

// Excluded is a link that is taken out of use. Times are in seconds since 1970.
type Excluded struct {
	// the end that was found, or that the operator named; of a host's link that of the switch
	Port   perf.Key      `json:"port"`
	Peer   perf.Key      `json:"peer"`           // the other end
	Host   bool          `json:"host,omitempty"` // it is a host's
	Action Action        `json:"action"`
	State  ExcludedState `json:"state,omitempty"`
	ByHand bool          `json:"by_hand,omitempty"`
	Since  int64         `json:"since"`
	Until  int64         `json:"until,omitempty"` // by hand: when it returns; 0 for not by itself
	// Enabled is when its ports were first seen enabled while it returns, and had no link yet; 0 if not yet.
	Enabled int64 `json:"enabled,omitempty"`
}

// ExcludedState is how far that has got.
type ExcludedState uint8

// States of an exclusion.
const (
	InForce ExcludedState = iota
	// it has ended: its port is enabled, and routes wait until the link is ACTIVE, but not longer than training
	Returning
)

var excludedStates = [...]string{"out of use", "returning"}

// training is how long a link that was disabled may take until it is there, in seconds.
const training = 120

// String is in the words of ibsmctl.
func (s ExcludedState) String() string { return excludedStates[s] }

// has reports whether a port is an end of the link.
func (e *Excluded) has(k perf.Key) bool { return e.Port == k || e.Peer == k }

// IndexOf is the exclusion of the link of a port, -1 if there is none.
func IndexOf(list []Excluded, k perf.Key) int {
	return slices.IndexFunc(list, func(e Excluded) bool { return e.has(k) })
}

// Avoided is a list for a sweep.
func Avoided(list []Excluded) (all []sweep.Avoided) {
	end := func(k perf.Key) routing.SwitchPort { return routing.SwitchPort{Switch: k.Node, Port: k.Port} }
	for i := range list {
		e := &list[i]
		a := sweep.Avoided{SwitchPort: end(e.Port), Far: end(e.Peer), Host: e.Host}
		switch {
		case e.State == Returning:
			a.Ports = sweep.PortEnabled
		case e.Action == Disable:
			a.Ports = sweep.PortDisabled
		}
		all = append(all, a)
	}
	return all
}

// Limits are how far Decide may go.
type Limits struct {
	Most     Action // what is done at most: with Report nothing is changed
	Links    int    // that may be excluded at a time, or
	Permille int    // this share of all links, if that is more
	// links of hosts, too, where a rule says that their ports are disabled; but not that of the port that this manager
	// uses
	Hosts bool
}

// links is how many links may be excluded of all.
func (l *Limits) links(all int) int { return min(max(l.Links, all*l.Permille/1000), MaxSaved) }

// Obstacle is why a link is not excluded that its rule would exclude.
type Obstacle uint8

// Obstacles.
const (
	NoObstacle Obstacle = iota
	NoLink              // the subnet has no link there
	HostLink            // it leads to a host
	OnlyWay             // without it, and those that are out of use, the switches would not be connected
	TooMany             // as many are excluded as may be
)

var obstacleTexts = [...]string{"", "the link is down", "it is the link of a host", "there is no other way",
	"as many links are out of use as may be at a time"}

func (o Obstacle) String() string { return obstacleTexts[o] }

// Decision is what is done for a Finding.
type Decision struct {
	Does     Action
	Would    Action   // if Limits.Most permitted it
	Obstacle Obstacle // why Would is less than the action of the rule
}

// In is what Decide decides by.
type In struct {
	Topo     *topo.Topo
	Now      int64 // seconds since 1970
	Findings []Finding
	Excluded []Excluded // until now
	Limits   Limits
}

// Decide says which links are excluded from now on, and what is done for each finding. A link is excluded as long as a
// finding is about it that asks for that, or by hand; among new ones those of the earlier findings come first.
//
// A link that is disabled, and that no finding disables any more, returns before it is excluded in another way.
//
// The switches fall into no more parts than before, and links of hosts are not excluded without Limits.Hosts. Links
// that are down are not counted among those that are out of use, unless this manager has disabled them.
func Decide(in In) (excluded []Excluded, decisions []Decision) {
	d := decider{In: in, out: map[topo.PortIdx]bool{}, decisions: make([]Decision, len(in.Findings))}
	for i := range in.Excluded {
		d.keep(in.Excluded[i])
	}
	for i := range in.Topo.Ports {
		if p := topo.PortIdx(i); p < in.Topo.Ports[i].Peer {
			d.all++
		}
	}
	for i := range in.Findings {
		d.decide(i)
	}
	return d.excluded, d.decisions
}

type decider struct {
	In
	excluded  []Excluded
	decisions []Decision
	out       map[topo.PortIdx]bool // ports of links that are excluded, or would be
	taken     int                   // of them, links by a finding
	all       int                   // links
	parts     int                   // that the switches fall into without out; 0 if that is not known
}

// keep takes an exclusion over, unless it ends. One that ends with a port disabled is taken over once more at least: a
// sweep may be about to disable it.
func (d *decider) keep(e Excluded) {
	switch {
	case e.State == Returning:
		if d.returned(&e) {
			return
		}
	case d.ends(&e):
		if e.Action != Disable {
			return
		}
		e.State = Returning
	}
	d.excluded = append(d.excluded, e)
	if e.State == InForce && (d.mark(e.Port) || d.disabled(&e)) && !e.ByHand {
		d.taken++
	}
}

// ends reports whether an exclusion in force ends. If not, its action is what findings ask for.
func (d *decider) ends(e *Excluded) bool {
	if e.ByHand {
		return e.Until > 0 && e.Until <= d.Now
	}
	wanted := d.wanted(e)
	if wanted < e.Action || d.moved(e) {
		return true
	}
	e.Action = wanted
	return false
}

// returned reports whether the link of an exclusion that has ended is in use again, or does not come.
func (d *decider) returned(e *Excluded) bool {
	if e.Action != Disable {
		return true
	}
	if d.disabled(e) {
		return false
	}
	if p := e.Port.In(d.Topo); p != topo.None && d.Topo.Ports[p].Peer != topo.None {
		return d.Topo.Ports[p].Info.PortState() >= smp.PortActive
	}
	if e.Enabled == 0 {
		e.Enabled = d.Now
	}
	waited := d.Now - e.Enabled
	return waited < 0 || waited >= training
}

// wanted is what findings about a link ask for, as far as that is permitted.
func (d *decider) wanted(e *Excluded) (a Action) {
	for i := range d.Findings {
		if f := &d.Findings[i]; e.has(f.Port) {
			a = max(a, min(f.Rule.Action, d.Limits.Most))
		}
	}
	if own := perf.KeyOf(d.Topo, d.Topo.Self); e.Host && (a < Disable || !d.Limits.Hosts || e.has(own)) {
		return Report
	}
	return a
}

// moved reports whether another kind of link is at an end, or the host is at another port.
func (d *decider) moved(e *Excluded) bool {
	for _, k := range []perf.Key{e.Port, e.Peer} {
		p := k.In(d.Topo)
		if p == topo.None || d.Topo.Ports[p].Peer == topo.None {
			continue
		}
		if d.Topo.BetweenSwitches(p) == e.Host || e.Host && !e.has(perf.KeyOf(d.Topo, d.Topo.Ports[p].Peer)) {
			return true
		}
	}
	return false
}

// disabled reports whether an end of a link is disabled.
func (d *decider) disabled(e *Excluded) bool {
	return IsDisabled(d.Topo, e.Port) || IsDisabled(d.Topo, e.Peer)
}

// mark marks a link as out of use, if it is there.
func (d *decider) mark(k perf.Key) (there bool) {
	p := k.In(d.Topo)
	if p == topo.None || d.Topo.Ports[p].Peer == topo.None {
		return false
	}
	d.out[p], d.out[d.Topo.Ports[p].Peer], d.parts = true, true, 0
	return true
}

func (d *decider) decide(i int) {
	f, to := &d.Findings[i], &d.decisions[i]
	if at := IndexOf(d.excluded, f.Port); at >= 0 {
		to.Does, to.Would = d.excluded[at].Action, d.excluded[at].Action
		if d.excluded[at].State == Returning && !d.excluded[at].Host {
			to.Does, to.Would = Avoid, Avoid // until it is ACTIVE
		}
		return
	}
	if f.Rule.Action == Report {
		return
	}
	p := f.Port.In(d.Topo)
	switch {
	case p == topo.None || d.Topo.Ports[p].Peer == topo.None:
		to.Obstacle = NoLink
	case !d.Topo.BetweenSwitches(p) && !d.ofHost(p, f.Rule):
		to.Obstacle = HostLink
	case !d.out[p] && d.taken >= d.Limits.links(d.all), len(d.excluded) >= MaxSaved:
		to.Obstacle = TooMany
	case !d.out[p] && d.Topo.BetweenSwitches(p) && d.cuts(p):
		to.Obstacle = OnlyWay
	}
	if to.Obstacle != NoObstacle {
		return
	}
	to.Would = f.Rule.Action
	to.Does = min(to.Would, d.Limits.Most)
	host := !d.Topo.BetweenSwitches(p)
	if host && to.Does == Avoid {
		to.Does = Report // there is no other way to the host
		return
	}
	if !d.out[p] {
		d.mark(f.Port)
		d.taken++
	}
	if to.Does > Report {
		e := Excluded{Port: f.Port, Peer: perf.KeyOf(d.Topo, d.Topo.Ports[p].Peer), Host: host, Action: to.Does,
			Since: d.Now}
		if host && !d.Topo.IsSwitchPort(p) {
			e.Port, e.Peer = e.Peer, e.Port
		}
		d.excluded = append(d.excluded, e)
	}
}

// ofHost reports whether a link that is not between switches is one of a host, and may be disabled by a rule.
func (d *decider) ofHost(p topo.PortIdx, r *Rule) bool {
	host, at := p, d.Topo.Ports[p].Peer
	if d.Topo.IsSwitchPort(host) {
		host, at = at, host
	}
	node := &d.Topo.Nodes[d.Topo.Ports[host].Node]
	return d.Limits.Hosts && r.Action == Disable && host != d.Topo.Self && d.Topo.IsSwitchPort(at) &&
		node.Type == mad.CA && !node.Aggregation
}

// cuts reports whether switches would not be connected any more without a link.
func (d *decider) cuts(p topo.PortIdx) bool {
	if d.parts == 0 {
		d.parts = d.pieces()
	}
	peer := d.Topo.Ports[p].Peer
	d.out[p], d.out[peer] = true, true
	more := d.pieces() > d.parts
	delete(d.out, p)
	delete(d.out, peer)
	return more
}

// pieces is how many parts the switches fall into without what is out, and what routes avoid for another reason.
func (d *decider) pieces() int {
	t := d.Topo
	sets, n := disjoint.New(len(t.Switches)), len(t.Switches)
	for i := range t.Ports {
		p := topo.PortIdx(i)
		if !t.BetweenSwitches(p) || d.out[p] || t.Ports[p].Unhealthy {
			continue
		}
		if sets.Join(int32(t.SwitchOf(p)), int32(t.SwitchOf(t.Ports[p].Peer))) {
			n--
		}
	}
	return n
}
