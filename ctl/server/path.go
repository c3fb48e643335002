package server

import (
	"fmt"
	"math"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// maxHops exceeds the length of any working route.
const maxHops = routing.MaxTrace

// walk follows a packet along the forwarding tables.
type walk struct {
	*subnet
	path  ctl.Path
	nodes []topo.NodeIdx // of path.Hops
	rate  mad.Rate       // of the slowest link so far; 0 before the first
	mtu   int
	// dropped says that the packet ends where its SL has no lane.
	dropped bool
}

// Path follows the forwarding tables.
func (s *subnet) Path(from, to string) (*ctl.Path, error) {
	src, _, err := s.findEnd(from)
	if err != nil {
		return nil, err
	}
	dst, dlid, err := s.findEnd(to)
	if err != nil {
		return nil, err
	}
	return &s.walk(src, dst, dlid).path, nil
}

// walk follows the forwarding tables from a port or vPort to one of the LIDs of another.
func (s *subnet) walk(src, dst topo.EndIdx, dlid mad.LID) *walk {
	w := &walk{subnet: s, path: ctl.Path{From: s.end(src), To: s.end(dst), DLID: dlid}, mtu: math.MaxInt}
	w.path.SL = s.slOf(src, dst, dlid)
	if v := s.view.Topo.VPortOf(dst); v != topo.None {
		_, own := s.view.Topo.LIDOf(s.view.LIDs, v)
		w.path.GRH = !own
	}
	w.path.Result = w.follow(s.view.Topo.Physical(src), s.view.Topo.Physical(dst))
	w.path.Arrived = w.path.Result == arrived
	w.path.Links, w.path.Gbps = len(w.path.Hops)-1, w.rate.Gbps()
	if w.path.Links > 0 {
		w.path.MTU = w.mtu
	}
	return w
}

// arrived is the result for a packet that is delivered.
const arrived = "arrived"

// follow continues from src and returns the result.
func (w *walk) follow(src, dst topo.PortIdx) (fate string) {
	t := w.view.Topo
	at, in := t.Ports[src].Node, uint8(0)
	for range maxHops {
		out, fate := t.Ports[src].Num, ""
		switch {
		case t.Nodes[at].Type == mad.Switch:
			out, fate = w.egress(at, dst)
		case at == t.Ports[dst].Node && in == t.Ports[dst].Num, src == dst:
			fate = arrived
		case len(w.path.Hops) > 0:
			fate = "is delivered to a port that does not have this LID"
		}
		if fate != "" {
			w.hop(at, in, 0)
			return fate
		}
		w.hop(at, in, out)
		if w.dropped {
			return fmt.Sprintf("has SL %d, which maps to VL %d, and is dropped", w.path.SL,
				*w.path.Hops[len(w.path.Hops)-1].VL)
		}
		peer := t.Ports[t.Port(at, out)].Peer
		if peer == topo.None {
			return "is sent to a port without a cable"
		}
		at, in = t.Ports[peer].Node, t.Ports[peer].Num
	}
	return "loops"
}

// egress is the output port at a switch, or the result if the packet ends there.
func (w *walk) egress(n topo.NodeIdx, dst topo.PortIdx) (out uint8, fate string) {
	node, lid := &w.view.Topo.Nodes[n], w.path.DLID
	row := w.view.Tables.LFT[node.Switch]
	switch {
	case int(lid) >= len(row) || row[lid] == routing.NoPath:
		return 0, "reaches a switch that has no route to the LID"
	case row[lid] == 0 && dst == node.First:
		return 0, arrived
	case row[lid] == 0:
		return 0, "is delivered to a switch that does not have this LID"
	case row[lid] > node.NumPorts:
		return 0, "is sent to a port that does not exist"
	}
	return row[lid], ""
}

// slOf is the SL that the subnet administrator gives to a path.
func (s *subnet) slOf(src, dst topo.EndIdx, dlid mad.LID) uint8 {
	t := s.view.Topo
	src, dst = t.EndPort(src), t.EndPort(dst)
	sls, hint := s.view.Tables.SLs, uint8(0)
	if s.view.Partitions != nil && (sls == nil || sls.Hint != 0) {
		hint = s.finder().Decide(src, dst, &sarec.PathRecord{}, 0).SL
	}
	if t.VPortOf(dst) != topo.None { // switches and SLs know it as its port
		dlid = s.view.LIDs.Base[t.Physical(dst)]
	}
	return sls.For(s.view.LIDs.Base[t.Physical(src)], dlid, hint)
}

// lane is the VL of the packet at a port that it leaves by, nil where that is not known.
func (w *walk) lane(p topo.PortIdx, in uint8) *uint8 {
	port := &w.view.Topo.Ports[p]
	node := &w.view.Topo.Nodes[port.Node]
	if node.Type != mad.Switch {
		in = 0
	}
	held := w.view.Ports.Blocks(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: node.GUID, Port: port.Num})
	if held.State(int(in)) != device.Known {
		return nil
	}
	table := smp.SLtoVLMappingTable(held.Known(int(in)))
	vl := table.VL(w.path.SL)
	return &vl
}

// hop records a node, and the link at out unless that is 0.
func (w *walk) hop(n topo.NodeIdx, in, out uint8) {
	t := w.view.Topo
	node := &t.Nodes[n]
	h := ctl.Hop{Node: node.GUID.String(), Desc: node.Desc.String(), Type: node.Type.String(), In: in, Out: out}
	p := t.Port(n, max(in, out))
	h.LID = w.view.LIDs.Base[t.EndPort(p)]
	if out != 0 {
		p = t.Port(n, out)
		width, speed := t.Ports[p].Info.LinkWidthActive(), t.LinkSpeed(p)
		h.Width, h.Speed = width.String(), speed.String()
		if r := mad.LinkRate(width, speed); r != 0 && (w.rate == 0 || r.Rank() < w.rate.Rank()) {
			w.rate = r
		}
		w.mtu = min(w.mtu, t.Ports[p].Info.NeighborMTU().Bytes())
		if h.VL = w.lane(p, in); h.VL != nil {
			vls := t.Ports[p].Info.OperationalVLs()
			w.dropped = *h.VL == smp.VLDrop || vls > 0 && *h.VL >= 1<<(vls-1)
		}
	}
	w.path.Hops, w.nodes = append(w.path.Hops, h), append(w.nodes, n)
}
