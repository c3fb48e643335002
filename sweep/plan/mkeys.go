package plan

import (
	"slices"

	"ibsm/keys"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// MKeys are the M_Keys of a subnet's ports: the wanted ones, and others that they may have.
type MKeys struct {
	One mad.MKey // of all ports, unless PerPort
	// Ports are keys of which each port has its own, and may have that of the number before or after. The zero value is
	// none.
	Ports    keys.Ports
	PerPort  bool // each port's wanted M_Key is its own, of Ports
	NoLookup bool // every request shows One, whatever the port's key is; not with PerPort
}

// Wanted is the wanted M_Key of a port, by the GUID of its agent's port.
func (k *MKeys) Wanted(port mad.GUID) mad.MKey {
	if k.PerPort && port != 0 {
		return mad.MKey(k.Ports.Of(uint64(port)))
	}
	return k.One
}

// clears reports whether a port must lose a key that somebody else has set.
func (k *MKeys) clears(port mad.GUID, held mad.MKey) bool {
	if held == 0 || !k.Ports.On() || k.Wanted(port) != 0 {
		return false
	}
	_, ours := k.Ports.Made(uint64(port), uint64(held))
	return !ours
}

// For is the M_Key of a request to the agent of a port: the one it was read with, else the wanted one, which an agent
// without M_Key takes as any other.
func (k *MKeys) For(t *topo.Topo, p topo.PortIdx) mad.MKey {
	if k.NoLookup && !k.PerPort {
		return k.One
	}
	if held := t.MKey(p); held != 0 {
		return held
	}
	return k.Wanted(t.Agent(p))
}

// Recorded is what is known of an agent's M_Key.
type Recorded struct {
	Key    mad.MKey // that it had last
	Known  bool
	Old    bool     // another manager may have given it the wanted one since
	Before mad.MKey // another one that it had before; 0 for none
}

// Candidate is the nth M_Key, from 0 on, to show to an agent whose M_Key is not proved; ok is false where there are no
// more. An agent at protection level 2 takes a wrong one for an attack, so there are few: after the recorded one that
// of the current number, of the number before, of all ports, and, for a manager whose store is old, of the next number.
// The wanted one goes first where the recorded one is an earlier one of the subnet and old. The one before the recorded
// one comes last: the reply that has shown the recorded one may have been wrong.
func (k *MKeys) Candidate(port mad.GUID, was Recorded, n int) (key mad.MKey, ok bool) {
	if k.NoLookup && !k.PerPort {
		return k.One, n == 0
	}
	recorded, known := was.Key, was.Known && (was.Key != 0 || !k.PerPort) // an agent without M_Key takes any
	overtaken := known && was.Old && k.overtaken(port, recorded)
	if known && n == 0 && !overtaken {
		return recorded, true
	}
	list := make([]mad.MKey, 0, 6)
	add := func(key mad.MKey) {
		if !slices.Contains(list, key) {
			list = append(list, key)
		}
	}
	if overtaken {
		add(k.Wanted(port))
	}
	if known {
		add(recorded)
	}
	if !k.PerPort {
		add(k.One)
	}
	if k.Ports.On() && port == 0 {
		add(mad.MKey(k.Ports.Knock()))
		add(k.One)
	}
	if number := k.Ports.Number(); number > 0 && port != 0 {
		add(mad.MKey(k.Ports.Of(uint64(port))))
		if number > 1 {
			add(mad.MKey(k.Ports.With(number-1, uint64(port))))
		}
		add(k.One)
		add(mad.MKey(k.Ports.With(number+1, uint64(port))))
	}
	if len(list) == 0 {
		add(k.One)
	}
	if was.Before != 0 {
		add(was.Before)
	}
	if n >= len(list) {
		return 0, false
	}
	return list[n], true
}

// overtaken reports whether a port had an M_Key of the subnet before the wanted one.
func (k *MKeys) overtaken(port mad.GUID, held mad.MKey) bool {
	number, ours := k.Ports.Made(uint64(port), uint64(held))
	return ours && held != k.Wanted(port) && (!k.PerPort || number < k.Ports.Number())
}

// A manager whose ports have, or had, M_Keys of their own sets the M_Key of a port, its lease period and its protection
// in Sets that change nothing else, after all others, and reads them back with the new M_Key before it goes on: rack by
// rack, a leaf switch and its hosts, then the other switches, and last its own port.

// mkeysLast reports whether M_Keys are set after all else, by Sets of their own.
func (v *Values) mkeysLast() bool { return v.MKeys.Ports.On() }

// maxRack is how many switches that are no leaves are set together.
const maxRack = 36

// mkeySteps are the steps of racks, each of which has one part that sets and one that reads back.
func (p *Plan) mkeySteps() (parts [][]Step) {
	if !p.in.Values.mkeysLast() {
		return nil
	}
	t := p.in.Topo
	racks := make([][]Step, len(t.Nodes)+1) // by node; the last is our own port
	for _, i := range t.EndPorts {
		if !p.wantsMKey(i) {
			continue
		}
		rack := t.Ports[i].Node
		switch peer := t.Ports[i].Peer; {
		case i == t.EndPort(t.Self):
			rack = topo.NodeIdx(len(t.Nodes))
		case peer != topo.None && t.Nodes[rack].Type != mad.Switch && t.IsSwitchPort(peer):
			rack = t.Ports[peer].Node
		}
		racks[rack] = append(racks[rack], Step{Op: SetMKey, Port: i})
	}
	var others []Step // switches alone, a few of which are a rack
	last := racks[len(t.Nodes)]
	for n := range t.Nodes {
		switch rack := racks[n]; {
		case len(rack) == 0:
		case len(rack) == 1 && !p.hasHosts(topo.NodeIdx(n)):
			others = append(others, rack...)
		default:
			parts = append(parts, rack)
		}
	}
	for rack := range slices.Chunk(others, maxRack) {
		parts = append(parts, rack)
	}
	if len(last) > 0 {
		parts = append(parts, last)
	}
	both := make([][]Step, 0, 2*len(parts))
	for _, rack := range parts {
		read := slices.Clone(rack)
		for i := range read {
			read[i].Op = ReadMKey
		}
		both = append(both, rack, read)
	}
	return both
}

// hasHosts reports whether a node is a leaf switch.
func (p *Plan) hasHosts(n topo.NodeIdx) bool {
	t := p.in.Topo
	if t.Nodes[n].Type != mad.Switch {
		return false
	}
	for num := range t.Nodes[n].NumPorts {
		if peer := t.Ports[t.Port(n, num+1)].Peer; peer != topo.None && !t.IsSwitchPort(peer) {
			return true
		}
	}
	return false
}

// wantsMKey reports whether a port needs another M_Key, lease period or protection.
func (p *Plan) wantsMKey(i topo.PortIdx) bool {
	t := p.in.Topo
	port := &t.Ports[i]
	if !port.Seen || !t.Answers(i) || p.withoutLID(i) {
		return false
	}
	w := port.Info
	p.setMKey(i, &w)
	d, _ := device.MKeys.Differs((*device.Data)(&port.Info), (*device.Data)(&w))
	return p.in.Unsupported.Wants(&device.MKeys, p.Place(device.MKeys.ID, i), (*device.Data)(&w), &d, true)
}

// setMKey sets the M_Key, its lease period and its protection.
func (p *Plan) setMKey(i topo.PortIdx, w *smp.PortInfo) {
	v, port := &p.in.Values, &p.in.Topo.Ports[i]
	if v.MKeys.clears(port.GUID, port.Info.MKey()) {
		return
	}
	if !v.KeepMKey {
		w.SetMKey(v.MKeys.Wanted(port.GUID))
	}
	if !v.KeepMKeyLease {
		w.SetMKeyLeasePeriod(v.MKeyLease)
	}
	if !v.KeepMKeyProtect {
		w.SetMKeyProtectBits(v.MKeyProtect)
	}
	if p.in.Knocked[port.GUID] != 0 {
		w.SetMKeyProtectBits(min(w.MKeyProtectBits(), 1))
	}
}

// WithMKey is the PortInfo that a step SetMKey sends, with the present values of all else.
func (p *Plan) WithMKey(i topo.PortIdx) smp.PortInfo {
	w := p.Wanted(i)
	if p.minimal[i] {
		w = p.needed(i, &w)
	}
	keepEnabled(&w, &p.in.Topo.Ports[i].Info)
	p.setMKey(i, &w)
	return w
}

func (p *Plan) mkeyData(st Step) (device.Data, bool) { return p.WithMKey(st.Port), true }

func (p *Plan) describeMKey(st Step) (text string) {
	w := p.in.Topo.Ports[st.Port].Info
	p.setMKey(st.Port, &w)
	for _, c := range changes(&p.in.Topo.Ports[st.Port].Info, &w) {
		text += " " + c
	}
	return text
}

// StopMKeys leaves the racks that have not had their turn as they are.
func (p *Plan) StopMKeys() {
	if p.at == MKeyRacks {
		p.racks = p.racks[:p.part+1]
	}
}

// ReadsMKey reports whether the part that is in hand ends a rack.
func (p *Plan) ReadsMKey() bool { return p.at == MKeyRacks && p.part%2 == 1 }
