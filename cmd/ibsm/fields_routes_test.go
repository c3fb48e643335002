package main_test

import (
	"cmp"
	"fmt"
	"maps"
	mathbits "math/bits"
	"slices"
	"strconv"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
)

// hopsTo is the part of a LinearForwardingTable that says how far the tables lead.
const hopsTo = "links to LID"

// lidPart names an entry of a LinearForwardingTable.
func lidPart(lid mad.LID) string { return fmt.Sprintf("LID %d", lid) }

// leads are the links to all LIDs, and whom members of groups reach.
func (s *fieldState) leads() map[item]string {
	led := s.hops()
	maps.Copy(led, s.groups())
	return led
}

// hops are, for each switch and LID of a port, the number of links that the tables of switches
// lead a packet over; nothing where they lead it nowhere.
func (s *fieldState) hops() map[item]string {
	hops := map[item]string{}
	for at, p := range s.ports {
		if at.Port != 0 && s.isSwitch(at.Node) || !p.info.LID().IsUnicast() {
			continue
		}
		for lid := p.info.LID(); lid < p.info.LID()+1<<p.info.LMC(); lid++ {
			for node := range s.switches {
				if n := s.walk(node, lid, at); n >= 0 {
					hops[item{net.End{Node: node}, smp.AttrLinearForwardingTable, lengthPart(lid)}] = fmt.Sprint(n)
				}
			}
		}
	}
	return hops
}

func (s *fieldState) isSwitch(node int32) bool { _, is := s.switches[node]; return is }

// walk counts the links from a switch to the port that has the LID; -1 if the tables do not
// lead there.
func (s *fieldState) walk(node int32, lid mad.LID, to net.End) (hops int) {
	for ; hops <= len(s.switches); hops++ {
		out := s.out(s.held, node, lid)
		if out == to {
			return hops
		}
		next := s.ports[out].peer
		switch {
		case out.Port == 0 || next == net.NoEnd || !s.ports[out].sendsData:
			return -1
		case next == to:
			return hops + 1
		case !s.isSwitch(next.Node):
			return -1
		}
		node = next.Node
	}
	return -1
}

// out is the port by which a switch forwards to a LID; net.NoEnd for none.
func (s *fieldState) out(tables map[item]string, node int32, lid mad.LID) net.End {
	num, err := strconv.Atoi(tables[item{net.End{Node: node}, smp.AttrLinearForwardingTable, lidPart(lid)}])
	at := net.End{Node: node, Port: uint8(num)}
	if _, there := s.ports[at]; err != nil || !there || num > 255 {
		return net.NoEnd
	}
	return at
}

// groups are whom members reach, and who gets packets without having asked for them.
func (s *fieldState) groups() map[item]string {
	m := map[item]string{}
	for who, as := range s.members {
		if !s.ports[who.at].sendsData {
			continue
		}
		var members, others []string
		for _, at := range s.reached(who.at, as.mlid) {
			if s.members[member{at, who.group}].receives {
				members = append(members, fmt.Sprint(at))
			} else {
				others = append(others, fmt.Sprint(at))
			}
		}
		slices.Sort(members)
		slices.Sort(others)
		for part, list := range map[string][]string{reachedMembers: members, reachedOthers: others} {
			m[item{who.at, smp.AttrMulticastForwardingTable, part + " " + who.group.String()}] = strings.Join(list,
				", ")
		}
	}
	return m
}

// Parts of a multicast forwarding table.
const (
	reachedMembers = "full members reached in"
	reachedOthers  = "others reached in"
)

// mlidPart names an entry of a MulticastForwardingTable.
func mlidPart(mlid mad.LID) string { return fmt.Sprintf("MLID %#x", uint16(mlid)) }

// multicastPorts are the ports to which a switch forwards a multicast LID.
func (s *fieldState) multicastPorts(node int32, mlid mad.LID) (ports []net.End) {
	for _, text := range strings.Fields(
		strings.Trim(s.held[item{net.End{Node: node}, smp.AttrMulticastForwardingTable, mlidPart(mlid)}], "[]")) {
		num, _ := strconv.Atoi(text)
		ports = append(ports, net.End{Node: node, Port: uint8(num)})
	}
	return ports
}

// reached are the end ports that get what a host sends to a multicast LID, by the tables of
// switches.
func (s *fieldState) reached(from net.End, mlid mad.LID) (ends []net.End) {
	seen := map[net.End]bool{}
	for next := []net.End{s.ports[from].peer}; len(next) > 0; next = next[1:] {
		in := next[0]
		if in.Node < 0 || seen[in] {
			continue
		}
		seen[in] = true
		if !s.isSwitch(in.Node) {
			ends = append(ends, in)
			continue
		}
		for _, out := range s.multicastPorts(in.Node, mlid) {
			if out == in || !s.ports[out].sendsData {
				continue
			}
			if out.Port == 0 {
				ends = append(ends, out)
				continue
			}
			next = append(next, s.ports[out].peer)
		}
	}
	return ends
}

// balanced is the port by which a switch forwards to the first LID of a port, as OpenSM balances: what hangs on
// the switches with the most end ports comes first, and each takes the port with the fewest routes of those on a
// shortest way. weighs says which nodes count. In other words, what an entry must be by those that come before it.
func (s *fieldState) balanced(n *net.Net, node int32, to net.End, weighs func(int32) bool) (port uint8) {
	counts := map[uint8]int{}
	for _, dst := range s.placed(n) {
		info := s.ports[dst].info
		lid := info.LID()
		hops := s.led[item{net.End{Node: node}, smp.AttrLinearForwardingTable, lengthPart(lid)}]
		best, found := uint8(0), false
		for num := uint8(1); int(num) < len(n.Nodes[node].Ports); num++ {
			p := s.ports[net.End{Node: node, Port: num}]
			next, there := s.led[item{net.End{Node: p.peer.Node}, smp.AttrLinearForwardingTable, lengthPart(lid)}]
			if !p.sendsData || p.peer != dst && (!there || !shorter(next, hops)) {
				continue
			}
			if !found || counts[num] < counts[best] {
				best, found = num, true
			}
		}
		if dst == to {
			return best
		}
		if found && !s.isSwitch(dst.Node) && weighs(dst.Node) {
			counts[best]++
		}
	}
	return 0
}

// shorter reports whether a way has one link less than another.
func shorter(a, b string) bool {
	x, _ := strconv.Atoi(a)
	z, _ := strconv.Atoi(b)
	return x+1 == z
}

// placed are the ports with LIDs in the order in which OpenSM places the routes to them.
func (s *fieldState) placed(n *net.Net) (order []net.End) {
	ends := map[int32][]net.End{}
	var switches []int32
	for node := range s.switches {
		switches = append(switches, node)
		for num := range n.Nodes[node].Ports {
			if peer := s.ports[net.End{Node: node, Port: uint8(num)}].peer; num > 0 && peer != net.NoEnd &&
				!s.isSwitch(peer.Node) {
				ends[node] = append(ends[node], peer)
			}
		}
	}
	slices.SortFunc(switches, func(a, b int32) int { // OpenSM compares GUIDs as they lie in memory
		return cmp.Or(cmp.Compare(len(ends[b]), len(ends[a])),
			cmp.Compare(mathbits.ReverseBytes64(uint64(n.Nodes[a].GUID)),
				mathbits.ReverseBytes64(uint64(n.Nodes[b].GUID))))
	})
	for _, node := range switches {
		order = append(order, ends[node]...)
	}
	for _, node := range switches { // they do not count
		order = append(order, net.End{Node: node})
	}
	return order
}

// lengthPart names the number of links to a LID.
func lengthPart(lid mad.LID) string { return fmt.Sprint(hopsTo, " ", uint16(lid)) }
