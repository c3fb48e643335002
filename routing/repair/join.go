package repair

import (
	"context"
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
	hosts   [][]mad.LID        // by SwitchIdx: a LID of hosts there for each row of SLs
	count   [][256]uint32      // by SwitchIdx of broken switches: destinations of weight that each port serves
	inBlock [][]topo.SwitchIdx // by block of LIDs: the broken switches, ascending
	// by SwitchIdx: SLs whose packets pass its way in the order of the proof, to the LID in hand where risen is its
	// number
	rises []uint16
	risen []int
	looks int // the number of the LID in hand
}

// target is a LID to join switches to.
type target struct {
	*routing.Dest
	lid mad.LID
}

func newJoiner(r *repair) *joiner {
	n := len(r.own)
	j := &joiner{
		repair: r, hosts: make([][]mad.LID, n), count: make([][256]uint32, n),
		rises: make([]uint16, n), risen: make([]int, n),
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

// clearRow also makes the row the joiner's own, entries that had no port included: others read it while switches are
// joined.
func (j *joiner) clearRow(s topo.SwitchIdx) {
	if !j.own[s] {
		j.tables.LFT[s], j.own[s] = slices.Clone(j.tables.LFT[s]), true
	}
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

// slsFrom are the SLs of packets from hosts at a switch to a LID; none if that is a switch's.
func (j *joiner) slsFrom(s topo.SwitchIdx, t target) (sls uint16) {
	if t.Egress == 0 {
		return 0
	}
	return j.slsOf(j.hosts[s], t.lid)
}

// slsOf are the SLs of packets from some LIDs to another.
func (r *repair) slsOf(from []mad.LID, to mad.LID) (sls uint16) {
	for _, lid := range from {
		sls |= 1 << r.tables.SLs.Of(lid, to)
	}
	return sls
}

// joinAll joins switches in the order in which destinations are placed. It returns the LIDs that
// hosts' packets do not reach on a shortest way that follows the order of the proof; these stay as they are.
func (j *joiner) joinAll(ctx context.Context) (later []target, err error) {
	if j.Proof = j.covering(); j.Proof == nil {
		if j.Proof, err = creditloop.Find(ctx, j.search()); err != nil {
			return nil, err
		}
	}
	batches := j.batches()
	next := j.lookAhead(ctx, batches[0])
	for i := range batches {
		looks := <-next
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i+1 < len(batches) {
			next = j.lookAhead(ctx, batches[i+1])
		}
		for k := range looks {
			l := &looks[k]
			order := l.sls
			if l.alone {
				order = 0 // no route to it is left that this one could go with: the load of ports decides
			}
			if !j.joinShortest(l, order, l.sls) {
				j.undo(l)
				later = append(later, l.target)
			}
		}
	}
	return later, nil
}

// lookAhead looks at some LIDs while switches are joined to others. When ctx is done what it finds means nothing.
func (j *joiner) lookAhead(ctx context.Context, some []target) <-chan []look {
	done := make(chan []look, 1)
	go func() {
		looks := make([]look, len(some))
		_ = routing.Parallel(ctx, j.Workers, (len(some)+together-1)/together, func() func(int) {
			l := newLooker(j)
			return func(item int) {
				for i := item * together; i < min((item+1)*together, len(some)); i++ {
					looks[i] = l.look(some[i])
				}
			}
		})
		done <- looks
	}()
	return done
}

// together is how many LIDs are one item of work, and mostLooked up to how many routes of broken switches what is found
// for them is kept at a time.
const (
	together   = 16
	mostLooked = 200_000
)

// batches are the LIDs to join switches to, in the order in which destinations are placed.
func (j *joiner) batches() (batches [][]target) {
	last := uint8(0)
	for i := range j.order {
		last = max(last, j.order[i].LMC)
	}
	var some []target
	routes := 0
	for i := range mad.LID(1) << last {
		for k := range j.order {
			t := target{&j.order[k], j.order[k].Base + i}
			block := int(t.lid / routing.BlockSize)
			if i>>t.LMC != 0 || j.repair.broken[block] == nil {
				continue
			}
			if routes += len(j.inBlock[block]); routes > mostLooked && len(some) > 0 {
				batches, some, routes = append(batches, some), nil, len(j.inBlock[block])
			}
			some = append(some, t)
		}
	}
	return append(batches, some)
}

// search is for the credit loops of the tables as they are.
func (j *joiner) search() creditloop.In {
	return creditloop.In{Topo: j.Topo, LIDs: j.LIDs, Forwarding: j.found.With(j.tables.LFT, j.tables.Top),
		SLs: j.tables.SLs, Maps: j.Maps, Traffic: creditloop.BetweenHosts, Workers: j.Workers}
}

// joinShortest gives each broken switch a port on a shortest way, if it can one whose way follows the order
// of the proof for packets of the SLs of order. It reports whether those of hosts that have the SLs of must all do.
func (j *joiner) joinShortest(l *look, order, must uint16) bool {
	j.looks++
	j.rises[l.Switch], j.risen[l.Switch] = l.sls, j.looks
	follow, first := true, int32(0)
	for i := range l.ways {
		w := &l.ways[i]
		choices := l.choices[first:w.end]
		if first = w.end; j.tables.LFT[w.at][l.lid] != routing.NoPath {
			continue // joinLater has found it a way
		}
		c, rises := j.choose(l, w.at, l.before[i], choices, order)
		j.place(w.at, l.target, c.port)
		if must == 0 {
			continue
		}
		if order == 0 {
			rises = j.rising(l, w.at, c)
		}
		j.rises[w.at], j.risen[w.at] = rises, j.looks
		follow = follow && j.slsFrom(w.at, l.target)&must&^rises == 0
	}
	return follow
}

// choose is one of the choices of a broken switch: one that follows the order if there is any, the previous port if it
// can be, or else the one that serves the fewest LIDs of the destination, and of them the least used. It also returns
// the SLs whose packets follow the order, if that matters.
func (j *joiner) choose(l *look, s topo.SwitchIdx, before uint8, choices []choice, sls uint16) (chosen choice,
	rises uint16) {
	best, bestFollows := preference{}, false
	count := &j.count[s]
	for i, c := range choices {
		p := preference{c.port != before, j.siblings(j.tables.LFT[s], s, c.next, l.Port), count[c.port]}
		if i > 0 && bestFollows && !p.less(best) {
			continue
		}
		follows, rising := sls == 0, uint16(0)
		if !follows {
			rising = j.rising(l, s, c)
			follows = rising&sls == sls
		}
		if i == 0 || follows && !bestFollows || follows == bestFollows && p.less(best) {
			best, bestFollows, chosen, rises = p, follows, c, rising
		}
	}
	return chosen, rises
}

// rising are the SLs whose packets pass channels in the order of the proof, if they leave a switch by a port to one
// with a way.
func (j *joiner) rising(l *look, s topo.SwitchIdx, c choice) uint16 {
	if c.next == l.Switch {
		return l.sls
	}
	port := j.tables.LFT[c.next][l.lid]
	if j.risen[c.next] != j.looks {
		j.rises[c.next], j.risen[c.next] = j.rising(l, c.next, choice{j.tracer.Next(c.next, port), port}), j.looks
	}
	return rising(j.Proof, creditloop.Turn{Switch: s, Port: c.port, Next: port}, c.next, j.rises[c.next])
}

// rising are those of some SLs whose packets pass the two channels of a turn, with a switch between them, in the order
// of a proof.
func rising(proof *creditloop.Report, turn creditloop.Turn, via topo.SwitchIdx, sls uint16) uint16 {
	for rest := sls; rest != 0; rest &= rest - 1 {
		if turn.SL = uint8(bits.TrailingZeros16(rest)); !proof.Rises(turn, via) {
			sls &^= 1 << turn.SL
		}
	}
	return sls
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

// siblings is the number of LIDs of a destination that a switch, by its row, sends to another.
func (r *repair) siblings(row []uint8, s, next topo.SwitchIdx, p topo.PortIdx) (count int) {
	if r.LIDs.LMC[p] == 0 {
		return 0
	}
	for _, port := range row[r.LIDs.Base[p]:][:1<<r.LIDs.LMC[p]] {
		if port != routing.NoPath && r.tracer.Next(s, port) == next {
			count++
		}
	}
	return count
}

// place sets the entry of a LID.
func (j *joiner) place(s topo.SwitchIdx, t target, port uint8) {
	if j.weighs[t.lid] {
		j.count[s][j.tables.LFT[s][t.lid]]--
		j.count[s][port]++
	}
	j.set(s, t.lid, port)
}

// undo takes back the entries of a LID.
func (j *joiner) undo(l *look) {
	for i := range l.ways {
		j.place(l.ways[i].at, l.target, routing.NoPath)
	}
}
