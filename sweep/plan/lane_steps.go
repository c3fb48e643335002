package plan

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing/lanes"
	"ibsm/sweep/device"
)

// LanePorts is what ports hold with the targets of the plan, in which the program that carries it
// out records the outcomes by LaneEvent; nil if the plan writes no tables of lanes.
func (p *Plan) LanePorts() *device.Ports { return p.lanes.held }

// LaneEvent has an event change the states of the blocks that a step writes, and returns the steps
// that write those one by one which are not known to hold their value then.
func (p *Plan) LaneEvent(st Step, e device.Event) (left []Step) {
	for single, target := range p.written(st) {
		if target.Take(int(single.Block), e); target.State(int(single.Block)) != device.Known {
			left = append(left, single)
		}
	}
	return left
}

// Singly are the steps that write one by one what a wildcard stands for, and is not known to be held.
func (p *Plan) Singly(st Step) (left []Step) {
	for single, target := range p.written(st) {
		if target.State(int(single.Block)) != device.Known {
			left = append(left, single)
		}
	}
	return left
}

// Witness is the step that reads one of the tables that a wildcard stands for: the last one that is known to have been
// other before, or else the last one.
func (p *Plan) Witness(st Step) (read Step) {
	differs := false
	for single, target := range p.written(st) {
		was := p.in.Ports.Blocks(p.Place(smp.AttrSLtoVLMappingTable, single.Port))
		b := int(single.Block)
		if now := was.State(b) == device.Known && string(was.Block(b)) != string(target.Block(b)); now ||
			!differs {
			read, differs = single, now
		}
	}
	read.Op = ReadSLtoVL
	return read
}

// IsWildcard reports whether a step is for more than one table.
func (o Op) IsWildcard() bool { return singly[o] != 0 }

// written yields, for each block that a step writes, the step that writes it alone, and the blocks of its port.
func (p *Plan) written(st Step) iter.Seq2[Step, *device.Blocks] {
	return func(yield func(Step, *device.Blocks) bool) {
		attr, single, wildcard := operations[st.Op].attr, cmp.Or(singly[st.Op], st.Op), st.Op.IsWildcard()
		sent, from, to := p.LaneSent(st), st.Port, st.Port
		if st.Op == SetSLtoVLAll {
			n := p.in.Topo.Ports[st.Port].Node
			from, to = p.in.Topo.Port(n, 1), p.in.Topo.Port(n, p.in.Topo.Nodes[n].NumPorts)
		}
		for i := from; i <= to; i++ {
			target := p.lanes.targets[p.Place(attr, i)]
			for b := range len(target.Row()) / device.BlockSize {
				if !wildcard && b != int(st.Block) || string(target.Block(b)) != string(sent) {
					continue
				}
				if !yield(Step{Op: single, Block: uint16(b), Port: i}, target) {
					return
				}
			}
		}
	}
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
	text := fmt.Sprintf(" VLArbitrationTable, %s priority from entry %d, VL:weight", priority,
		st.Block%2*smp.VLArbBlockSize)
	port, block := p.lanePort(st.Port), p.laneTarget(st).Block(int(st.Block))
	for i := range port.Turns(int(st.Block)) {
		vl, weight := (*smp.VLArbitrationTable)(block).Entry(i)
		text += fmt.Sprintf(" %d:%d", vl, weight)
	}
	return text
}
