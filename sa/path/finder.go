package path

import (
	"math"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/routing/qos"
	"ibsm/topo"
	"ibsm/view"
)

// Finder answers path queries from one View. It keeps what a walk along the tables
// reads in a few bytes a port, because the Topo's own records would cost several
// cache misses at each hop. It is immutable, and safe for concurrent use.
type Finder struct {
	view     *view.View
	reg      *registry.State
	grh      portSet    // those that demand a GRH
	guids    []mad.GUID // of Topo.EndPorts
	all      []topo.EndIdx
	policy   *qos.Matcher // nil for none
	ends     []end        // by EndIdx
	hops     []hop        // by EndIdx
	switches []transit    // by SwitchIdx
}

// end is a port or a vPort as the end of a path.
type end struct {
	guid mad.GUID
	keys *topo.PKeyTable
	own  limits
	caps rateCaps
	// drops are the SLs of which packets are not known to leave an adapter's or router's port, by bit.
	drops uint16
}

// hop is the link at a port.
type hop struct {
	to   int32  // where a packet sent out comes to: a SwitchIdx, toPort of an end port, or nowhere
	in   uint8  // the port of the switch there
	link limits // of both ends
}

const nowhere = math.MinInt32

func toPort(p topo.PortIdx) int32 { return ^int32(p) }

// transit is a switch as a packet passes it.
type transit struct {
	lft   []uint8
	first topo.PortIdx // port 0
	ports uint8        // external ones
	drops []uint16     // SLs that are not known to pass, by the port in and the port out; nil for none at all
}

// limits are what a port, link or path can carry.
type limits struct {
	mtu  uint8 // mad.MTU, unlimited when unknown
	rank uint8 // mad.Rate.Rank, unlimited when unknown
}

const unlimited = 0xff

func (l limits) and(o limits) limits { return limits{min(l.mtu, o.mtu), min(l.rank, o.rank)} }

var nothing = registry.New().Freeze()

// New makes a Finder for when nothing is registered, in time linear in the ports of the
// View.
func New(v *view.View) *Finder {
	t := v.Topo
	n := len(t.Ports) + t.VPorts.Len()
	f := &Finder{
		view:     v,
		reg:      nothing,
		guids:    make([]mad.GUID, len(t.EndPorts)),
		all:      t.Ends(),
		ends:     make([]end, n),
		hops:     make([]hop, n),
		switches: make([]transit, len(t.Switches)),
	}
	for i, p := range t.EndPorts {
		f.guids[i] = t.Ports[p].GUID
	}
	for i, n := range t.Switches {
		f.switches[i] = transit{v.Tables.LFT[i], t.Nodes[n].First, t.Nodes[n].NumPorts, dropsOf(v, n)}
	}
	for p := range t.Ports {
		f.ends[p] = newEnd(t, topo.PortIdx(p))
		if t.Nodes[t.Ports[p].Node].Type != mad.Switch {
			o := outputOf(v, topo.PortIdx(p))
			f.ends[p].drops = o.drops(0)
		}
	}
	if v.QoS != nil {
		f.policy = v.QoS.Compile(t, v.Partitions)
	}
	for p := range t.Ports {
		f.hops[p] = f.newHop(t, topo.PortIdx(p))
	}
	f.addVPorts()
	return f
}

func newEnd(t *topo.Topo, p topo.PortIdx) end {
	e := end{guid: t.Ports[p].GUID, keys: t.Ports[p].PKeys, own: limits{unlimited, unlimited}}
	if !t.Ports[p].Seen {
		return e
	}
	info := &t.Ports[p].Info
	mask, mask2 := capabilities(t, p)
	if mtu := info.MTUCap(); mtu.Bytes() != 0 {
		e.own.mtu = uint8(mtu)
	}
	if rank := info.Rate(mask, mask2).Rank(); rank != 0 {
		e.own.rank = uint8(rank)
	}
	e.caps = makeRateCaps(mask, mask2)
	return e
}

func (f *Finder) newHop(t *topo.Topo, p topo.PortIdx) hop {
	h := hop{to: nowhere, link: f.ends[p].own}
	peer := t.Ports[p].Peer
	if peer == topo.None {
		// What port 0 of a switch sends goes through the switch itself.
		if node := &t.Nodes[t.Ports[p].Node]; t.Ports[p].Num == 0 && node.Switch != topo.None {
			h.to = int32(node.Switch)
		}
		return h
	}
	h.link = h.link.and(f.ends[peer].own)
	if sw := t.Nodes[t.Ports[peer].Node].Switch; sw != topo.None {
		h.to, h.in = int32(sw), t.Ports[peer].Num
	} else {
		h.to = toPort(peer)
	}
	return h
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

// WithRegistry is the Finder of the same View when something else is registered. It
// shares with the other what does not depend on that.
func (f *Finder) WithRegistry(reg *registry.State) *Finder {
	g := *f
	g.reg = reg
	g.registerGRHPorts(reg, f.reg)
	return &g
}

// endOfGID is the end port or vPort with the GID, which may be of an alias, or None. It takes
// the subnet's prefix and the one that ports power up with.
func (f *Finder) endOfGID(g mad.GID) topo.EndIdx {
	if !f.onSubnet(g) {
		return topo.None
	}
	if i, found := slices.BinarySearch(f.guids, g.GUID()); found {
		return f.view.Topo.EndPorts[i]
	}
	if f.view.Topo.VPorts != nil {
		if e := f.view.Topo.FindEnd(g.GUID()); e != topo.None {
			return e
		}
	}
	if at, found := f.reg.Alias(g.GUID()); found {
		return f.view.Topo.FindEnd(at.Port)
	}
	return topo.None
}

func (f *Finder) onSubnet(g mad.GID) bool {
	return g.Prefix() == mad.DefaultPrefix || g.Prefix() == f.view.Subnet.Prefix
}

// routerTo is the port of the router to which packets for another subnet go: that of the
// first prefix route that holds and whose router is there, None without one.
func (f *Finder) routerTo(g mad.GID) topo.PortIdx {
	t := f.view.Topo
	for _, r := range f.view.PrefixRoutes {
		if !r.AnyPrefix && r.Prefix != g.Prefix() {
			continue
		}
		for _, p := range t.EndPorts {
			if t.Nodes[t.Ports[p].Node].Type == mad.Router && (r.Router == 0 || r.Router == t.Ports[p].GUID) {
				return p
			}
		}
	}
	return topo.None
}
