package plan

import (
	"cmp"
	"fmt"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/lanes"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// The tables of lanes are written before any link is ARMED and before any path gets another SL,
// so that no packet meets a port that drops its SL or gives its lane no turn. Where links go ACTIVE before switches in use get their
// tables (ArmLinks), those of these switches come later, but still before the forwarding tables that lead over these links. A switch that takes
// wildcards gets one Set for all its ports and one for each port that differs.

// laneTables are the tables of lanes that the plan writes.
type laneTables struct {
	targets map[device.Place]*device.Blocks // of ports that do not hold what they should
	rows    map[laneRow][]byte
	held    *device.Ports // with the targets
	all     []Step        // wildcards for whole switches
	outs    []Step        // for all ways into a port
	ports   []Step
}

// laneRow names a row of blocks. Ports with equal ones share it.
type laneRow struct {
	attr  mad.AttrID
	kind  lanes.Kind
	port  lanes.Port
	ports uint8 // of its switch
	// What the routing engine wants of the port; nil for nothing: the first table of a list that ports
	// share, and the lanes of turns.
	maps  **routing.SLToVL
	turns *routing.LaneOfTurn
}

// Kind is the kind of a port, ok is false for one that has no lanes of its own.
func Kind(t *topo.Topo, i topo.PortIdx) (k lanes.Kind, ok bool) {
	port := &t.Ports[i]
	switch node := &t.Nodes[port.Node]; {
	case node.Type == mad.Router:
		return lanes.Router, true
	case node.Type != mad.Switch:
		return lanes.Adapter, true
	case port.Num != 0:
		return lanes.External, true
	default:
		return lanes.Port0, node.SwitchInfo.EnhancedPort0()
	}
}

// use is the wanted use of a port's lanes; ok is false where that is left alone.
func (p *Plan) use(i topo.PortIdx) (u *lanes.Use, ok bool) {
	kind, ok := Kind(p.in.Topo, i)
	if !ok || p.in.Lanes == nil || p.in.Topo.Ports[i].Info.PortState() == smp.PortDown {
		return nil, false
	}
	return &p.in.Lanes[kind], true
}

// lanePort is what a port can do with its wanted OperationalVLs.
func (p *Plan) lanePort(i topo.PortIdx) lanes.Port {
	w := p.Wanted(i)
	return lanes.Of(&w, w.OperationalVLs())
}

// lanesOf compares the tables of lanes of all ports.
func (p *Plan) lanesOf() {
	if p.in.Lanes == nil {
		return
	}
	p.lanes.targets, p.lanes.rows = map[device.Place]*device.Blocks{}, map[laneRow][]byte{}
	for n := range p.in.Topo.Nodes {
		n := topo.NodeIdx(n)
		if !p.answers(n) {
			continue
		}
		var mapped []topo.PortIdx
		node := &p.in.Topo.Nodes[n]
		for num := range int(node.NumPorts) + 1 {
			i := p.in.Topo.Port(n, uint8(num))
			if u, ok := p.use(i); ok && p.in.Topo.Ports[i].Seen {
				p.turns(i, u)
				if p.maps(i) {
					mapped = append(mapped, i)
				}
			}
		}
		if node.Type == mad.Switch && node.SwitchInfo.OptimizedSLtoVLMappingProgramming()&1 != 0 {
			p.mapByWildcards(n, mapped)
			continue
		}
		for _, i := range mapped {
			p.mapOne(i, p.mapping(i))
		}
	}
	if len(p.lanes.targets) > 0 {
		p.lanes.held = p.in.Ports.With(p.lanes.targets)
	}
}

// maps reports whether a port has SLtoVLMappingTables.
func (p *Plan) maps(i topo.PortIdx) bool {
	return p.agentInfo(i).CapabilityMask().Has(smp.IsSLMappingSupported)
}

// row is the row of a name, made by make where it is a new one.
func (p *Plan) row(name laneRow, make func() []byte) []byte {
	row := p.lanes.rows[name]
	if row == nil {
		row = make()
		p.lanes.rows[name] = row
	}
	return row
}

// turns compares the VL arbitration of a port.
func (p *Plan) turns(i topo.PortIdx, u *lanes.Use) {
	kind, _ := Kind(p.in.Topo, i)
	port := p.lanePort(i)
	var of *routing.LaneOfTurn
	if m := p.in.SLs.Lanes(); m != nil && m.Turns != nil {
		of = m.Turns[i]
	}
	row := p.row(laneRow{attr: smp.AttrVLArbitrationTable, kind: kind, port: port, turns: of}, func() []byte { return u.Row(port, of) })
	place := p.Place(smp.AttrVLArbitrationTable, i)
	target := p.in.Ports.Blocks(place).Target(row)
	for b := range lanes.Blocks {
		if port.Turns(b) == 0 {
			target.Take(b, device.Confirmed)
		}
	}
	p.aim(place, target)
	for b := range lanes.Blocks {
		if target.State(b) != device.Known {
			p.lanes.ports = append(p.lanes.ports, Step{Op: SetTurns, Block: uint16(b), Port: i})
		}
	}
}

// mapping is a port's SLtoVLMappingTable for each port that packets come in by, as one row.
// Packets from port 0 of a switch to itself have a table of their own.
func (p *Plan) mapping(i topo.PortIdx) []byte {
	port := p.lanePort(i)
	kind, _ := Kind(p.in.Topo, i)
	node := p.in.Topo.Nodes[p.in.Topo.Ports[i].Node]
	name := laneRow{attr: smp.AttrSLtoVLMappingTable, kind: kind, port: lanes.Port{OperationalVLs: port.OperationalVLs}}
	from := kind
	if node.Type == mad.Switch {
		name.ports, from = node.NumPorts, lanes.External
	}
	if m := p.in.SLs.Lanes(); m != nil {
		return p.mappingBy(m, i, name)
	}
	return p.row(name, func() (row []byte) {
		table, own := p.in.Lanes[from].Table(port), p.in.Lanes[kind].Table(port)
		row = append(row, own[:]...)
		for range name.ports {
			row = append(row, table[:]...)
		}
		return row
	})
}

// mappingBy is mapping by the tables of the routing engine.
func (p *Plan) mappingBy(m *routing.Maps, i topo.PortIdx, name laneRow) []byte {
	if of := m.Of[i]; len(of) > 0 {
		name.maps = &of[0]
	}
	return p.row(name, func() (row []byte) {
		for in := range int(name.ports) + 1 {
			table := name.port.Table(m.Table(uint8(in), i).VL)
			row = append(row, table[:]...)
		}
		return row
	})
}

// mapOne compares the SLtoVLMappingTables of a port.
func (p *Plan) mapOne(i topo.PortIdx, row []byte) {
	place := p.Place(smp.AttrSLtoVLMappingTable, i)
	target := p.in.Ports.Blocks(place).Target(row)
	p.aim(place, target)
	for b := range len(row) / device.BlockSize {
		if target.State(b) != device.Known {
			p.lanes.ports = append(p.lanes.ports, Step{Op: SetSLtoVL, Block: uint16(b), Port: i})
		}
	}
}

// aim notes the target of a place, if something has to be written there.
func (p *Plan) aim(place device.Place, target *device.Blocks) {
	if !target.Complete() {
		p.lanes.targets[place] = target
	}
}

// mapByWildcards compares the SLtoVLMappingTables of a switch that takes wildcards. One for all
// ports may be for port 0 too, or not, so that port 0 gets its own afterwards.
func (p *Plan) mapByWildcards(n topo.NodeIdx, mapped []topo.PortIdx) {
	if p.in.SLs.Lanes() != nil {
		p.mapOutputs(mapped)
		return
	}
	common := p.common(mapped)
	var differ, others []topo.PortIdx
	same := topo.PortIdx(topo.None)
	for _, i := range mapped {
		row := p.mapping(i)
		if !p.in.Ports.Blocks(p.Place(smp.AttrSLtoVLMappingTable, i)).Target(row).Complete() {
			differ = append(differ, i)
		}
		if p.in.Topo.Ports[i].Num == 0 || &row[0] != common {
			others = append(others, i)
		} else {
			same = i
		}
	}
	if len(differ) <= 1+len(others) {
		p.mapOut(differ)
		return
	}
	p.lanes.all = append(p.lanes.all, Step{Op: SetSLtoVLAll, Port: same})
	for num := range p.in.Topo.Nodes[n].NumPorts { // those without a link as well
		i := p.in.Topo.Port(n, num+1)
		p.aim(p.Place(smp.AttrSLtoVLMappingTable, i), (*device.Blocks)(nil).Target(p.mapping(same)))
	}
	p.mapOut(others)
}

// common is the first byte of the wanted row of most external ports of a switch; nil
// without any.
func (p *Plan) common(mapped []topo.PortIdx) (first *byte) {
	votes := map[*byte]int{}
	for _, i := range mapped {
		if p.in.Topo.Ports[i].Num != 0 {
			row := &p.mapping(i)[0]
			if votes[row]++; first == nil || votes[row] > votes[first] {
				first = row
			}
		}
	}
	return first
}

// mapOut writes the SLtoVLMappingTables of ports by a wildcard for all ports that packets come in
// by.
func (p *Plan) mapOut(ports []topo.PortIdx) {
	for _, i := range ports {
		target := (*device.Blocks)(nil).Target(p.mapping(i))
		p.aim(p.Place(smp.AttrSLtoVLMappingTable, i), target)
		most, others := frequent(target)
		p.lanes.outs = append(p.lanes.outs, Step{Op: SetSLtoVLOut, Block: most, Port: i})
		for _, b := range others {
			p.lanes.ports = append(p.lanes.ports, Step{Op: SetSLtoVL, Block: b, Port: i})
		}
	}
}

// mapOutputs compares the tables of a switch that takes wildcards, where they depend on both ports: a
// wildcard is used for each port that is left by, where that saves Sets.
func (p *Plan) mapOutputs(mapped []topo.PortIdx) {
	for _, i := range mapped {
		row := p.mapping(i)
		target := p.in.Ports.Blocks(p.Place(smp.AttrSLtoVLMappingTable, i)).Target(row)
		differ := 0
		for b := range len(row) / device.BlockSize {
			if target.State(b) != device.Known {
				differ++
			}
		}
		if _, others := frequent(target); differ > 1+len(others) {
			p.mapOut([]topo.PortIdx{i})
		} else {
			p.mapOne(i, row)
		}
	}
}

// frequent is the block whose value most blocks have, and those with another value.
func frequent(target *device.Blocks) (most uint16, others []uint16) {
	count := map[string]int{}
	blocks := len(target.Row()) / device.BlockSize
	for b := range blocks {
		count[string(target.Block(b))]++
	}
	for b := blocks - 1; b >= 0; b-- {
		if count[string(target.Block(b))] >= count[string(target.Block(int(most)))] && (b > 0 || blocks == 1) {
			most = uint16(b)
		}
	}
	for b := range blocks {
		if string(target.Block(b)) != string(target.Block(int(most))) {
			others = append(others, uint16(b))
		}
	}
	return most, others
}

// LanePorts is what ports hold with the targets of the plan, in which the program that carries it
// out records the outcomes by LaneEvent; nil if the plan writes no tables of lanes.
func (p *Plan) LanePorts() *device.Ports { return p.lanes.held }

// LaneEvent has an event change the states of the blocks that a step writes, and returns the steps
// that write those one by one which are not known to hold their value then.
func (p *Plan) LaneEvent(st Step, e device.Event) (left []Step) {
	attr := operations[st.Op].attr
	sent, from, to := p.laneTarget(st).Block(int(st.Block)), st.Port, st.Port
	if st.Op == SetSLtoVLAll {
		n := p.in.Topo.Ports[st.Port].Node
		from, to = p.in.Topo.Port(n, 1), p.in.Topo.Port(n, p.in.Topo.Nodes[n].NumPorts)
	}
	for i := from; i <= to; i++ {
		target := p.lanes.targets[p.Place(attr, i)]
		for b := range len(target.Row()) / device.BlockSize {
			single := st.Op == SetSLtoVL || st.Op == SetTurns
			if single && b != int(st.Block) || string(target.Block(b)) != string(sent) {
				continue
			}
			if target.Take(b, e); target.State(b) != device.Known {
				left = append(left, Step{Op: cmp.Or(singly[st.Op], st.Op), Block: uint16(b), Port: i})
			}
		}
	}
	return left
}

// singly are the operations that write the blocks of a wildcard one by one.
var singly = map[Op]Op{SetSLtoVLAll: SetSLtoVL, SetSLtoVLOut: SetSLtoVL}

// LaneSent is the value of a step.
func (p *Plan) LaneSent(st Step) []byte { return p.laneTarget(st).Block(int(st.Block)) }

func (p *Plan) laneTarget(st Step) *device.Blocks {
	return p.lanes.targets[p.Place(operations[st.Op].attr, st.Port)]
}

func (p *Plan) laneMod(st Step) uint32 {
	num := p.in.Topo.Ports[st.Port].Num
	switch st.Op {
	case SetSLtoVLAll:
		return smp.SLtoVLAllIn | smp.SLtoVLAllOut
	case SetSLtoVLOut:
		return smp.SLtoVLAllIn | smp.SLtoVLMod(0, num)
	}
	return device.Of(operations[st.Op].attr).Modifier(p.node(st), num, st.Block)
}

func (p *Plan) laneData(st Step) (data device.Data, ok bool) {
	target := p.laneTarget(st)
	copy(data[:], target.Block(int(st.Block)))
	return data, target.State(int(st.Block)) != device.Known
}

// describeMapping is the change of an SLtoVLMappingTable as text.
func (p *Plan) describeMapping(st Step) string {
	var b strings.Builder
	b.WriteString(" SLtoVLMappingTable")
	switch {
	case st.Op == SetSLtoVLAll:
		b.WriteString(" of all ports")
	case st.Op == SetSLtoVL && p.node(st).Type == mad.Switch:
		fmt.Fprintf(&b, " from port %d", st.Block)
	}
	held := p.in.Ports.Blocks(p.Place(smp.AttrSLtoVLMappingTable, st.Port))
	is, then := held.Known(int(st.Block)), p.laneTarget(st).Block(int(st.Block))
	if st.Op == SetSLtoVLAll || held.State(int(st.Block)) != device.Known {
		b.WriteString(", whatever it holds: VLs")
		for sl := range uint8(lanes.SLs) {
			fmt.Fprintf(&b, " %d", (*smp.SLtoVLMappingTable)(then).VL(sl))
		}
		return b.String()
	}
	b.WriteByte(':')
	for sl := range uint8(lanes.SLs) {
		if was, vl := (*smp.SLtoVLMappingTable)(&is).VL(sl), (*smp.SLtoVLMappingTable)(then).VL(sl); was != vl {
			fmt.Fprintf(&b, " SL %d from VL %d to %d", sl, was, vl)
		}
	}
	return b.String()
}

// describeTurns is the new value of a block of VL arbitration as text.
func (p *Plan) describeTurns(st Step) string {
	priority := "low"
	if st.Block >= lanes.Blocks/2 {
		priority = "high"
	}
	text := fmt.Sprintf(" VLArbitrationTable, %s priority from entry %d, VL:weight", priority, st.Block%2*smp.VLArbBlockSize)
	port, block := p.lanePort(st.Port), p.laneTarget(st).Block(int(st.Block))
	for i := range port.Turns(int(st.Block)) {
		vl, weight := (*smp.VLArbitrationTable)(block).Entry(i)
		text += fmt.Sprintf(" %d:%d", vl, weight)
	}
	return text
}
