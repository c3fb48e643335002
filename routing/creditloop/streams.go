package creditloop

import (
	"slices"

	"ibsm/routing"
	"ibsm/topo"
)

// streams divide the packets on channels. A switch can have an SLtoVLMappingTable for each pair of ports. Ports of a
// switch are of one class if packets from them are mapped by the same tables; in most subnets all ports are. The
// packets that leave by a port and came in by ports of one class are a stream: those of one SL are on one lane.
type streams struct {
	sls     int // 1 + the highest SL
	count   int
	inputs  int       // number of classes of all switches
	classes []classes // by switch; nil if each has one class, and then streams are channels
	class   []uint8   // by channel: that of the port it leads to; nil likewise
	first   []int32   // by input: its stream of port 0; nil likewise
	into    []int32   // by channel: the input that it leads to; nil likewise
	width   int       // ports, as in graph
	// tables are, for each rules, those by stream; nil if SLs and lanes have the same numbers.
	tables [2][]*routing.SLToVL
	limit  []uint8  // by stream: the number of lanes of the link; nil without Maps and Lanes
	lost   []uint16 // by stream: SLs whose packets get no farther; nil if there are none
}

// classes are those of the ports of one switch.
type classes struct {
	count  int32
	stream int32   // that of port 0; a port has count of them
	input  int32   // number of the first class among those of all switches
	of     []uint8 // by port number
}

func newStreams(g *graph) *streams {
	s := &streams{sls: 1, count: len(g.next), inputs: len(g.Topo.Switches), width: g.ports}
	for _, group := range g.Multicast {
		s.sls = max(s.sls, int(group.SL)+1)
	}
	mapped := false
	for _, r := range g.rules {
		if r.SLs != nil {
			s.sls = max(s.sls, r.SLs.Count)
		}
		mapped = mapped || r.Maps != nil
	}
	if mapped {
		s.fill(g, s.classify(g))
	} else if g.Lanes != nil {
		s.fill(g, nil)
	}
	return s
}

// classify finds the classes of ports, and returns one port of each class by switch.
func (s *streams) classify(g *graph) [][]uint8 {
	leaders := make([][]uint8, len(g.Topo.Switches))
	all := make([]classes, len(g.Topo.Switches))
	several := false
	var stream, input int32
	for i, n := range g.Topo.Switches {
		of := make([]uint8, int(g.Topo.Nodes[n].NumPorts)+1)
		for port := range of {
			same := slices.IndexFunc(leaders[i], func(leader uint8) bool { return s.alike(g, n, leader, uint8(port)) })
			if same < 0 {
				same = len(leaders[i])
				leaders[i] = append(leaders[i], uint8(port))
			}
			of[port] = uint8(same)
		}
		count := int32(len(leaders[i]))
		all[i] = classes{count: count, stream: stream, input: input, of: of}
		several = several || count > 1
		stream, input = stream+count*int32(g.ports), input+count
	}
	if !several {
		return leaders
	}
	s.classes, s.count, s.inputs = all, int(stream), int(input)
	s.class, s.into = make([]uint8, len(g.next)), make([]int32, len(g.next))
	for i := range all {
		for class := range all[i].count {
			s.first = append(s.first, all[i].stream+class)
		}
	}
	for c, to := range g.next {
		if to >= 0 {
			peer := g.Topo.Ports[g.Topo.Port(g.Topo.Switches[c/g.ports], uint8(c%g.ports))].Peer
			s.class[c] = all[to].of[g.Topo.Ports[peer].Num]
			s.into[c] = all[to].input + int32(s.class[c])
		}
	}
	return leaders
}

// alike reports whether a switch maps SLs of packets that come in by two ports alike.
func (s *streams) alike(g *graph, n topo.NodeIdx, a, b uint8) bool {
	for out := 1; out <= int(g.Topo.Nodes[n].NumPorts); out++ {
		p := g.Topo.Port(n, uint8(out))
		for _, r := range g.rules {
			x, y := r.Maps.Table(a, p), r.Maps.Table(b, p)
			for sl := 0; x != y && sl < s.sls; sl++ {
				if x.VL(uint8(sl)) != y.VL(uint8(sl)) {
					return false
				}
			}
		}
	}
	return true
}

// fill sets what there is by stream. leaders are a port of each class by switch; nil without tables.
func (s *streams) fill(g *graph, leaders [][]uint8) {
	s.limit, s.lost = make([]uint8, s.count), make([]uint16, s.count)
	any := false
	for i := range g.rules {
		if leaders != nil {
			s.tables[i] = make([]*routing.SLToVL, s.count)
		}
	}
	for sw, n := range g.Topo.Switches {
		from := []uint8{0}
		if leaders != nil {
			from = leaders[sw]
		}
		for port := 1; port <= int(g.Topo.Nodes[n].NumPorts); port++ {
			p := g.Topo.Port(n, uint8(port))
			for class, leader := range from {
				stream := s.stream(topo.SwitchIdx(sw), uint8(port), uint8(class))
				s.limit[stream] = g.lanesAt(p)
				for i, r := range g.rules {
					if leaders != nil {
						s.tables[i][stream] = r.Maps.Table(leader, p)
					}
				}
				s.lost[stream] = s.lostAt(stream, len(g.rules))
				any = any || s.lost[stream] != 0
			}
		}
	}
	if !any {
		s.lost = nil
	}
}

// lostAt are the SLs whose packets in a stream get no farther by any rules.
func (s *streams) lostAt(stream, rules int) (lost uint16) {
	for sl := range s.sls {
		pass := false
		for i := range rules {
			pass = pass || s.lane(i, stream, uint8(sl)) != routing.DropVL
		}
		if !pass {
			lost |= 1 << sl
		}
	}
	return lost
}

// lanesAt is the number of lanes of the link at a port, 15 if it is not known.
func (in *In) lanesAt(p topo.PortIdx) uint8 {
	if in.Lanes == nil {
		return routing.DropVL
	}
	n := in.Lanes[p]
	if peer := in.Topo.Ports[p].Peer; n == 0 && peer != topo.None {
		n = in.Lanes[peer]
	}
	if n == 0 {
		return routing.DropVL
	}
	return n
}

// stream is the one of a class of ports that leaves a switch by a port.
func (s *streams) stream(sw topo.SwitchIdx, port, class uint8) int {
	if s.classes == nil {
		return int(sw)*s.width + int(port)
	}
	c := &s.classes[sw]
	return int(c.stream) + int(port)*int(c.count) + int(class)
}

// input is the number of a class of ports of a switch, counted over all switches.
func (s *streams) input(sw topo.SwitchIdx, class uint8) int {
	if s.classes == nil {
		return int(sw)
	}
	return int(s.classes[sw].input) + int(class)
}

// classOf is the class of a port of a switch; count is the number of classes that the switch has.
func (s *streams) classOf(sw topo.SwitchIdx, port uint8) uint8 {
	if s.classes == nil || int(port) >= len(s.classes[sw].of) {
		return 0
	}
	return s.classes[sw].of[port]
}

func (s *streams) classCount(sw topo.SwitchIdx) int {
	if s.classes == nil {
		return 1
	}
	return int(s.classes[sw].count)
}

// after is the class of the port that a channel leads to.
func (s *streams) after(channel int) uint8 {
	if s.class == nil {
		return 0
	}
	return s.class[channel]
}

// lane is that of an SL in a stream by some rules, DropVL if there is none.
func (s *streams) lane(rules, stream int, sl uint8) uint8 {
	sl = s.tableOf(rules, stream).VL(sl)
	if s.limit != nil && sl >= s.limit[stream] {
		return routing.DropVL
	}
	return sl
}

// tableOf is the mapping table of a stream by some rules.
func (s *streams) tableOf(rules, stream int) *routing.SLToVL {
	if s.tables[rules] == nil {
		return nil
	}
	return s.tables[rules][stream]
}

// top is the highest lane of all streams.
func (s *streams) top() (top uint8) {
	if s.limit == nil {
		return uint8(s.sls - 1)
	}
	for stream := range s.count {
		for sl := range s.sls {
			for i := range s.tables {
				if v := s.lane(i, stream, uint8(sl)); v != routing.DropVL {
					top = max(top, v)
				}
			}
		}
	}
	return top
}
