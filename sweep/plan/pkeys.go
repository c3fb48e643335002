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

// P_Key tables change in waves, so that two ports that share a P_Key before and after share
// one all the time: new keys are added everywhere, at switches before hosts, before any key is
// removed anywhere. Where a table has no room for both, its new keys replace the old ones
// when those are removed. A port that carries no data yet gets its table at once.

// pkeyWaves are the stages of a plan that write partition tables.
type pkeyWaves struct {
	addSwitch, addHost       []Step
	removeSwitch, removeHost []Step
	// Blocks that lose a key that another block of the table must gain first.
	lastSwitch, lastHost []Step
	adding               []topo.PortIdx // ports that get keys in the first wave
	// of ports that get steps: they carried no data when the plan was made, and their tables change at once
	quiet   map[topo.PortIdx]bool
	trouble map[topo.PortIdx]bool
	hold    bool
}

// pkeys compares the partition tables.
func (p *Plan) pkeys() {
	p.waves.trouble, p.waves.quiet = map[topo.PortIdx]bool{}, map[topo.PortIdx]bool{}
	if p.in.Partitions == nil {
		return
	}
	for i, want := range p.in.Partitions.Want {
		if held := p.in.Topo.Ports[i].PKeys; want != nil && held != nil && !p.holdsPKeys(topo.PortIdx(i), held, want) {
			p.pkeySteps(topo.PortIdx(i), held, want)
		}
	}
}

// holdsPKeys reports whether a port is known to hold the table that it should.
func (p *Plan) holdsPKeys(i topo.PortIdx, held, want *topo.PKeyTable) bool {
	return held.Equal(want) && p.in.Devices.Holds(p.Place(smp.AttrPKeyTable, i))
}

// holdsPKeyBlock reports whether a port is known to hold a value in a block of its table.
func (p *Plan) holdsPKeyBlock(i topo.PortIdx, block int, value smp.PKeyTable) bool {
	at := device.Block{Place: p.Place(smp.AttrPKeyTable, i), Index: uint16(block)}
	return p.in.Topo.Ports[i].PKeys.Block(block) == value && p.in.Devices.State(at) == device.Known
}

// pkeySteps puts the blocks of a table into their waves.
func (p *Plan) pkeySteps(i topo.PortIdx, held, want *topo.PKeyTable) {
	w, quiet := &p.waves, p.isQuiet(i)
	w.quiet[i] = quiet
	add, remove, last := &w.addHost, &w.removeHost, &w.lastHost
	if p.in.Topo.IsSwitchPort(i) {
		add, remove, last = &w.addSwitch, &w.removeSwitch, &w.lastSwitch
	}
	answers := p.in.Topo.Answers(i)
	added := false
	for block := range topo.PKeyBlocks(max(len(held.Keys()), len(want.Keys()))) {
		between, then := extended(held, want, block), want.Block(block)
		if quiet {
			between = then
		}
		if !p.holdsPKeyBlock(i, block, between) {
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

// isQuiet reports whether a port carries no data: its table may change at once.
func (p *Plan) isQuiet(i topo.PortIdx) bool {
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

// extended is a held block plus its new keys: keys in empty entries, and full in place of
// limited membership.
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

// lossless reports whether a block can be replaced without the port losing, for a while, a
// key that it keeps: each such key is in the new block or in another held one. Of a partition in
// which only the membership changes one of the keys counts.
func lossless(held, want *topo.PKeyTable, block int) bool {
	from, to := block*smp.PKeysPerBlock, (block+1)*smp.PKeysPerBlock
	for i := from; i < to; i++ {
		k := held.Key(i)
		if _, kept := want.Find(k); !k.Valid() || !kept {
			continue
		}
		same := func(o mad.PKey) bool { return o == k || o.Base() == k.Base() && !want.Has(k) }
		here := want.Keys()[min(from, len(want.Keys())):min(to, len(want.Keys()))]
		before := held.Keys()[:min(from, len(held.Keys()))]
		behind := held.Keys()[min(to, len(held.Keys())):]
		if !slices.ContainsFunc(here, same) && !slices.ContainsFunc(before, same) &&
			!slices.ContainsFunc(behind, same) {
			return false
		}
	}
	return true
}

// pkeyData is the block that a step writes; ok is false when the port holds it already, or it
// must not be written now.
func (p *Plan) pkeyData(st Step) (data device.Data, ok bool) {
	held := p.in.Topo.Ports[st.Port].PKeys
	if st.Op == SetPKeys && (p.waves.hold || p.waves.trouble[st.Port]) || held == nil {
		return data, false
	}
	data = p.PKeysSent(st)
	return data, !p.holdsPKeyBlock(st.Port, int(st.Block), data)
}

// PKeysSent is the value of a step.
func (p *Plan) PKeysSent(st Step) device.Data {
	held, want := p.in.Topo.Ports[st.Port].PKeys, p.in.Partitions.Want[st.Port]
	if st.Op == AddPKeys && !p.waves.quiet[st.Port] {
		return extended(held, want, int(st.Block))
	}
	return want.Block(int(st.Block))
}

// PKeysHeld takes what the response to a step shows. Entries beyond the table's end do not count.
func (p *Plan) PKeysHeld(st Step, block *smp.PKeyTable) {
	port := &p.in.Topo.Ports[st.Port]
	want, size := p.in.Partitions.Want[st.Port], p.in.Topo.Nodes[port.Node].PKeyTableSize(port.Num)
	keys := slices.Clone(port.PKeys.Keys())
	from := int(st.Block) * smp.PKeysPerBlock
	for i := range min(smp.PKeysPerBlock, size-from) {
		for len(keys) <= from+i {
			keys = append(keys, 0)
		}
		keys[from+i] = block.PKey(i)
	}
	if port.PKeys = topo.NewPKeyTable(keys); port.PKeys.Equal(want) {
		port.PKeys = want
	}
}

// PKeysFailed notes that a step of a port's P_Key table failed: this plan removes no key from
// the table, and does not turn its enforcement on.
func (p *Plan) PKeysFailed(st Step) { p.waves.trouble[st.Port] = true }

// Removing reports whether the stage is the first that removes keys.
func (p *Plan) Removing() bool { return p.at == RemoveSwitchPKeys }

// NotAdded are the ports that did not get their new keys.
func (p *Plan) NotAdded() (ports []topo.PortIdx) {
	for _, i := range p.waves.adding {
		held, want := p.in.Topo.Ports[i].PKeys, p.in.Partitions.Want[i]
		for block := range topo.PKeyBlocks(len(want.Keys())) {
			if !p.holdsPKeyBlock(i, block, extended(held, want, block)) {
				ports = append(ports, i)
				break
			}
		}
	}
	return ports
}

// HoldRemovals keeps the rest of the plan from removing keys.
func (p *Plan) HoldRemovals() { p.waves.hold = true }

// Removals is the number of blocks from which the plan removes keys.
func (p *Plan) Removals() int {
	w := &p.waves
	return len(w.removeSwitch) + len(w.removeHost) + len(w.lastSwitch) + len(w.lastHost)
}

// Excluded says why a port must not carry data, "" if it may. A policy that confines nobody excludes no port. Otherwise
// an adapter or router that may hold a P_Key which the policy does not give it could talk where it must not, unless the
// switch port in front of it drops such packets. A port that only lacks P_Keys could not, and at port 0 of a switch
// there is nobody to be kept apart. Where hosts may write their own tables, a switch port in front of one is excluded
// that does not hold its table.
func (p *Plan) Excluded(i topo.PortIdx) string {
	t, parts := p.in.Topo, p.in.Partitions
	if parts == nil || !parts.Confines || i == t.Self || t.Ports[i].Num == 0 {
		return ""
	}
	held, want, peer := t.Ports[i].PKeys, parts.Want[i], t.Ports[i].Peer
	external := t.IsSwitchPort(i)
	why := "its P_Keys could not be written"
	switch {
	case external && (!parts.Settings.Tenants || !p.mayEnforce(i)):
		return ""
	case held == nil:
		why = "its P_Keys could not be read"
	case want == nil || p.holdsPKeys(i, held, want), !external && p.waves.trouble[i] && within(held, want):
		return ""
	}
	if !external && peer != topo.None && p.guards(peer) {
		return ""
	}
	return why
}

// within reports whether a port that holds a table has no P_Key which another does not give it.
func within(held, want *topo.PKeyTable) bool {
	return !slices.ContainsFunc(held.Keys(), func(k mad.PKey) bool { return k.Valid() && !want.LetsIn(k) })
}

// mayEnforce reports whether a port of a switch should enforce partitions, and has room for the P_Keys.
func (p *Plan) mayEnforce(i topo.PortIdx) bool {
	t, parts := p.in.Topo, p.in.Partitions
	port := &t.Ports[i]
	return t.IsSwitchPort(i) && port.Peer != topo.None && !t.IsSwitchPort(port.Peer) &&
		parts.Settings.Enforce != partitions.EnforceOff &&
		parts.Checking[i] != partitions.Unchecked && t.Nodes[port.Node].PKeyTableSize(port.Num) > 0
}

// guards reports whether a port of a switch drops all that the end port behind it must not send or get, whatever P_Keys
// that one holds.
func (p *Plan) guards(i topo.PortIdx) bool {
	parts := p.in.Partitions
	if !p.mayEnforce(i) || parts.Checking[i] != partitions.Checked || !parts.Exact[i] ||
		parts.Settings.Enforce != partitions.EnforceBoth {
		return false
	}
	return !p.waves.trouble[i] && p.holdsPKeys(i, p.in.Topo.Ports[i].PKeys, parts.Want[i]) && p.keepsChecks(i)
}

// keepsChecks reports whether a port of a switch checks P_Keys as it should, or will once it is ARMED.
func (p *Plan) keepsChecks(i topo.PortIdx) bool {
	is := &p.in.Topo.Ports[i].Info
	if is.PortState() < smp.PortArmed && !p.minimal[i] {
		w := p.Wanted(i)
		refused := smp.PortInfo(p.in.Unsupported.Refuses(&device.PortInfo, p.Place(device.PortInfo.ID, i),
			(*device.Data)(&w)))
		if refused.PartitionEnforcementInbound() || refused.PartitionEnforcementOutbound() {
			return false
		}
		is = &w
	}
	mode := p.in.Partitions.Settings.Enforce
	return (is.PartitionEnforcementInbound() || mode == partitions.EnforceOut) &&
		(is.PartitionEnforcementOutbound() || mode == partitions.EnforceIn)
}

// Unenforced are the ports of switches that may carry data of an end port, and do not enforce the policy although they
// should: their P_Keys were not read or written, or they do not keep the enforcement. Only the table of the end port
// itself confines it. Ports without room for their P_Keys are not among them.
func (p *Plan) Unenforced() (ports []topo.PortIdx) {
	if p.in.Partitions == nil || !p.in.Partitions.Confines {
		return nil
	}
	for i := range p.in.Topo.Ports {
		i := topo.PortIdx(i)
		if p.mayEnforce(i) && p.in.Topo.Answers(i) && p.in.Topo.Ports[i].Info.PortState() >= smp.PortArmed &&
			!p.keepsChecks(i) {
			ports = append(ports, i)
		}
	}
	return ports
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

// relaxes reports whether a port has to stop checking P_Keys. That comes before keys are
// added, because the port would drop the data that they allow.
func (p *Plan) relaxes(i topo.PortIdx) bool {
	info := &p.in.Topo.Ports[i].Info
	return p.in.Partitions != nil && p.in.Partitions.Checking[i] == partitions.Unchecked &&
		(info.PartitionEnforcementInbound() || info.PartitionEnforcementOutbound())
}

// describePKeys is the change of a block as text.
func (p *Plan) describePKeys(st Step) string {
	held, want := p.in.Topo.Ports[st.Port].PKeys, p.in.Partitions.Want[st.Port]
	is, then := extended(held, want, int(st.Block)), want.Block(int(st.Block))
	if quiet := p.waves.quiet[st.Port]; quiet || st.Op == AddPKeys {
		if is = held.Block(int(st.Block)); !quiet {
			then = extended(held, want, int(st.Block))
		}
	}
	var b strings.Builder
	b.WriteString(" P_Keys:")
	if !p.holdsPKeyBlock(st.Port, int(st.Block), held.Block(int(st.Block))) {
		b.Reset()
		b.WriteString(" P_Keys, whatever the block holds:")
		is = smp.PKeyTable{}
	}
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
			fmt.Fprintf(&b, " %s -> %s at index %d;", p.in.Partitions.Policy.Name(a), p.in.Partitions.Policy.Name(z),
				at)
		}
	}
	return strings.TrimSuffix(b.String(), ";")
}
