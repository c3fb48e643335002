package tree

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// A steady placer starts from two tables: those that the engine once computed from scratch (the origin), and those in
// force. An entry of the origin stays, or returns, if it is on a shortest path; otherwise the entry in force stays if
// it is on one. Only entries that neither table has are placed. So a lost link changes only the routes that used it, or
// whose length depends on it, and when it returns all routes are as before. Loads are counted by entries: each
// destination of a host that has a port at a switch counts once there.

// keep copies the entries that stay from both tables, and leaves the others without a port. Unchanged rows of the
// origin are shared with the result.
func (p *placer) keep(ctx context.Context, all []destinations) error {
	p.beyond = p.newBeyond()
	var err error
	if o, is := p.Base.Origin.(*origin); is {
		p.ways = p.waysSince(o)
	}
	if p.ways == nil {
		if p.ways, err = p.newWays(ctx); err != nil {
			return err
		}
	}
	p.lost = make(lost, routing.RowLen(p.LIDs.Top))
	k := &keeping{placer: p, all: all, lids: lidsOf(all), others: p.withoutOwner(all), index: indexOf(all),
		hostLIDs: hostLIDs(all, p.LIDs)}
	if k.since, err = p.newSince(ctx, all); err != nil {
		return err
	}
	var keepers []*keeper
	var mutex sync.Mutex
	err = routing.Parallel(ctx, p.Workers, len(p.rows), func() func(int) {
		w := &keeper{keeping: k, cut: make([]bool, len(all)), look: make([]uint64, (len(p.rows)+63)/64)}
		mutex.Lock()
		keepers = append(keepers, w)
		mutex.Unlock()
		return func(s int) { w.keep(topo.SwitchIdx(s)) }
	})
	if err != nil {
		return err
	}
	any := false
	for i := range all {
		for _, w := range keepers {
			all[i].cut = all[i].cut || w.cut[i]
		}
		for j := range all[i].ports {
			d := &all[i].ports[j]
			d.others = p.lost.count(d.lid) > 0
			any = any || d.others
		}
	}
	if !any || k.knowsLoads() {
		return nil
	}
	return routing.Parallel(ctx, p.Workers, len(p.rows), func() func(int) {
		return func(s int) { countEntries(p.loadOf(topo.SwitchIdx(s)), p.rows[s], k.hostLIDs) }
	})
}

// indexOf is, by switch, which of all destinations it has.
func indexOf(all []destinations) []int32 {
	index := make([]int32, len(all))
	for i := range all {
		index[all[i].at] = int32(i)
	}
	return index
}

// withoutOwner are the LIDs that belong to no port.
func (p *placer) withoutOwner(all []destinations) (lids []int) {
	owned := make([]bool, routing.RowLen(p.LIDs.Top))
	for i := range all {
		for j := range all[i].ports {
			owned[all[i].ports[j].lid] = true
		}
	}
	for lid, is := range owned {
		if !is {
			lids = append(lids, lid)
		}
	}
	return lids
}

// hostLIDs is 1 for each LID of a host.
func hostLIDs(all []destinations, l *topo.LIDs) []uint32 {
	hosts := make([]uint32, routing.RowLen(l.Top))
	for i := range all {
		for j := range all[i].ports {
			if d := &all[i].ports[j]; d.host {
				hosts[d.lid] = 1
			}
		}
	}
	return hosts
}

// countEntries adds the hosts' LIDs of a row to the loads of ports.
func countEntries(load *[256]uint32, row []uint8, hostLIDs []uint32) {
	for lid, port := range row {
		load[port] += hostLIDs[lid]
	}
	load[routing.NoPath] = 0
}

func (p *placer) loadOf(s topo.SwitchIdx) *[256]uint32 { return (*[256]uint32)(p.load[int(s)<<8:]) }

// keeping is what all keepers share.
type keeping struct {
	*placer
	all    []destinations
	lids   [][]mad.LID // of all, in little memory
	others []int       // LIDs that nobody has
	index  []int32     // by switch: which of all it has
	since  *since      // nil where all must be looked at

	hostLIDs []uint32
}

// knowsLoads reports whether keepers can derive the loads from those of the origin.
func (k *keeping) knowsLoads() bool { return k.since != nil && k.since.hosts }

// loads sets those of a switch.
func (k *keeping) loads(s topo.SwitchIdx, first, row []uint8) {
	load, then := k.loadOf(s), k.since.then[s]
	if then == topo.None {
		countEntries(load, row, k.hostLIDs)
		return
	}
	for port, count := range k.since.load[int(then)<<8:][:256] {
		load[port] = uint32(count)
	}
	routing.Unequal(first, row, func(lid int) {
		if k.since.homes[lid].host {
			load[portOf(first, mad.LID(lid))]--
		}
		load[row[lid]] += k.hostLIDs[lid]
	})
	load[routing.NoPath] = 0
}

func lidsOf(all []destinations) [][]mad.LID {
	lids := make([][]mad.LID, len(all))
	var flat []mad.LID
	for i := range all {
		first := len(flat)
		for j := range all[i].ports {
			flat = append(flat, all[i].ports[j].lid)
		}
		lids[i] = flat[first:]
	}
	return lids
}

// keeper keeps entries of one switch after the other. It belongs to one goroutine.
type keeper struct {
	*keeping
	look  []uint64            // destinations for which the ports of the switch in hand may not be good; a set
	cut   []bool              // by destinations: some switch has no way, nor a port that connects it
	leads [256]topo.SwitchIdx // by port of the switch in hand: the switch behind it, None for none
	goes  [256]topo.SwitchIdx // likewise for ways that begin upwards
}

// measurePorts finds where the ports of a switch lead.
func (k *keeper) measurePorts(s topo.SwitchIdx) {
	for port, to := range k.beyond[int(s)<<8:][:256] {
		k.leads[port], k.goes[port] = topo.None, topo.None
		switch {
		case to == topo.None:
		case k.height[to] > k.height[s]:
			k.goes[port] = to
		default:
			k.leads[port] = to
		}
	}
}

func (k *keeper) keep(s topo.SwitchIdx) {
	k.measurePorts(s)
	size := routing.RowLen(k.LIDs.Top)
	first, last := rowOf(k.Base, s), rowOf(k.Prev, s)
	row, own := first, false
	if len(first) != size {
		row, own = bytes.Repeat([]uint8{routing.NoPath}, size), true
		copy(row, first)
	}
	set := func(lid mad.LID, port uint8) {
		if !own {
			row, own = slices.Clone(row), true
		}
		row[lid] = port
	}
	for _, lid := range k.others {
		if row[lid] != routing.NoPath {
			set(mad.LID(lid), routing.NoPath)
		}
	}
	ways := k.ways.from(s)
	var uneven []uint8
	if k.ways.uneven != nil {
		uneven = k.ways.uneven[k.higherSet[s]]
	}
	keep := func(i int32) {
		at := &k.all[i]
		ports := at.ports
		if at.at == s {
			for j := range ports {
				if d := &ports[j]; row[d.lid] != d.egress {
					set(d.lid, d.egress)
				}
			}
			return
		}
		links := ways[at.at]
		if links == noWay {
			for j := range ports {
				if lid := ports[j].lid; !k.connects(s, row[lid], lid, at.at) {
					set(lid, routing.NoPath)
					k.cut[i] = true
				}
			}
			return
		}
		rows, to, mask, all := k.ways.links, &k.goes, uint8(noWay), uneven != nil && uneven[at.at] == 0
		if links&downOnly != 0 {
			to, mask, all = &k.leads, noWay|downOnly, false
		}
		for _, lid := range k.lids[i] {
			if r := to[row[lid]]; r >= 0 && (all || rows[r][at.at]&mask == links-1) {
				continue
			}
			port := portOf(last, lid)
			if r := to[port]; r < 0 || rows[r][at.at]&mask != links-1 {
				port = routing.NoPath
				k.lost.add(lid, int(k.height[s]), len(k.rows))
			}
			set(lid, port)
		}
	}
	k.eachStale(s, keep)
	if k.rows[s] = row; k.knowsLoads() {
		k.loads(s, first, row)
	}
}

// eachStale calls keep for each destination for which the ports of a switch may not be good.
func (k *keeper) eachStale(s topo.SwitchIdx, keep func(i int32)) {
	if k.since == nil || !k.since.destinations(s, k.look) {
		for i := range k.all {
			keep(int32(i))
		}
	} else {
		k.since.add(k.look, s)
		for i, word := range k.since.of(k.since.loose, s) {
			k.look[i] |= word
		}
		each(k.look, func(at int) { keep(k.index[at]) })
	}
}

// connects reports whether packets to a LID get from a switch without a route to one that has a route, by a port and
// the ports of p.Base.
func (k *keeper) connects(s topo.SwitchIdx, port uint8, lid mad.LID, at topo.SwitchIdx) bool {
	for range routing.MaxTrace {
		if s = k.beyond.next(s, port); s == topo.None {
			return false
		}
		if k.ways.from(s)[at] != noWay {
			return true
		}
		port = portOf(rowOf(k.Base, s), lid)
	}
	return false
}

// beyond is where the ports of switches lead to, by switch * 256 + port: to switches, None otherwise.
type beyond []topo.SwitchIdx

func (p *placer) newBeyond() beyond {
	b := slices.Repeat(beyond{topo.None}, len(p.load))
	for s := range p.rows {
		peers, ports := p.graph.Edges(topo.SwitchIdx(s))
		for i, port := range ports {
			b[s<<8|int(port)] = peers[i]
		}
	}
	return b
}

// next is the switch behind a port whose link can be used, None for none.
func (b beyond) next(s topo.SwitchIdx, port uint8) topo.SwitchIdx { return b[int(s)<<8|int(port)] }

// rowOf is the row of a switch in tables, or nil if they have none.
func rowOf(t *routing.Tables, s topo.SwitchIdx) []uint8 {
	if t == nil || int(s) >= len(t.LFT) {
		return nil
	}
	return t.LFT[s]
}

// portOf is the port of a LID in a row, or NoPath if the row ends before the LID.
func portOf(row []uint8, lid mad.LID) uint8 {
	if int(lid) >= len(row) {
		return routing.NoPath
	}
	return row[lid]
}

// share lets the result share rows with the base tables and the previous ones, where they are equal.
func (p *placer) share(context.Context, []destinations) error {
	for s, row := range p.rows {
		for _, t := range []*routing.Tables{p.Base, p.Prev} {
			if t != nil && s < len(t.LFT) && bytes.Equal(t.LFT[s], row) {
				p.rows[s] = t.LFT[s]
			}
		}
	}
	return nil
}
