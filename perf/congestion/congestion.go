// Package congestion says what ports wait for. On a lossless network a port that cannot send stops those before it,
// link by link back to the sources, so one slow host or link makes ports wait all over the fabric. Find follows the
// waiting ports along the routes in force to where it begins: its root.
package congestion

import (
	"cmp"
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// Use is how the time of a port's transmitter was spent, in parts of it, 0 to 1.
type Use struct {
	Known  bool    // the port was read
	Busy   float64 // sending at the rate of the link as it is
	Waited float64 // it had data and could not send them, at least: PortXmitWait
}

// Cause is what makes ports wait.
type Cause uint8

const (
	// Unknown is none of the others: the ports beyond the root were not read, or say nothing.
	Unknown Cause = iota
	// SlowHost is an adapter that takes less than its link brings.
	SlowHost
	// Incast is more traffic for one adapter than its link carries.
	Incast
	// SlowLink is a full link that is narrower or slower than both its ends can.
	SlowLink
	// FullLink is any other link that carries all it can: too many routes in use lead over it.
	FullLink
)

func (c Cause) String() string {
	return [...]string{"unknown", "a host that does not accept its data", "more data for a host than its link carries",
		"a link below its rate", "a link with too many routes"}[c]
}

// Settings are the bounds of Find.
type Settings struct {
	// Waits is the part of the time from which on a port counts as waiting.
	Waits float64
	// Full is the part of the time from which on a port counts as busy all the time.
	Full float64
}

// Defaults allow for traffic that comes and goes within the time between two readings.
var Defaults = Settings{Waits: 0.05, Full: 0.8}

// In is a fabric and what its ports did in one time.
type In struct {
	Topo       *topo.Topo
	Forwarding *routing.Forwarding
	Ports      []Use // by topo.PortIdx
}

// Tree is ports that wait for the same.
type Tree struct {
	Cause Cause
	// Root is the port that all others wait for: it sends over the slow or full link, or to the host.
	Root topo.PortIdx
	// Waiting are the ports that wait, those that do for the longest time first. Root is one of them where it waits
	// itself.
	Waiting []topo.PortIdx
	// Weight is the sum of the time that they wait, in parts of the time of one port.
	Weight float64
}

// Find finds the roots of all waiting, the one with the most weight first.
func Find(in In, by Settings) []Tree {
	f := &finder{In: in, by: by, shares: make([][]share, len(in.Ports)),
		outs: make([][]routing.PortMask, len(in.Topo.Switches)), used: make([]routing.PortMask, len(in.Topo.Switches))}
	trees := map[topo.PortIdx]*Tree{}
	for i := range in.Ports {
		p := topo.PortIdx(i)
		if !f.waits(p) {
			continue
		}
		shares := f.roots(p, 0)
		best := shares[0]
		t := trees[best.root]
		if t == nil {
			t = &Tree{Root: best.root, Cause: f.cause(best.root)}
			trees[best.root] = t
		}
		t.Waiting = append(t.Waiting, p)
		t.Weight += in.Ports[p].Waited
	}
	found := make([]Tree, 0, len(trees))
	for _, t := range trees {
		slices.SortFunc(t.Waiting, func(a, b topo.PortIdx) int {
			return cmp.Or(cmp.Compare(in.Ports[b].Waited, in.Ports[a].Waited), cmp.Compare(a, b))
		})
		found = append(found, *t)
	}
	slices.SortFunc(found, func(a, b Tree) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Root, b.Root))
	})
	return found
}

// share is the part of a port's waiting that has a root.
type share struct {
	root topo.PortIdx
	part float64
}

type finder struct {
	In
	by     Settings
	shares [][]share // by port that waits; nil where they are not known yet
	all    []share   // scratch
	// by switch and port of it: those by which what it sends goes on; nil where that is not known yet
	outs [][]routing.PortMask
	used []routing.PortMask // by switch: those that its table uses; empty where that is not known yet
}

// maxShares is how many roots of one port are followed, the greatest ones: with all ports waiting there can be as many
// roots as ports.
const maxShares = 8

func (f *finder) waits(p topo.PortIdx) bool {
	return f.Ports[p].Known && f.Ports[p].Waited >= f.by.Waits && f.Topo.Ports[p].Peer != topo.None
}

// maxDepth ends what would go round in a circle: routes are free of loops, and tables may be changing.
const maxDepth = 64

// roots says what a port that waits, waits for in the end.
func (f *finder) roots(p topo.PortIdx, depth int) []share {
	if f.shares[p] != nil {
		return f.shares[p]
	}
	f.shares[p] = []share{{p, 1}} // whoever comes here again in a circle
	goesOn := func(next share) bool { return next.root != p && f.waits(next.root) && depth < maxDepth }
	blocks := f.next(p)
	for _, next := range blocks {
		if goesOn(next) {
			f.roots(next.root, depth+1)
		}
	}
	f.all = f.all[:0]
	for _, next := range blocks {
		if !goesOn(next) {
			f.all = append(f.all, next)
			continue
		}
		for _, s := range f.shares[next.root] {
			f.all = append(f.all, share{s.root, next.part * s.part})
		}
	}
	f.shares[p] = greatest(f.all)
	return f.shares[p]
}

// greatest adds the shares of one root together, and keeps maxShares.
func greatest(all []share) []share {
	slices.SortFunc(all, func(a, b share) int { return cmp.Compare(a.root, b.root) })
	sums := all[:0]
	for _, s := range all {
		if n := len(sums); n > 0 && sums[n-1].root == s.root {
			sums[n-1].part += s.part
		} else {
			sums = append(sums, s)
		}
	}
	slices.SortFunc(sums, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.part, a.part), cmp.Compare(a.root, b.root))
	})
	return slices.Clone(sums[:min(len(sums), maxShares)])
}

// next are the ports that packets sent by a port that waits go on by, as far as they can be what it waits for: itself,
// where they arrive at a host, or where nothing is seen.
func (f *finder) next(p topo.PortIdx) []share {
	far := f.Topo.Ports[p].Peer
	s := f.Topo.Nodes[f.Topo.Ports[far].Node].Switch
	if s == topo.None {
		return []share{{p, 1}}
	}
	all := f.outputs(p, s)
	var blocks []share
	sum := 0.0
	for _, out := range all {
		u := f.Ports[out]
		weight := 0.0
		switch {
		case f.waits(out):
			weight = u.Waited
		case u.Known && u.Busy >= f.by.Full:
			weight = 1 - f.by.Full
		}
		if weight > 0 {
			blocks = append(blocks, share{out, weight})
			sum += weight
		}
	}
	if len(blocks) == 0 {
		blocks, sum = []share{{f.busiest(p, all), 1}}, 1
	}
	for i := range blocks {
		if blocks[i].part /= sum; !f.waits(blocks[i].root) {
			blocks[i].root = f.narrowest(blocks[i].root)
		}
	}
	return blocks
}

// narrowest follows a full link as long as nearly all that it carries goes on by one port, which is full too: with
// routes by destination, what many send to one host comes together before its last link.
func (f *finder) narrowest(p topo.PortIdx) topo.PortIdx {
	for range maxDepth {
		s := f.Topo.Nodes[f.Topo.Ports[f.Topo.Ports[p].Peer].Node].Switch
		if s == topo.None {
			break
		}
		outs := f.outputs(p, s)
		on := slices.IndexFunc(outs, func(out topo.PortIdx) bool {
			u := f.Ports[out]
			return u.Known && u.Busy >= f.by.Full && !f.waits(out) &&
				f.rate(out)*u.Busy >= f.rate(p)*f.Ports[p].Busy*nearlyAll
		})
		if on < 0 {
			break
		}
		p = outs[on]
	}
	return p
}

// nearlyAll is the part of a link's data that goes on by one port.
const nearlyAll = 0.9

func (f *finder) rate(p topo.PortIdx) float64 { return f.Topo.LinkRate(p).Gbps() }

// busiest is the output with the most traffic, if it has much, else the port itself.
func (f *finder) busiest(p topo.PortIdx, outputs []topo.PortIdx) topo.PortIdx {
	best := p
	most := f.by.Full / 2
	for _, out := range outputs {
		if u := f.Ports[out]; u.Known && u.Busy >= most {
			best, most = out, u.Busy
		}
	}
	return best
}

// outputs are the ports of the switch behind a port by which its packets go on. It is not known to whom a host sends:
// to all.
func (f *finder) outputs(p topo.PortIdx, at topo.SwitchIdx) (list []topo.PortIdx) {
	var set routing.PortMask
	if from := f.Topo.Nodes[f.Topo.Ports[p].Node].Switch; from != topo.None {
		set = f.onward(from)[f.Topo.Ports[p].Num]
	} else {
		set = f.inUse(at)
	}
	node := f.Topo.Switches[at]
	for num := 1; num <= int(f.Topo.Nodes[node].NumPorts); num++ {
		o := f.Topo.Port(node, uint8(num))
		if set.Has(uint8(num)) && o != f.Topo.Ports[p].Peer && f.Topo.Ports[o].Peer != topo.None {
			list = append(list, o)
		}
	}
	return list
}

// inUse are the ports that the table of a switch uses.
func (f *finder) inUse(s topo.SwitchIdx) routing.PortMask {
	if used := &f.used[s]; *used == (routing.PortMask{}) {
		for _, out := range f.Forwarding.Rows[s] {
			used.Add(out)
		}
	}
	return f.used[s]
}

// onward are the ports by which the next switches send on what a switch sends, by its ports.
func (f *finder) onward(s topo.SwitchIdx) []routing.PortMask {
	if f.outs[s] != nil {
		return f.outs[s]
	}
	node := f.Topo.Switches[s]
	sets := make([]routing.PortMask, int(f.Topo.Nodes[node].NumPorts)+1)
	rows := make([][]uint8, len(sets)) // of the switches behind the ports
	for num := 1; num < len(sets); num++ {
		if next := f.Forwarding.Tracer.Next(s, uint8(num)); next >= 0 {
			rows[num] = f.Forwarding.Rows[next]
		}
	}
	for lid, out := range f.Forwarding.Rows[s] {
		if int(out) < len(rows) && lid < len(rows[out]) {
			sets[out].Add(rows[out][lid])
		}
	}
	f.outs[s] = sets
	return sets
}

// cause says what is wrong at a root.
func (f *finder) cause(root topo.PortIdx) Cause {
	far := f.Topo.Ports[root].Peer
	toHost := f.Topo.Nodes[f.Topo.Ports[far].Node].Switch == topo.None
	full := f.Ports[root].Known && f.Ports[root].Busy >= f.by.Full/2
	switch {
	case toHost && f.waits(root):
		return SlowHost
	case !full:
		return Unknown
	case f.slow(root):
		return SlowLink
	case toHost:
		return Incast
	}
	return FullLink
}

// slow reports whether a link could be wider or faster.
func (f *finder) slow(p topo.PortIdx) bool {
	is := f.Topo.LinkRate(p)
	return is != 0 && is.Gbps() < f.Topo.BestLinkRate(p).Gbps()
}
