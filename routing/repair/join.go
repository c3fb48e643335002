package repair

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/topo"
)

// joiner joins switches to the tree of one LID after the other.
type joiner struct {
	*repair
	order   []routing.Dest
	hosts   [][]mad.LID        // by SwitchIdx: a LID of hosts there for each row of SLs
	count   [][256]uint32      // by SwitchIdx of broken switches: destinations of weight that each port serves
	weighs  []bool             // by LID
	inBlock [][]topo.SwitchIdx // by block of LIDs: the broken switches, ascending
	nearest []topo.SwitchIdx   // of the broken switches, nearest first; without those that no cable leads from
	links   []int32            // by SwitchIdx, to the LID in hand; unknown, or beyond
	known   []topo.SwitchIdx   // those whose links are not unknown
	rises   []uint16           // by SwitchIdx with known links: SLs whose packets pass its way in the order of the proof
	broken  []topo.SwitchIdx
	waiting [][]topo.SwitchIdx // by links
	alone   topo.SwitchIdx     // links and nearest are those of LIDs there to which no other switch has a way; None for no such
	dest    *routing.Dest      // of the LID in hand
	lid     mad.LID
	sls     uint16 // of packets to it from broken switches
}

const (
	unknown = -1
	beyond  = math.MaxInt32
)

// target is a LID to join switches to.
type target struct {
	*routing.Dest
	lid mad.LID
}

func newJoiner(r *repair) *joiner {
	n := len(r.own)
	j := &joiner{
		repair: r, order: routing.Order(r.Topo, r.LIDs, routing.Balancing{}), hosts: make([][]mad.LID, n), count: make([][256]uint32, n),
		weighs: make([]bool, r.size), links: make([]int32, n), rises: make([]uint16, n), alone: topo.None,
	}
	for i := range j.order {
		d := &j.order[i]
		for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
			j.weighs[lid] = d.Weighs
		}
	}
	for s := range j.links {
		j.links[s] = unknown
	}
	j.adopt()
	for i := range j.order {
		if d := &j.order[i]; d.Weighs {
			for lid := d.Base; lid < d.Base+1<<d.LMC; lid++ {
				j.addHost(d.Switch, lid)
			}
		}
	}
	return j
}

// clear clears the entries by which packets do not arrive, and counts the others of their switches. It
// reports whether there are any.
func (j *joiner) clear(ctx context.Context) (any bool, err error) {
	var switches []topo.SwitchIdx
	j.inBlock = make([][]topo.SwitchIdx, len(j.repair.broken))
	for s := range topo.SwitchIdx(len(j.own)) {
		is := false
		for i, block := range j.repair.broken {
			if block != nil && block[s] != 0 {
				j.inBlock[i], is = append(j.inBlock[i], s), true
			}
		}
		if is {
			switches = append(switches, s)
		}
	}
	return len(switches) > 0, routing.Parallel(ctx, j.Workers, len(switches), func() func(int) {
		return func(i int) { j.clearRow(switches[i]) }
	})
}

func (j *joiner) clearRow(s topo.SwitchIdx) {
	for block, broken := range j.repair.broken {
		if broken == nil {
			continue
		}
		for lids := broken[s]; lids != 0; lids &= lids - 1 {
			j.set(s, mad.LID(block*routing.BlockSize+bits.TrailingZeros64(lids)), routing.NoPath)
		}
	}
	for lid, port := range j.tables.LFT[s] {
		if j.weighs[lid] {
			j.count[s][port]++
		}
	}
}

// addHost adds a LID that sends, unless its packets have the SLs of another's.
func (j *joiner) addHost(s topo.SwitchIdx, lid mad.LID) {
	row := func(lid mad.LID) int32 {
		if j.tables.SLs == nil {
			return -1
		}
		return max(entryOf(j.tables.SLs.From, lid), -1)
	}
	if !slices.ContainsFunc(j.hosts[s], func(other mad.LID) bool { return row(other) == row(lid) }) {
		j.hosts[s] = append(j.hosts[s], lid)
	}
}

// slsFrom are the SLs of packets from hosts at a switch to the LID in hand; none if that is a switch's.
func (j *joiner) slsFrom(s topo.SwitchIdx) (sls uint16) {
	if j.dest.Egress == 0 {
		return 0
	}
	for _, host := range j.hosts[s] {
		sls |= 1 << j.tables.SLs.Of(host, j.lid)
	}
	return sls
}

// joinAll joins switches in the order in which destinations are placed. It returns the LIDs that
// hosts' packets do not reach on a shortest way that follows the order of the proof; these stay as they are.
func (j *joiner) joinAll(ctx context.Context) (later []target, err error) {
	found := creditloop.In{Topo: j.Topo, LIDs: j.LIDs, Forwarding: j.found, SLs: j.tables.SLs, Maps: j.Maps, Workers: j.Workers}
	if j.Proof = j.Proof.Covering(found); j.Proof == nil {
		if j.Proof, err = creditloop.Find(ctx, j.search()); err != nil {
			return nil, err
		}
	}
	last := uint8(0)
	for i := range j.order {
		last = max(last, j.order[i].LMC)
	}
	for i := range mad.LID(1) << last {
		for k := range j.order {
			t := target{&j.order[k], j.order[k].Base + i}
			if i>>t.LMC != 0 || j.repair.broken[t.lid/routing.BlockSize] == nil {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			j.begin(t)
			order := j.sls
			if j.alone != topo.None {
				order = 0 // no route to it is left that this one could go with: the load of ports decides
			}
			if len(j.broken) > 0 && !j.joinShortest(order, j.sls) {
				j.undo()
				later = append(later, t)
			}
		}
	}
	return later, nil
}

// search is for the credit loops of the tables as they are.
func (j *joiner) search() creditloop.In {
	return creditloop.In{Topo: j.Topo, LIDs: j.LIDs, Forwarding: routing.NewForwarding(j.Topo, j.LIDs, j.tables), SLs: j.tables.SLs, Maps: j.Maps, Traffic: creditloop.BetweenHosts, Workers: j.Workers}
}

// begin turns to a LID, and finds the way from each broken switch to the tree.
func (j *joiner) begin(t target) {
	j.dest, j.lid, j.sls, j.broken = t.Dest, t.lid, 0, j.broken[:0]
	bit := t.lid % routing.BlockSize
	block := int(t.lid / routing.BlockSize)
	for _, s := range j.inBlock[block] {
		if j.repair.broken[block][s]>>bit&1 != 0 {
			j.broken = append(j.broken, s)
			j.sls |= j.slsFrom(s)
		}
	}
	if len(j.broken) == 0 {
		return
	}
	alone := len(j.broken) == len(j.links)-1
	if !alone || j.alone != t.Switch {
		j.measure()
	}
	if j.alone = topo.None; alone {
		j.alone = t.Switch
	}
	j.rises[t.Switch] = j.sls
}

// measure finds the links from each broken switch, by Dijkstra's algorithm from the
// tree outwards.
func (j *joiner) measure() {
	for _, s := range j.known {
		j.links[s] = unknown
	}
	j.known = append(j.known[:0], j.broken...)
	for _, s := range j.broken {
		j.links[s] = beyond
	}
	j.known = append(j.known, j.dest.Switch)
	j.links[j.dest.Switch], j.rises[j.dest.Switch] = 0, j.sls
	for _, s := range j.broken {
		peers, _ := j.graph.Edges(s)
		for _, r := range peers {
			if far := j.inTree(r); far < beyond {
				j.links[s] = min(j.links[s], far+1)
			}
		}
	}
	for _, s := range j.broken {
		j.wait(s)
	}
	j.nearest = j.nearest[:0]
	for far := 0; far < len(j.waiting); far++ {
		for i := 0; i < len(j.waiting[far]); i++ {
			s := j.waiting[far][i]
			if int(j.links[s]) != far {
				continue // has come nearer since
			}
			j.nearest = append(j.nearest, s)
			peers, _ := j.graph.Edges(s)
			for _, r := range peers {
				if j.links[r] > j.links[s]+1 && j.isBroken(r, j.lid) {
					j.links[r] = j.links[s] + 1
					j.wait(r)
				}
			}
		}
		j.waiting[far] = j.waiting[far][:0]
	}
}

func (j *joiner) wait(s topo.SwitchIdx) {
	if j.links[s] == beyond {
		return
	}
	for int(j.links[s]) >= len(j.waiting) {
		j.waiting = append(j.waiting, nil)
	}
	j.waiting[j.links[s]] = append(j.waiting[j.links[s]], s)
}

// inTree is the number of links from a switch of the tree to the destination, beyond
// for one outside it.
func (j *joiner) inTree(s topo.SwitchIdx) int32 {
	if j.isBroken(s, j.lid) {
		return beyond
	}
	if j.links[s] == unknown {
		port := j.tables.LFT[s][j.lid]
		next := j.tracer.Next(s, port)
		j.known = append(j.known, s)
		j.links[s] = j.inTree(next) + 1
		j.rises[s] = j.rising(s, port, next)
	}
	return j.links[s]
}

// rising are the SLs whose packets pass channels in the order of the proof, if they leave a switch
// by a port.
func (j *joiner) rising(s topo.SwitchIdx, port uint8, next topo.SwitchIdx) (sls uint16) {
	sls = j.rises[next]
	if next == j.dest.Switch {
		return sls
	}
	turn := creditloop.Turn{Switch: s, Port: port, Next: j.tables.LFT[next][j.lid]}
	for ; turn.SL < 16; turn.SL++ {
		if bit := uint16(1) << turn.SL; sls&bit != 0 && !j.Proof.Rises(turn, next) {
			sls &^= bit
		}
	}
	return sls
}

// joinShortest gives each broken switch a port on a shortest way, if it can one whose way follows the order
// of the proof for packets of the SLs of order. It reports whether those of hosts that have the SLs of must all do.
func (j *joiner) joinShortest(order, must uint16) bool {
	follow := true
	for _, s := range j.nearest {
		if j.tables.LFT[s][j.lid] != routing.NoPath {
			continue
		}
		port, next := j.choose(s, order)
		j.place(s, port)
		j.rises[s] = j.rising(s, port, next)
		follow = follow && j.slsFrom(s)&must&^j.rises[s] == 0
	}
	return follow
}

// choose is the port of a broken switch: one that follows the order if there is any, the previous one if
// it can be, or else the one that serves the fewest LIDs of the destination, and of them the least used.
func (j *joiner) choose(s topo.SwitchIdx, sls uint16) (port uint8, next topo.SwitchIdx) {
	best, bestFollows := preference{}, false
	before := j.before(s, j.lid)
	count := &j.count[s]
	peers, ports := j.graph.Edges(s)
	port, next = routing.NoPath, topo.None
	for e, r := range peers {
		if j.links[r] != j.links[s]-1 {
			continue
		}
		p := preference{ports[e] != before, j.siblings(s, r), count[ports[e]]}
		if next != topo.None && bestFollows && !p.less(best) {
			continue
		}
		follows := sls == 0 || j.rising(s, ports[e], r)&sls == sls
		if next == topo.None || follows && !bestFollows || follows == bestFollows && p.less(best) {
			best, bestFollows, port, next = p, follows, ports[e], r
		}
	}
	return port, next
}

// preference is what one port has against it.
type preference struct {
	changed  bool
	siblings int
	count    uint32
}

func (p preference) less(o preference) bool {
	switch {
	case p.changed != o.changed:
		return o.changed
	case p.siblings != o.siblings:
		return p.siblings < o.siblings
	}
	return p.count < o.count
}

// siblings is the number of LIDs of the destination that a switch sends to another.
func (j *joiner) siblings(s, next topo.SwitchIdx) (count int) {
	if j.dest.LMC == 0 {
		return 0
	}
	for _, port := range j.tables.LFT[s][j.dest.Base:][:1<<j.dest.LMC] {
		if port != routing.NoPath && j.tracer.Next(s, port) == next {
			count++
		}
	}
	return count
}

// place sets the entry of the LID in hand.
func (j *joiner) place(s topo.SwitchIdx, port uint8) {
	if j.weighs[j.lid] {
		j.count[s][j.tables.LFT[s][j.lid]]--
		j.count[s][port]++
	}
	j.set(s, j.lid, port)
}

// undo takes back the entries of the LID in hand.
func (j *joiner) undo() {
	for _, s := range j.broken {
		if j.tables.LFT[s][j.lid] != routing.NoPath {
			j.place(s, routing.NoPath)
		}
	}
}
