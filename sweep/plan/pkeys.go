package plan

import (
	"fmt"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// Partition tables change in waves, so that two ports that share a P_Key before and
// after share one all the time: what is new is added everywhere, at switches before hosts,
// before anything is taken away anywhere. Where a table has no room for both, its new
// keys take the places of the old ones when these go. A port that carries no data yet
// gets its table at once.

// pkeyWaves are the stages of a plan that write partition tables.
type pkeyWaves struct {
	addSwitch, addHost       []Step
	removeSwitch, removeHost []Step
	// Blocks that lose a key which another block of the table is to gain first.
	lastSwitch, lastHost []Step
	adding               []topo.PortIdx // ports that are to get keys in the first wave
	trouble              map[topo.PortIdx]bool
	hold                 bool
}

// pkeys compares the partition tables.
func (p *Plan) pkeys() {
	p.waves.trouble = map[topo.PortIdx]bool{}
	if p.in.Partitions == nil {
		return
	}
	for i, want := range p.in.Partitions.Want {
		if held := p.in.Topo.Ports[i].PKeys; want != nil && held != nil && !held.Equal(want) {
			p.pkeySteps(topo.PortIdx(i), held, want)
		}
	}
}

// pkeySteps sorts the blocks of a table by what is to be done with them.
func (p *Plan) pkeySteps(i topo.PortIdx, held, want *topo.PKeyTable) {
	w, quiet := &p.waves, p.quiet(i)
	add, remove, last := &w.addHost, &w.removeHost, &w.lastHost
	if p.in.Topo.IsSwitchPort(i) {
		add, remove, last = &w.addSwitch, &w.removeSwitch, &w.lastSwitch
	}
	answers := p.in.Topo.Answers(i)
	added := false
	for block := range topo.PKeyBlocks(max(len(held.Keys()), len(want.Keys()))) {
		is, between, then := held.Block(block), extended(held, want, block), want.Block(block)
		if quiet {
			between = then
		}
		if between != is {
			added = true
			if answers {
				*add = append(*add, Step{Op: AddPKeys, Block: uint16(block), Port: i})
			}
		}
		switch {
		case then == between || !answers:
		case lossless(held, want, block):
			*remove = append(*remove, Step{Op: SetPKeys, Block: uint16(block), Port: i})
		default:
			*last = append(*last, Step{Op: SetPKeys, Block: uint16(block), Port: i})
		}
	}
	if added {
		w.adding = append(w.adding, i)
	}
}

// quiet reports whether a port carries no data: its table may change at once.
func (p *Plan) quiet(i topo.PortIdx) bool {
	t := p.in.Topo
	port := &t.Ports[i]
	if port.Num != 0 {
		return port.Info.PortState() < smp.PortArmed
	}
	node := &t.Nodes[port.Node]
	for num := uint8(1); num <= node.NumPorts; num++ {
		if t.Ports[t.Port(port.Node, num)].Info.PortState() >= smp.PortArmed {
			return false
		}
	}
	return true
}

// extended is a block with what is new in it: keys where none is, and full members where
// there are limited ones.
func extended(held, want *topo.PKeyTable, block int) (b smp.PKeyTable) {
	for i := range smp.PKeysPerBlock {
		h, w := held.Key(block*smp.PKeysPerBlock+i), want.Key(block*smp.PKeysPerBlock+i)
		if !h.Valid() || w == h|mad.FullMember {
			h = w
		}
		b.SetPKey(i, h)
	}
	return b
}

// lossless reports whether a block can be replaced without that the port is for a while
// without a key that it has and keeps: each is in the block, too, or is held elsewhere.
func lossless(held, want *topo.PKeyTable, block int) bool {
	from, to := block*smp.PKeysPerBlock, (block+1)*smp.PKeysPerBlock
	for i := from; i < to; i++ {
		k := held.Key(i)
		if _, kept := want.Find(k); !k.Valid() || !kept {
			continue
		}
		same := func(o mad.PKey) bool { return o.Base() == k.Base() }
		here := want.Keys()[min(from, len(want.Keys())):min(to, len(want.Keys()))]
		before := held.Keys()[:min(from, len(held.Keys()))]
		behind := held.Keys()[min(to, len(held.Keys())):]
		if !slices.ContainsFunc(here, same) && !slices.ContainsFunc(before, same) && !slices.ContainsFunc(behind, same) {
			return false
		}
	}
	return true
}

// pkeyData is the block that a step writes; ok is false when it is there already, or
// must not be written now.
func (p *Plan) pkeyData(st Step) (data device.Data, ok bool) {
	held, want := p.in.Topo.Ports[st.Port].PKeys, p.in.Partitions.Want[st.Port]
	if st.Op == SetPKeys && (p.waves.hold || p.waves.trouble[st.Port]) || held == nil {
		return data, false
	}
	data = want.Block(int(st.Block))
	if st.Op == AddPKeys && !p.quiet(st.Port) {
		data = extended(held, want, int(st.Block))
	}
	return data, data != held.Block(int(st.Block))
}

// PKeysWritten takes what a port holds after a step, and reports whether it is what was
// written. Entries beyond the table's end do not count.
func (p *Plan) PKeysWritten(st Step, block *smp.PKeyTable) bool {
	port := &p.in.Topo.Ports[st.Port]
	want, size := p.in.Partitions.Want[st.Port], p.in.Topo.Nodes[port.Node].PKeyTableSize(port.Num)
	sent, _ := p.pkeyData(st)
	keys := slices.Clone(port.PKeys.Keys())
	from, same := int(st.Block)*smp.PKeysPerBlock, true
	for i := range min(smp.PKeysPerBlock, size-from) {
		for len(keys) <= from+i {
			keys = append(keys, 0)
		}
		keys[from+i] = block.PKey(i)
		same = same && block.PKey(i) == (*smp.PKeyTable)(&sent).PKey(i)
	}
	if port.PKeys = topo.NewPKeyTable(keys); port.PKeys.Equal(want) {
		port.PKeys = want
	}
	return same
}

// PKeysFailed notes that a step of a port's partition table failed: nothing is taken
// from the table in this plan, and nothing is checked by it that was not before.
func (p *Plan) PKeysFailed(st Step) { p.waves.trouble[st.Port] = true }

// Removing reports whether the stage is the first that takes keys away.
func (p *Plan) Removing() bool { return p.at == RemoveSwitchPKeys }

// NotAdded are the ports that were to get keys and did not.
func (p *Plan) NotAdded() (ports []topo.PortIdx) {
	for _, i := range p.waves.adding {
		held, want := p.in.Topo.Ports[i].PKeys, p.in.Partitions.Want[i]
		for block := range topo.PKeyBlocks(len(want.Keys())) {
			if extended(held, want, block) != held.Block(block) {
				ports = append(ports, i)
				break
			}
		}
	}
	return ports
}

// HoldRemovals keeps the rest of the plan from taking any key away.
func (p *Plan) HoldRemovals() { p.waves.hold = true }

// Removals is the number of blocks from which keys are to be taken.
func (p *Plan) Removals() int {
	w := &p.waves
	return len(w.removeSwitch) + len(w.removeHost) + len(w.lastSwitch) + len(w.lastHost)
}

// Excluded says why a port must not carry data, "" if it may: its partition table is not
// as the policy wants it.
func (p *Plan) Excluded(i topo.PortIdx) string {
	if p.in.Partitions == nil || p.in.Partitions.Policy == nil || i == p.in.Topo.Self {
		return ""
	}
	held, want := p.in.Topo.Ports[i].PKeys, p.in.Partitions.Want[i]
	switch {
	case p.in.Topo.IsSwitchPort(i):
		if p.waves.trouble[i] {
			return "its P_Keys could not be written"
		}
	case held == nil:
		return "its P_Keys could not be read"
	case want != nil && !held.Equal(want):
		return "its P_Keys could not be written"
	}
	return ""
}

// checks sets whether a switch's port checks P_Keys.
func (p *Plan) checks(i topo.PortIdx, w *smp.PortInfo) {
	if p.in.Partitions == nil {
		return
	}
	in, out := w.PartitionEnforcementInbound(), w.PartitionEnforcementOutbound()
	switch p.in.Partitions.Checking[i] {
	case partitions.Unchecked:
		in, out = false, false
	case partitions.Checked:
		if !p.waves.trouble[i] {
			in = p.in.Partitions.Settings.Enforce != partitions.EnforceOut
			out = p.in.Partitions.Settings.Enforce != partitions.EnforceIn
		}
	}
	w.SetPartitionEnforcementInbound(in)
	w.SetPartitionEnforcementOutbound(out)
}

// relaxes reports whether a port that checks P_Keys is to stop that. It comes before keys
// are added, lest what they allow be dropped there.
func (p *Plan) relaxes(i topo.PortIdx) bool {
	info := &p.in.Topo.Ports[i].Info
	return p.in.Partitions != nil && p.in.Partitions.Checking[i] == partitions.Unchecked &&
		(info.PartitionEnforcementInbound() || info.PartitionEnforcementOutbound())
}

// tellPKeys is the change of a block in words.
func (p *Plan) tellPKeys(st Step) string {
	held, want := p.in.Topo.Ports[st.Port].PKeys, p.in.Partitions.Want[st.Port]
	is, then := extended(held, want, int(st.Block)), want.Block(int(st.Block))
	if quiet := p.quiet(st.Port); quiet || st.Op == AddPKeys {
		if is = held.Block(int(st.Block)); !quiet {
			then = extended(held, want, int(st.Block))
		}
	}
	var b strings.Builder
	b.WriteString(" P_Keys:")
	for i := range smp.PKeysPerBlock {
		a, z := is.PKey(i), then.PKey(i)
		at := int(st.Block)*smp.PKeysPerBlock + i
		switch {
		case a == z:
		case !a.Valid():
			fmt.Fprintf(&b, " add %s at index %d;", p.in.Partitions.Policy.Name(z), at)
		case !z.Valid():
			fmt.Fprintf(&b, " remove %s at index %d;", p.in.Partitions.Policy.Name(a), at)
		default:
			fmt.Fprintf(&b, " %s -> %s at index %d;", p.in.Partitions.Policy.Name(a), p.in.Partitions.Policy.Name(z), at)
		}
	}
	return strings.TrimSuffix(b.String(), ";")
}
