package repair

import (
	"context"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/topo"
)

// rejoin gives each switch that has lost its port to a LID another one, if a way is left that is no longer than the one
// before and follows the order of the proof. The switches behind it keep their entries, so nobody looks at them. A LID
// of which any unproved entry is of another kind, or finds no such port, stays unproved as it is.
func (r *repair) rejoin(ctx context.Context, d *unprovedRoutes) error {
	was := r.Was.By(r.Topo)
	if was == nil {
		return nil
	}
	remains := make(routing.LIDSet, len(d.lids)) // unproved
	for _, e := range d.entries {
		if r.tracer.Next(e.Switch, r.tables.LFT[e.Switch][e.LID]) != topo.None {
			remains.Add(int(e.LID))
		}
	}
	var switches []topo.SwitchIdx
	lids := make([][]mad.LID, len(r.own)) // by SwitchIdx, that it has lost the port to; ascending
	for _, e := range d.entries {
		of := lids[e.Switch]
		if remains.Has(int(e.LID)) || len(of) > 0 && of[len(of)-1] == e.LID {
			continue
		}
		if len(of) == 0 {
			switches = append(switches, e.Switch)
		}
		lids[e.Switch] = append(of, e.LID)
	}
	if len(switches) == 0 {
		return nil
	}
	proof := r.covering()
	if proof == nil {
		return nil
	}
	ports := make([][]uint8, len(switches))
	senders := r.senders()
	if err := routing.Parallel(ctx, r.Workers, len(switches), func() func(int) {
		j := &rejoiner{repair: r, was: was, proof: proof, senders: senders}
		return func(i int) { ports[i] = j.rejoin(switches[i], lids[switches[i]]) }
	}); err != nil {
		return err
	}
	for i, s := range switches {
		for k, port := range ports[i] {
			if port == routing.NoPath {
				remains.Add(int(lids[s][k]))
			}
		}
	}
	for i, s := range switches {
		for k, port := range ports[i] {
			if lid := lids[s][k]; !remains.Has(int(lid)) {
				r.set(s, lid, port)
			}
		}
	}
	kept := d.entries[:0]
	for _, e := range d.entries {
		if remains.Has(int(e.LID)) {
			kept = append(kept, e)
		}
	}
	d.entries = kept
	return nil
}

// senders are a LID of hosts for each row of SLs.
func (r *repair) senders() (lids []mad.LID) {
	if r.tables.SLs == nil {
		return []mad.LID{0}
	}
	seen := map[int32]bool{}
	for i := range r.order {
		d := &r.order[i]
		for lid := d.Base; d.Weighs && lid < d.Base+1<<d.LMC; lid++ {
			if row := max(entryOf(r.tables.SLs.From, lid), -1); !seen[row] {
				seen[row] = true
				lids = append(lids, lid)
			}
		}
	}
	return lids
}

// rejoiner gives switches other ports. It belongs to one goroutine, and writes nothing that others read.
type rejoiner struct {
	*repair
	was     *routing.Forwarding
	proof   *creditloop.Report
	senders []mad.LID
	s       topo.SwitchIdx // in hand
	peers   []topo.SwitchIdx
	ports   []uint8  // to peers
	row     []uint8  // of s, as far as it is placed
	sls     []uint16 // by LID of those in hand: of hosts' packets
	links   []uint8  // by LID and peer: from the peer to the LID, none where packets do not arrive
}

const none = uint8(routing.MaxTrace)

// rejoin returns a port for each LID, NoPath where there is none that will do.
func (j *rejoiner) rejoin(s topo.SwitchIdx, lids []mad.LID) []uint8 {
	j.s, j.row = s, append(j.row[:0], j.tables.LFT[s]...)
	j.peers, j.ports = j.graph.Edges(s)
	j.sls = j.sls[:0]
	for _, lid := range lids {
		j.sls = append(j.sls, j.slsTo(lid))
	}
	j.measure(lids)
	var count [256]uint32
	for lid, port := range j.row {
		if j.weighs[lid] {
			count[port]++
		}
	}
	chosen := make([]uint8, len(lids))
	for i, lid := range lids {
		chosen[i] = j.choose(lid, j.sls[i], j.links[i*len(j.peers):][:len(j.peers)], &count)
		if j.row[lid] = chosen[i]; j.weighs[lid] {
			count[chosen[i]]++
		}
	}
	j.keepTurns(lids, chosen)
	return chosen
}

// slsTo are the SLs of hosts' packets to a LID; none if that is a switch's.
func (j *rejoiner) slsTo(lid mad.LID) uint16 {
	if _, port := routing.Home(j.Topo, j.LIDs.PortOf(lid)); port == 0 {
		return 0
	}
	return j.slsOf(j.senders, lid)
}

// measure finds the links from each peer to each LID.
func (j *rejoiner) measure(lids []mad.LID) {
	j.links = append(j.links[:0], make([]uint8, len(lids)*len(j.peers))...)
	for e, peer := range j.peers {
		for i, lid := range lids {
			j.links[i*len(j.peers)+e] = j.linksFrom(peer, lid)
		}
	}
}

func (j *rejoiner) linksFrom(s topo.SwitchIdx, lid mad.LID) uint8 {
	home := j.found.Home(lid)
	for links := range none {
		if s == home {
			return links
		}
		if s = j.tracer.Next(s, j.tables.LFT[s][lid]); s == topo.None {
			break
		}
	}
	return none
}

// choose is a port on a way that is as short as there is any and no longer than the one before, and follows the order:
// of those the one that serves the fewest LIDs of the destination, and of them the least used.
func (j *rejoiner) choose(lid mad.LID, sls uint16, links []uint8, count *[256]uint32) uint8 {
	before, arrived := j.was.Links(j.s, int(lid))
	nearest := none
	for _, far := range links {
		nearest = min(nearest, far)
	}
	home, egress := routing.Home(j.Topo, j.LIDs.PortOf(lid))
	if egress != 0 {
		before-- // the link to the host
	}
	if !arrived || nearest == none || int(nearest)+1 > before {
		return routing.NoPath
	}
	chosen, best := uint8(routing.NoPath), preference{}
	for e, far := range links {
		if far != nearest {
			continue
		}
		p := preference{siblings: j.siblings(j.row, j.s, j.peers[e], j.LIDs.PortOf(lid)), count: count[j.ports[e]]}
		if chosen != routing.NoPath && !p.less(best) || !j.follows(j.s, j.ports[e], home, lid, sls) {
			continue
		}
		chosen, best = j.ports[e], p
	}
	return chosen
}

// follows reports whether packets that leave a switch by a port pass channels in the order of the proof.
func (j *rejoiner) follows(s topo.SwitchIdx, port uint8, home topo.SwitchIdx, lid mad.LID, sls uint16) bool {
	for via := j.tracer.Next(s, port); sls != 0 && via != home; {
		next := j.tables.LFT[via][lid]
		if rising(j.proof, creditloop.Turn{Switch: s, Port: port, Next: next}, via, sls) != sls {
			return false
		}
		s, port, via = via, next, j.tracer.Next(via, next)
	}
	return true
}

// keepTurns takes back ports by which packets from other switches would not follow the order.
func (j *rejoiner) keepTurns(lids []mad.LID, chosen []uint8) {
	n := j.Topo.Switches[j.s]
	for num := 1; num <= int(j.Topo.Nodes[n].NumPorts); num++ {
		peer := j.Topo.Ports[j.Topo.Port(n, uint8(num))].Peer
		if peer == topo.None {
			continue
		}
		from, port := j.Topo.Nodes[j.Topo.Ports[peer].Node].Switch, j.Topo.Ports[peer].Num
		if from == topo.None {
			continue
		}
		var known, rise [256]uint16 // by the port chosen: SLs that have been looked at, and those that follow
		row := j.tables.LFT[from]
		for i, lid := range lids {
			if row[lid] != port || chosen[i] == routing.NoPath {
				continue
			}
			if unknown := j.sls[i] &^ known[chosen[i]]; unknown != 0 {
				known[chosen[i]] |= unknown
				rise[chosen[i]] |= rising(j.proof, creditloop.Turn{Switch: from, Port: port, Next: chosen[i]}, j.s,
					unknown)
			}
			if j.sls[i]&^rise[chosen[i]] != 0 {
				chosen[i] = routing.NoPath
			}
		}
	}
}
