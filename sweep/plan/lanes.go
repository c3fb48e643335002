package plan

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/lanes"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// The tables of lanes are written before any link is ARMED and before any path gets another SL, so that no packet meets
// a port that drops its SL or gives its lane no turn. Where links go ACTIVE before switches in use get their tables
// (ArmLinks), those of these switches come later, but still before the forwarding tables that lead over these links. A
// switch that takes wildcards gets one Set for all its ports and one for each port that differs.

// laneTables are the tables of lanes that the plan writes.
type laneTables struct {
	targets map[device.Place]*device.Blocks // of ports that do not hold what they should
	rows    map[laneRow][]byte
	held    *device.Ports // with the targets
	all     []Step        // wildcards for whole switches
	outs    []Step        // for all ways into a port
	ports   []Step
	left    []topo.PortIdx // with other lanes than wanted, of switches that forward by private tables
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
	case port.Num != 0 && port.Peer != topo.None && t.Nodes[t.Ports[port.Peer].Node].Type == mad.Switch:
		return lanes.SwitchLink, true
	case port.Num != 0:
		return lanes.External, true
	default:
		return lanes.Port0, node.SwitchInfo.EnhancedPort0()
	}
}

// kind is the kind of a port. Links between switches have a kind of their own only if their lanes are used in a way of
// their own: ports with equal tables share rows, and a switch takes one Set for all of them.
func (p *Plan) kind(i topo.PortIdx) (k lanes.Kind, ok bool) {
	k, ok = Kind(p.in.Topo, i)
	if k == lanes.SwitchLink && p.in.Lanes != nil && p.in.Lanes[k] == p.in.Lanes[lanes.External] {
		k = lanes.External
	}
	return k, ok
}

// use is the use of a port's lanes that is written; ok is false where that is left alone.
func (p *Plan) use(i topo.PortIdx) (u *lanes.Use, ok bool) {
	if u, ok = p.wantedUse(i); !ok || private(p.in.Topo, i) {
		return nil, false
	}
	return u, true
}

// wantedUse is the wanted use of a port's lanes; ok is false where nothing is wanted.
func (p *Plan) wantedUse(i topo.PortIdx) (u *lanes.Use, ok bool) {
	if p.in.Lanes == nil || p.in.Topo.Ports[i].Info.PortState() == smp.PortDown {
		return nil, false
	}
	kind, ok := p.kind(i)
	if !ok {
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
	p.withhold()
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
				if !p.givenUp(smp.AttrVLArbitrationTable, i) {
					p.turns(i, u)
				}
				if p.maps(i) && !p.givenUp(smp.AttrSLtoVLMappingTable, i) {
					mapped = append(mapped, i)
				}
			}
		}
		if node.Type == mad.Switch && !p.in.SLtoVLSingly && node.SwitchInfo.OptimizedSLtoVLMappingProgramming()&1 != 0 {
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

// givenUp reports whether a port does not take an attribute, and is not sent it any more.
func (p *Plan) givenUp(attr mad.AttrID, i topo.PortIdx) bool {
	return p.in.Devices != nil && p.in.Devices.Optional.GivenUp(p.Place(attr, i))
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

// private reports whether a port is of a switch that forwards by private tables: these can have packets change lanes,
// so that its lanes are their manager's as well.
func private(t *topo.Topo, i topo.PortIdx) bool {
	return t.Nodes[t.Ports[i].Node].UsesPrivateLFT()
}

// withhold notes the ports whose lanes are not as wanted, and are left alone.
func (p *Plan) withhold() {
	for _, n := range p.in.Topo.Switches {
		node := &p.in.Topo.Nodes[n]
		if !node.UsesPrivateLFT() {
			continue
		}
		for num := range int(node.NumPorts) + 1 {
			i := p.in.Topo.Port(n, uint8(num))
			u, ok := p.wantedUse(i)
			if !ok || !p.in.Topo.Ports[i].Seen || !p.in.Topo.Answers(i) {
				continue
			}
			mapped := !p.maps(i) || p.in.Ports.Blocks(p.Place(smp.AttrSLtoVLMappingTable, i)).Target(
				p.mapping(i)).Complete()
			if !mapped || !p.turnsTarget(i, u).Complete() {
				p.lanes.left = append(p.lanes.left, i)
			}
		}
	}
}

// LanesLeft are ports whose lanes are not as wanted and are not written, because their switch forwards by private
// tables.
func (p *Plan) LanesLeft() []topo.PortIdx { return p.lanes.left }

// turns compares the VL arbitration of a port.
func (p *Plan) turns(i topo.PortIdx, u *lanes.Use) {
	target := p.turnsTarget(i, u)
	p.aim(p.Place(smp.AttrVLArbitrationTable, i), target)
	for b := range lanes.Blocks {
		if target.State(b) != device.Known {
			p.lanes.ports = append(p.lanes.ports, Step{Op: SetTurns, Block: uint16(b), Port: i})
		}
	}
}

// turnsTarget is the wanted VL arbitration of a port.
func (p *Plan) turnsTarget(i topo.PortIdx, u *lanes.Use) *device.Blocks {
	kind, _ := p.kind(i)
	port := p.lanePort(i)
	var of *routing.LaneOfTurn
	if m := p.in.SLs.Lanes(); m != nil && m.Turns != nil {
		of = m.Turns[i]
	}
	row := p.row(laneRow{attr: smp.AttrVLArbitrationTable, kind: kind, port: port, turns: of}, func() []byte {
		return u.Row(port, of)
	})
	target := p.in.Ports.Blocks(p.Place(smp.AttrVLArbitrationTable, i)).Target(row)
	for b := range lanes.Blocks {
		if port.Turns(b) == 0 {
			target.Take(b, device.Confirmed)
		}
	}
	return target
}

// mapping is a port's SLtoVLMappingTable for each port that packets come in by, as one row.
// Packets from port 0 of a switch to itself have a table of their own.
func (p *Plan) mapping(i topo.PortIdx) []byte {
	port := p.lanePort(i)
	kind, _ := p.kind(i)
	node := p.in.Topo.Nodes[p.in.Topo.Ports[i].Node]
	name := laneRow{attr: smp.AttrSLtoVLMappingTable, kind: kind, port: lanes.Port{OperationalVLs: port.OperationalVLs}}
	from := kind
	if node.Type == mad.Switch {
		name.ports = node.NumPorts
	}
	if kind == lanes.Port0 {
		from = lanes.External
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
