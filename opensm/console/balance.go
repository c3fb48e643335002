package console

import (
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
	"ibsm/view"
)

// chooseSwitches are the switches that a command is about: the one with the GUID that
// is given, or all. ok is false when that was answered already.
func (s *Session) chooseSwitches(v *view.View, args []string, name, what string) (all []topo.SwitchIdx, ok bool) {
	guid := uint64(0)
	if len(args) > 0 {
		n, rest := number(args[0], 0)
		if n == 0 || rest != "" {
			s.wrong("Invalid "+what+" specified", name)
			return nil, false
		}
		guid = n
	}
	if v != nil {
		for _, n := range nodesInOrder(v.Topo) {
			if node := &v.Topo.Nodes[n]; node.Type == mad.Switch && (guid == 0 || guid == uint64(node.GUID)) {
				all = append(all, node.Switch)
			}
		}
	}
	if guid != 0 && all == nil {
		s.printf("%s not found\n", what)
		return nil, false
	}
	return all, true
}

func (s *Session) switchBalance(args []string) {
	verbose := len(args) > 0 && args[0] == "verbose"
	if verbose {
		args = args[1:]
	}
	v := s.daemon.View()
	all, ok := s.chooseSwitches(v, args, "switchbalance", "guid")
	if !ok || v == nil {
		return
	}
	lids := slices.Collect(endLIDs(v))
	for _, sw := range all {
		if s.gone() {
			return
		}
		s.balanceOf(v, sw, lids, verbose)
	}
}

// balanceOf shows how many of the LIDs each link to another switch carries.
func (s *Session) balanceOf(v *view.View, sw topo.SwitchIdx, lids []mad.LID, verbose bool) {
	var count [256]uint32
	row := v.Tables.LFT[sw]
	for _, lid := range lids {
		if int(lid) < len(row) && row[lid] != routing.NoPath {
			count[row[lid]]++
		}
	}
	t := v.Topo
	n := t.Switches[sw]
	var ports []int
	least, most := ^uint32(0), uint32(0)
	for num := 1; num <= int(t.Nodes[n].NumPorts); num++ {
		port := &t.Ports[t.Port(n, uint8(num))]
		if port.Unhealthy || port.Peer == topo.None || t.Nodes[t.Ports[port.Peer].Node].Type != mad.Switch {
			continue
		}
		ports = append(ports, num)
		least, most = min(least, count[num]), max(most, count[num])
	}
	uneven := len(ports) > 0 && most-least > 1
	if !verbose && !uneven {
		return
	}
	s.printf("%s: 0x%016x (%s)\n", pick(uneven, "Unbalanced Switch", "Switch"), uint64(t.Nodes[n].GUID),
		s.name(&t.Nodes[n]))
	for _, num := range ports {
		s.printf("Port %d: %d\n", num, count[num])
	}
}

func (s *Session) lidBalance(args []string) {
	v := s.daemon.View()
	all, ok := s.chooseSwitches(v, args, "lidbalance", "switchguid")
	if !ok || v == nil {
		return
	}
	ends := endPorts(v)
	for _, sw := range all {
		for _, p := range ends {
			// Of fewer than four LIDs no two numbers differ by more than one.
			if v.LIDs.Count(p) >= 4 {
				s.spreadOf(v, sw, p)
			}
		}
		if s.gone() {
			return
		}
	}
}

// spread is how often each of some things is used.
type spread struct {
	what  []int
	times []int
}

func (s *spread) add(what int) {
	i := slices.Index(s.what, what)
	if i < 0 {
		i = len(s.what)
		s.what, s.times = append(s.what, what), append(s.times, 0)
	}
	s.times[i]++
}

func (s *spread) uneven() bool {
	return len(s.times) > 0 && slices.Max(s.times)-slices.Min(s.times) > 1
}

// spreadOf shows how a switch spreads the LIDs of a port over its own ports and the
// nodes behind them, where that is uneven.
func (s *Session) spreadOf(v *view.View, sw topo.SwitchIdx, p topo.PortIdx) {
	t, row := v.Topo, v.Tables.LFT[sw]
	n := t.Switches[sw]
	var nodes spread
	var times [256]int
	for i := range v.LIDs.Count(p) {
		lid := int(v.LIDs.Base[p]) + i
		if lid >= len(row) || row[lid] == routing.NoPath || int(row[lid]) > int(t.Nodes[n].NumPorts) {
			continue
		}
		port := &t.Ports[t.Port(n, row[lid])]
		if port.Unhealthy || port.Peer == topo.None {
			continue
		}
		nodes.add(int(t.Ports[port.Peer].Node))
		times[row[lid]]++
	}
	var ports spread
	for num, n := range times {
		if n > 0 {
			ports.what, ports.times = append(ports.what, num), append(ports.times, n)
		}
	}
	if nodes.uneven() {
		s.uneven("Remote", t, n, p)
		for i, far := range nodes.what {
			s.printf("Dest 0x%016x(%s) - %d ", uint64(t.Nodes[far].GUID), s.name(&t.Nodes[far]), nodes.times[i])
		}
		s.printf("\n")
	}
	if ports.uneven() {
		s.uneven("Port", t, n, p)
		for i, num := range ports.what {
			s.printf("Port %d - %d: ", num, ports.times[i])
		}
		s.printf("\n")
	}
}

// uneven begins a line of lidbalance about a switch and the port of a node.
func (s *Session) uneven(what string, t *topo.Topo, sw topo.NodeIdx, p topo.PortIdx) {
	node := &t.Nodes[t.Ports[p].Node]
	s.printf("Unbalanced %s Forwarding: Switch 0x%016x (%s): %s 0x%016x (%s): ", what, uint64(t.Nodes[sw].GUID),
		s.name(&t.Nodes[sw]),
		pick(node.Type == mad.Router, "Router", "CA"), uint64(node.GUID), s.name(node))
}
