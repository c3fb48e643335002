package plan

import (
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
)

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
