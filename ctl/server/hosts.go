package server

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/ctl/shape"
	"ibsm/ctl/slurm"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/plural"
	"ibsm/routing/rails"
	"ibsm/topo"
)

// hosts are the hosts of a subnet.
type hosts struct {
	all    []host                        // by name; those without one come last
	names  *partitions.HostIndex[string] // that patterns mean
	shared map[string]string             // by name: a NodeDescription that two nodes have
	unit   map[topo.SwitchIdx]int        // of leaves, from 1 on
	block  map[string]string             // by name
}

// host is the ports of the adapters of one host, by GUID.
type host struct {
	name  string
	ports []topo.PortIdx
}

// findHosts finds the hosts as package partitions does.
func (s *subnet) findHosts() *hosts {
	t := s.view.Topo
	var ports []partitions.HostPort[string]
	for _, p := range t.EndPorts {
		if n := &t.Nodes[t.Ports[p].Node]; n.Type == mad.CA {
			desc := n.Desc.String()
			ports = append(ports, partitions.HostPort[string]{Node: n.GUID, Desc: desc, Port: ctl.HostName(desc)})
		}
	}
	h := &hosts{names: partitions.NewHostIndex(ports), shared: map[string]string{}, unit: unitsOf(s.railsOf()),
		block: s.blocks(nil)}
	_, shared := h.names.Find("*")
	for _, name := range shared {
		h.shared[name] = ""
	}
	nodes := map[string]mad.GUID{} // by description
	for _, p := range ports {
		desc := strings.TrimSpace(p.Desc)
		other, known := nodes[desc]
		if _, shared := h.shared[p.Port]; shared && known && other != p.Node {
			h.shared[p.Port] = desc
		}
		nodes[desc] = p.Node
	}
	h.group(t)
	return h
}

// group puts adapters together by name and, without a name or with a shared one, by SystemImageGUID.
func (h *hosts) group(t *topo.Topo) {
	type key struct {
		name  string
		image mad.GUID
	}
	at := map[key]int{}
	for _, p := range t.EndPorts {
		n := &t.Nodes[t.Ports[p].Node]
		if n.Type != mad.CA || n.Aggregation {
			continue
		}
		k := key{name: ctl.HostName(n.Desc.String())}
		if _, shared := h.shared[k.name]; shared || k.name == "" {
			k.image = cmp.Or(n.Info.SystemImageGUID(), n.GUID)
		}
		i, known := at[k]
		if !known {
			i = len(h.all)
			at[k] = i
			h.all = append(h.all, host{name: k.name})
		}
		h.all[i].ports = append(h.all[i].ports, p)
	}
	slices.SortStableFunc(h.all, func(a, b host) int {
		if (a.name == "") != (b.name == "") {
			return cmp.Compare(b.name, a.name)
		}
		return cmp.Compare(a.name, b.name)
	})
}

// blocks are the leaves that the same hosts are on with the chosen ports, by host; nil chooses all.
func (s *subnet) blocks(chosen func(topo.PortIdx) bool) map[string]string {
	var nodes []*ctl.Node
	var links []*ctl.Link
	for i := range s.view.Topo.Nodes {
		n := topo.NodeIdx(i)
		s.node(n, nil, func(row any) bool {
			nodes = append(nodes, row.(*ctl.Node))
			return true
		})
		s.links(n, &ctl.Filter{}, func(row any) bool {
			links = append(links, row.(*ctl.Link))
			return true
		})
	}
	var ends func(*ctl.End) bool
	if chosen != nil {
		type at struct {
			node string
			port uint8
		}
		is, t := map[at]bool{}, s.view.Topo
		for _, p := range t.EndPorts {
			if chosen(p) {
				is[at{t.Nodes[t.Ports[p].Node].GUID.String(), t.Ports[p].Num}] = true
			}
		}
		ends = func(e *ctl.End) bool { return is[at{e.Node, e.Port}] }
	}
	block := map[string]string{}
	for _, leaves := range slurm.Of(shape.New(nodes, links), ends).Leafs {
		for _, name := range leaves.Nodes {
			block[name] = leaves.Name
		}
	}
	return block
}

// unitsOf are the units of leaves, from 1 on.
func unitsOf(found *rails.Rails) map[topo.SwitchIdx]int {
	unit := map[topo.SwitchIdx]int{}
	for u, leaves := range found.Units {
		for _, l := range leaves {
			unit[l] = u + 1
		}
	}
	return unit
}

// find are the names of hosts that a name or a pattern means.
func (h *hosts) find(pattern string) (names map[string]bool, err error) {
	if m, err := partitions.ParseMember(pattern); err != nil || m.Who != partitions.Hosts || m.Name != pattern {
		return nil, fmt.Errorf("%w: parameter name=%q: expected the name of a host or a pattern, such as node7, "+
			"node[001-100] or rack1-*", ctl.ErrBadRequest, pattern)
	}
	names = map[string]bool{}
	found, shared := h.names.Find(pattern)
	for _, name := range append(shared, found...) {
		names[name] = true
	}
	if len(names) > 0 || strings.ContainsAny(pattern, "*?[") {
		return names, nil
	}
	var all []string
	for i := range h.all {
		all = append(all, h.all[i].name)
	}
	return nil, fmt.Errorf("%w: no host is named %q%s ibsmctl hosts lists the hosts", ctl.ErrNotFound, pattern,
		cmp.Or(diag.Meant(pattern, slices.Compact(all)), ";"))
}

// chosen reports the ports that a filter selects; nil for all.
func (s *subnet) chosen(f *ctl.Filter) (func(topo.PortIdx) bool, error) {
	if len(f.Rails) == 0 && len(f.Devices) == 0 {
		return nil, nil
	}
	devices := make([]partitions.Pattern, len(f.Devices))
	for i, text := range f.Devices {
		var err error
		if devices[i], err = partitions.ParsePattern(text); err != nil {
			return nil, fmt.Errorf("%w: parameter device=%q: expected the name of an adapter or a pattern, such as mlx5_0 or "+
				"mlx5_[0-7]: %w", ctl.ErrBadRequest, text, err)
		}
	}
	found, t := s.railsOf(), s.view.Topo
	for _, rail := range f.Rails {
		if rail > len(found.Rails) {
			return nil, fmt.Errorf("%w: the subnet has no rail %d; ibsmctl rails lists its %s", ctl.ErrNotFound, rail,
				plural.Of(len(found.Rails), "rail"))
		}
	}
	return func(p topo.PortIdx) bool {
		if rail, is := found.Of[p]; len(f.Rails) > 0 && !(is && slices.Contains(f.Rails, rail+1)) {
			return false
		}
		_, device := rails.Split(t.Nodes[t.Ports[p].Node].Desc.String())
		named := func(d partitions.Pattern) bool { return d.Matches(device) }
		return len(devices) == 0 || slices.ContainsFunc(devices, named)
	}, nil
}

// choice is the hosts of a filter, which programs ask for again and again.
type choice struct {
	of    string // the filter
	hosts *hosts
}

// choose are the hosts with the chosen ports of a filter alone, without those that have none.
func (s *subnet) choose(h *hosts, f *ctl.Filter, chosen func(topo.PortIdx) bool) *hosts {
	of := fmt.Sprintf("%d %q", f.Rails, f.Devices)
	if last := s.lastChoice.Load(); last != nil && last.of == of {
		return last.hosts
	}
	some := *h
	some.all, some.block = nil, s.blocks(chosen)
	for _, host := range h.all {
		host.ports = slices.DeleteFunc(slices.Clone(host.ports), func(p topo.PortIdx) bool { return !chosen(p) })
		if len(host.ports) > 0 {
			some.all = append(some.all, host)
		}
	}
	s.lastChoice.Store(&choice{of, &some})
	return &some
}

// hosts are the rows of hosts: those of the filter's name or pattern, or all, with the ports that the filter selects.
func (s *subnet) hosts(f *ctl.Filter) (iter.Seq[any], error) {
	h := s.hostsOf()
	chosen, err := s.chosen(f)
	if err != nil {
		return nil, err
	}
	var names map[string]bool // nil for all
	if f.Name != "" {
		name, isGUID, err := s.meantHost(f.Name)
		if err == nil && isGUID {
			names = map[string]bool{name: true}
		} else if err == nil {
			names, err = h.find(f.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	if chosen != nil {
		h = s.choose(h, f, chosen)
	}
	return func(yield func(any) bool) {
		for i := range h.all {
			if names != nil && !names[h.all[i].name] {
				continue
			}
			if !yield(s.host(h, &h.all[i])) {
				return
			}
		}
	}, nil
}

// host is the row of a host.
func (s *subnet) host(h *hosts, of *host) *ctl.Host {
	t := s.view.Topo
	row := &ctl.Host{Name: of.name, Shared: h.shared[of.name], Ports: make([]ctl.HostPort, len(of.ports))}
	for i, p := range of.ports {
		port := &t.Ports[p]
		node := &t.Nodes[port.Node]
		to := &row.Ports[i]
		*to = ctl.HostPort{GUID: port.GUID.String(), Node: node.GUID.String(),
			SystemGUID: node.Info.SystemImageGUID().String(), Port: port.Num, LID: s.view.LIDs.Base[p]}
		to.State, _ = statesOf(t, p)
		_, to.Device = rails.Split(node.Desc.String())
		if rail, is := s.railsOf().Of[p]; is {
			to.Rail = rail + 1
		}
		if peer := port.Peer; peer != topo.None && t.Nodes[t.Ports[peer].Node].Type == mad.Switch {
			leaf := &t.Nodes[t.Ports[peer].Node]
			to.Leaf = &ctl.HostLeaf{Node: leaf.GUID.String(), Desc: leaf.Desc.String(), Port: t.Ports[peer].Num}
			to.Unit = h.unit[leaf.Switch]
		}
		if row.Shared == "" {
			to.Block = h.block[of.name]
		}
		if i == 0 {
			row.SystemGUID = to.SystemGUID
		} else if row.SystemGUID != to.SystemGUID {
			row.SystemGUID = ""
		}
	}
	return row
}
