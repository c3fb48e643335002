package path

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/topo"
	"ibsm/sweep/view"
)

// Finder answers path queries from one View. It holds what a walk along the
// tables reads in 16 bytes a port, because the Topo's own records would cost
// several cache misses at each hop. It is immutable and safe for concurrent use.
type Finder struct {
	view  *view.View
	guids []mad.GUID     // of Topo.EndPorts
	ports []port         // by PortIdx
	first []topo.PortIdx // port 0 of each switch
	count []uint8        // external ports of each switch
}

// port is a port as a walk sees it.
type port struct {
	peer  topo.PortIdx   // other end of the link, None without one
	enter topo.SwitchIdx // switch that a packet sent out of the port comes to; for port 0 its own; None when it is no switch
	own   limits
	link  limits // of both ends
	caps  rateCaps
}

// limits are what a port, link or path can carry.
type limits struct {
	mtu  uint8 // mad.MTU, unlimited when unknown
	rank uint8 // mad.Rate.Rank, unlimited when unknown
}

const unlimited = 0xff

func (l limits) and(o limits) limits { return limits{min(l.mtu, o.mtu), min(l.rank, o.rank)} }

// New makes a Finder in time linear in the ports of the View.
func New(v *view.View) *Finder {
	t := v.Topo
	f := &Finder{
		view:  v,
		guids: make([]mad.GUID, len(t.EndPorts)),
		ports: make([]port, len(t.Ports)),
		first: make([]topo.PortIdx, len(t.Switches)),
		count: make([]uint8, len(t.Switches)),
	}
	for i, p := range t.EndPorts {
		f.guids[i] = t.Ports[p].GUID
	}
	for i, n := range t.Switches {
		f.first[i], f.count[i] = t.Nodes[n].First, t.Nodes[n].NumPorts
	}
	for p := range t.Ports {
		f.ports[p] = newPort(t, topo.PortIdx(p))
	}
	for i := range f.ports {
		p := &f.ports[i]
		p.link = p.own
		if p.peer != topo.None {
			p.link = p.own.and(f.ports[p.peer].own)
		}
	}
	return f
}

func newPort(t *topo.Topo, i topo.PortIdx) port {
	from := &t.Ports[i]
	node := &t.Nodes[from.Node]
	p := port{peer: from.Peer, enter: topo.None, own: limits{unlimited, unlimited}}
	switch {
	case from.Peer != topo.None:
		p.enter = t.Nodes[t.Ports[from.Peer].Node].Switch
	case from.Num == 0:
		p.enter = node.Switch
	}
	if !from.Seen {
		return p
	}
	mask, mask2 := capabilities(t, i)
	if mtu := from.Info.MTUCap(); mtu.Bytes() != 0 {
		p.own.mtu = uint8(mtu)
	}
	if rank := from.Info.Rate(mask, mask2).Rank(); rank != 0 {
		p.own.rank = uint8(rank)
	}
	p.caps = makeRateCaps(mask, mask2)
	return p
}

// capabilities are those that count for a port: of a switch, port 0's.
func capabilities(t *topo.Topo, p topo.PortIdx) (smp.CapMask, smp.CapMask2) {
	if t.IsSwitchPort(p) {
		p = t.Nodes[t.Ports[p].Node].First
	}
	info := &t.Ports[p].Info
	mask, mask2 := info.CapabilityMask(), info.CapabilityMask2()
	if !mask.Has(smp.IsCapabilityMask2Supported) {
		mask2 = 0
	}
	return mask, mask2
}

// portOfGID is the end port with the GID, or None. It takes the subnet's prefix
// and the one that ports power up with.
func (f *Finder) portOfGID(g mad.GID) topo.PortIdx {
	if p := g.Prefix(); p != mad.DefaultPrefix && p != f.view.Subnet.Prefix {
		return topo.None
	}
	i, found := slices.BinarySearch(f.guids, g.GUID())
	if !found {
		return topo.None
	}
	return f.view.Topo.EndPorts[i]
}
