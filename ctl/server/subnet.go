package server

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"ibsm/ctl"
	"ibsm/ctl/history"
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/opensm/dump"
	"ibsm/opensm/names"
	"ibsm/partitions"
	"ibsm/perf"
	"ibsm/perf/congestion"
	"ibsm/perf/sick"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/routing/rails"
	"ibsm/sa"
	"ibsm/sa/path"
	"ibsm/topo"
	"ibsm/view"
)

// subnet is a published view with the SA registrations, as a ctl.Subnet. It is immutable.
type subnet struct {
	view       *view.View
	registered *registry.State // nil for nothing
	names      names.Map       // that the operator gave to nodes
	status     *ctl.SubnetStatus
	loads      func() []uint32                            // quality.Loads, computed on first use
	finder     func() *path.Finder                        // made on first use
	railsOf    func() *rails.Rails                        // found on first use
	hostsOf    func() *hosts                              // found on first use
	lastChoice *atomic.Pointer[choice]                    // of hosts; nil before the first
	hostIndex  func() *partitions.HostIndex[topo.PortIdx] // the same as hostsOf, for members of partitions
	// vPortTables are the target P_Key tables of the vPorts of the view, by VPortIdx; computed on first use, nil
	// without vPorts or a policy.
	vPortTables func() []*topo.PKeyTable
	past        *history.Keeper     // nil without history
	refusals    func() []sa.Refusal // nil without a manager
	// offending are the ports whose requests the SA dropped; nil without a manager.
	offending func() []sa.Offender
	// droppedPackets are those that traps report, the latest first; nil without a manager.
	droppedPackets func() []manager.DroppedPackets
	shell          *manager.Shell            // the same
	keys           func() Keys               // the same
	mkeyRule       *atomic.Pointer[mkeyRule] // the last one of portMKeys; nil before the first
	// waits is the congestion that a port waits for; nil without a manager.
	waits func(perf.Key) (congestion.Event, bool)
	// sickLinks are the findings of links by now; nil without a manager.
	sickLinks func() []sick.Finding
}

// Show returns a ctl.Subnet of a view that no manager has published, with packets that traps have reported as dropped.
func Show(v *view.View, dropped ...manager.DroppedPackets) ctl.Subnet {
	s := newSubnet(v, nil)
	s.droppedPackets = func() []manager.DroppedPackets { return dropped }
	return s
}

func newSubnet(v *view.View, reg *registry.State) *subnet {
	s := &subnet{view: v, registered: reg, mkeyRule: new(atomic.Pointer[mkeyRule]),
		lastChoice: new(atomic.Pointer[choice])}
	s.loads = sync.OnceValue(func() []uint32 {
		// the only error is the context's
		loads, _ := quality.Loads(context.Background(), routing.In{Topo: v.Topo, LIDs: v.LIDs}, v.Tables.LFT)
		return loads
	})
	s.finder = sync.OnceValue(func() *path.Finder { return path.New(v) })
	s.railsOf = sync.OnceValue(func() *rails.Rails { return rails.Find(v.Topo) })
	s.hostsOf = sync.OnceValue(s.findHosts)
	s.hostIndex = sync.OnceValue(func() *partitions.HostIndex[topo.PortIdx] { return partitions.HostsOf(v.Topo) })
	s.vPortTables = sync.OnceValue(func() []*topo.PKeyTable {
		parts := v.Partitions
		if v.Topo.VPorts.Len() == 0 || parts == nil || parts.Policy == nil {
			return nil
		}
		return partitions.Compile(parts.Policy, parts.Settings, v.Topo, parts.Remember).VPorts
	})
	s.status = s.count()
	return s
}

// with returns the subnet with different registrations.
func (s *subnet) with(reg *registry.State) *subnet {
	next := *s
	next.registered = reg
	return &next
}

// Named returns the subnet with other names of nodes.
func (s *subnet) Named(given names.Map) ctl.Subnet {
	next := *s
	next.names = given
	return &next
}

// Generation increases with each view.
func (s *subnet) Generation() uint64 { return s.view.Gen }

// count counts nodes, ports, links and LIDs.
func (s *subnet) count() *ctl.SubnetStatus {
	t, st := s.view.Topo, &ctl.SubnetStatus{
		Generation: s.view.Gen, Prefix: s.view.Subnet.Prefix.String(), SMLID: s.view.LIDs.Base[s.view.Topo.Self],
		Ports: map[string]int{},
	}
	for i := range t.Nodes {
		switch t.Nodes[i].Type {
		case mad.Switch:
			st.Switches++
		case mad.Router:
			st.Routers++
		default:
			st.CAs++
		}
		if t.Nodes[i].Missed > 0 {
			st.Missing++
		}
	}
	for i := range s.view.Findings {
		if kind := s.view.Findings[i].Kind; kind.Level() != finding.NotLogged {
			if st.Findings == nil {
				st.Findings = map[string]int{}
			}
			st.Findings[kind.Name()]++
		}
	}
	var states [16]int
	for i := range t.Ports {
		p := &t.Ports[i]
		if p.Num != 0 && p.Seen {
			states[p.Info.PortState()]++
		}
		if p.Peer != topo.None && p.Peer >= topo.PortIdx(i) {
			st.Links++
		}
		if s.view.LIDs.Base[i] != 0 {
			st.LIDs += s.view.LIDs.Count(topo.PortIdx(i))
		}
	}
	for state, n := range states {
		if n > 0 {
			st.Ports[smp.PortState(state).String()] = n
		}
	}
	st.VPorts = vPortStates(t)
	return st
}

// dumps are the files that can be written.
var dumps = map[string]func(context.Context, io.Writer, *view.View, names.Map) error{
	"lfts": dump.LFTs, "lid-matrix": dump.LIDMatrix, "routes": dump.Routes, "multicast": dump.MulticastFDBs,
	"subnet": dump.Subnet, "guids": guids,
}

// Dumps are the names of the files that Dump writes.
func (s *subnet) Dumps() []string { return slices.Sorted(maps.Keys(dumps)) }

// Dump writes a dump, in OpenSM's format if it has one.
func (s *subnet) Dump(ctx context.Context, w io.Writer, kind string) error {
	return dumps[kind](ctx, w, s.view, s.names)
}

// guids writes the format of OpenSM's guid2lid: port GUID, lowest and highest LID.
func guids(_ context.Context, w io.Writer, v *view.View, _ names.Map) error {
	for _, p := range v.Topo.EndPorts {
		base := v.LIDs.Base[p]
		if base == 0 {
			continue
		}
		top := base + mad.LID(v.LIDs.Count(p)) - 1
		if _, err := fmt.Fprintf(w, "%v 0x%04x 0x%04x\n\n", v.Topo.Ports[p].GUID, uint16(base),
			uint16(top)); err != nil {
			return err
		}
	}
	return nil
}

// Rows are those of a list.
func (s *subnet) Rows(l ctl.List, f ctl.Filter) (_ iter.Seq[any], err error) {
	if rows := s.registeredRows(l); rows != nil {
		return rows(&f)
	}
	switch l {
	case ctl.DrainedPorts:
		return s.drained, nil
	case ctl.Cables:
		return s.cables, nil
	case ctl.PortGroups:
		return s.portGroups(&f)
	case ctl.Hosts:
		return s.hosts(&f)
	case ctl.VPorts:
		return s.vPorts(&f)
	}
	only := topo.NodeIdx(topo.None)
	if f.Node != "" {
		if v := s.vPortNamed(f.Node); v != topo.None && !isLID(f.Node) {
			only = s.view.Topo.Ports[s.view.Topo.Physical(v)].Node
		} else if only, err = s.findNode(f.Node); err != nil {
			return nil, err
		}
	}
	if !slices.Contains([]string{"", "CA", "switch", "router"}, f.Type) {
		return nil, fmt.Errorf("%w: node type %q: expected CA, switch or router", ctl.ErrBadRequest, f.Type)
	}
	if !slices.Contains(states, f.State) {
		return nil, fmt.Errorf("%w: port state %q: expected one of %v", ctl.ErrBadRequest, f.State, states[1:])
	}
	rows := map[ctl.List]func(topo.NodeIdx, *ctl.Filter, func(any) bool) bool{ctl.Nodes: s.node, ctl.Ports: s.ports,
		ctl.Links: s.links, ctl.PKeys: s.pkeys}[l]
	return func(yield func(any) bool) {
		for i := range s.view.Topo.Nodes {
			n := topo.NodeIdx(i)
			if only != topo.None && only != n || f.Type != "" && f.Type != s.view.Topo.Nodes[n].Type.String() {
				continue
			}
			if !rows(n, &f, yield) {
				return
			}
		}
		if f.Absent && only == topo.None {
			s.absentRows(l, &f, yield)
		}
	}, nil
}

var states = []string{"", smp.PortDown.String(), smp.PortInit.String(), smp.PortArmed.String(), smp.PortActive.String(),
	smp.PortActiveDefer.String()}

// node is the row of a node.
func (s *subnet) node(n topo.NodeIdx, _ *ctl.Filter, yield func(any) bool) bool {
	t := s.view.Topo
	node := &t.Nodes[n]
	row := ctl.Node{
		GUID: node.GUID.String(), Type: node.Type.String(), Desc: node.Desc.String(), Ports: int(node.NumPorts),
		Missed:     int(node.Missed),
		SystemGUID: node.Info.SystemImageGUID().String(), VendorID: node.Info.VendorID(),
		DeviceID: node.Info.DeviceID(), Revision: node.Info.Revision(),
		Aggregation: node.Aggregation,
	}
	for num := range int(node.NumPorts) + 1 {
		p := t.Port(n, uint8(num))
		if row.LID == 0 {
			row.LID = s.view.LIDs.Base[p]
		}
		if num > 0 && t.Ports[p].Seen && t.Ports[p].Info.PortState() == smp.PortActive {
			row.Up++
		}
	}
	return yield(&row)
}

// ports are the rows of a node's ports.
func (s *subnet) ports(n topo.NodeIdx, f *ctl.Filter, yield func(any) bool) bool {
	t := s.view.Topo
	node := &t.Nodes[n]
	guid, desc := node.GUID.String(), node.Desc.String()
	row, peer := ctl.Port{}, ctl.End{}
	for num := range int(node.NumPorts) + 1 {
		p := t.Port(n, uint8(num))
		port := &t.Ports[p]
		state, physical := statesOf(t, p)
		if num == 0 && node.Type != mad.Switch || !port.Seen || f.State != "" && f.State != state {
			continue
		}
		row = ctl.Port{
			GUID: port.GUID.String(), Node: guid, Desc: desc, Type: node.Type.String(), Num: port.Num,
			LID: s.view.LIDs.Base[p], LMC: s.view.LIDs.LMC[p],
			State: state, Physical: physical, Unhealthy: port.Unhealthy,
		}
		if port.Num != 0 && port.Info.PortState() != smp.PortDown {
			row.Width, row.Speed, row.MTU = port.Info.LinkWidthActive().String(), t.LinkSpeed(p).String(),
				port.Info.NeighborMTU().Bytes()
		}
		if port.Peer != topo.None {
			peer = s.end(port.Peer)
			row.Peer = &peer
		}
		if !yield(&row) {
			return false
		}
	}
	return true
}

// links are the rows of the links whose first end is on a node.
func (s *subnet) links(n topo.NodeIdx, f *ctl.Filter, yield func(any) bool) bool {
	t := s.view.Topo
	var loads []uint32
	if f.Routes {
		loads = s.loads()
	}
	for num := 1; num <= int(t.Nodes[n].NumPorts); num++ {
		p := t.Port(n, uint8(num))
		port := &t.Ports[p]
		if port.Peer == topo.None || port.Peer < p && f.Node == "" {
			continue
		}
		state := min(port.Info.PortState(), t.Ports[port.Peer].Info.PortState()).String()
		if f.State != "" && f.State != state {
			continue
		}
		row := ctl.Link{
			From: s.end(p), To: s.end(port.Peer), State: state, Width: port.Info.LinkWidthActive().String(),
			Speed: t.LinkSpeed(p).String(), Unhealthy: port.Unhealthy || t.Ports[port.Peer].Unhealthy,
		}
		if loads != nil {
			row.Routes = &ctl.Routes{Out: loads[p], In: loads[port.Peer]}
		}
		if !yield(&row) {
			return false
		}
	}
	return true
}

// end describes a port as the end of a link, or the port in front of a vPort.
func (s *subnet) end(e topo.EndIdx) ctl.End {
	at := endAt(s.view.Topo, s.view.LIDs, s.view.Topo.Physical(e))
	if v := s.view.Topo.VPortOf(e); v != topo.None {
		at.LID, at.VPort = s.lidOf(e), s.view.Topo.VPorts.At(v).GUID.String()
	}
	return at
}

// endAt is a port of any topology.
func endAt(t *topo.Topo, l *topo.LIDs, p topo.PortIdx) ctl.End {
	port := &t.Ports[p]
	node := &t.Nodes[port.Node]
	return ctl.End{Node: node.GUID.String(), Desc: node.Desc.String(), Type: node.Type.String(), Port: port.Num,
		LID: l.Base[t.EndPort(p)]}
}
