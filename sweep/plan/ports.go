package plan

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// ports are the steps of all ports. Before those, in stages of their own, come announcing, by which hosts learn of a
// new manager; relaxing, which stops the checking of P_Keys; and first: our own port, which needs its LID before
// anything is sent by LID, and switches whose M_Key changes, because requests to their other ports need the new one
// from then on.
func (p *Plan) ports() (announcing, relaxing, first, steps []Step) {
	first = p.portStep(first, p.in.Topo.Self, false)
	for i := range p.in.Topo.Ports {
		switch i := topo.PortIdx(i); {
		case p.isNewLink(i):
		case p.relaxes(i) && !p.arms(i):
			relaxing = p.portStep(relaxing, i, true)
		case p.changesMKey(i):
			first = p.portStep(first, i, true)
		case p.announces(i):
			announcing = p.portStep(announcing, i, true)
		default:
			steps = p.portStep(steps, i, true)
		}
	}
	for _, i := range p.in.Dead {
		steps = append(steps, Step{Op: TakeDown, Port: i})
	}
	for _, i := range p.in.Disable {
		steps = append(steps, Step{Op: ShutOff, Port: i})
	}
	for _, i := range p.in.Enable {
		steps = append(steps, Step{Op: TurnOn, Port: i})
	}
	return announcing, relaxing, first, steps
}

// announces reports whether a port of a host in use differs from what is wanted in the LID of the manager alone, which
// depends on no table. Until then the host asks a manager that may not run any more.
func (p *Plan) announces(i topo.PortIdx) bool {
	t, own := p.in.Topo, &p.in.Topo.Ports[p.in.Topo.Self].Info
	info, lid := &t.Ports[i].Info, p.in.LIDs.Base[t.Self]
	if t.IsSwitchPort(i) || t.Ports[i].Num == 0 || info.PortState() != smp.PortActive || info.MasterSMLID() == lid ||
		own.PortState() != smp.PortActive || own.LID() != lid {
		return false
	}
	w := p.Wanted(i)
	w.SetMasterSMLID(info.MasterSMLID())
	_, more := device.PortInfo.Differs((*device.Data)(info), (*device.Data)(&w))
	return !more
}

// changesMKey reports whether a port is the port 0 of a switch whose M_Key differs from the
// wanted one. One without M_Key accepts every key.
func (p *Plan) changesMKey(i topo.PortIdx) bool {
	t := p.in.Topo
	port := &t.Ports[i]
	held := port.Info.MKey()
	return port.Num == 0 && t.Nodes[port.Node].Type == mad.Switch && held != 0 && !p.in.Values.mkeysLast() &&
		held != p.in.Values.MKeys.Wanted(port.GUID) && !p.in.Values.KeepMKey
}

// portStep appends the step of a port for all but ACTIVE. Without arm it sets only LID and
// parameters.
func (p *Plan) portStep(steps []Step, i topo.PortIdx, arm bool) []Step {
	t := p.in.Topo
	port := &t.Ports[i]
	if !port.Seen || !t.Answers(i) || p.withoutLID(i) || arm && i == t.Self && !p.arms(i) {
		return steps
	}
	if arm && p.arms(i) {
		return append(steps, Step{Op: Arm, Port: i})
	}
	if t.IsSwitchPort(i) && port.Peer == topo.None {
		return steps
	}
	if t.IsSwitchPort(i) && port.Info.PortState() == smp.PortInit {
		return steps // it cannot be armed now, and gets its parameters with Arm
	}
	if p.changes(i) {
		steps = append(steps, Step{Op: SetPort, Port: i})
	}
	return steps
}

// changes reports whether the parameters of a port have to be sent: some differ, or its clients are asked to register
// again.
func (p *Plan) changes(i topo.PortIdx) bool {
	port := &p.in.Topo.Ports[i]
	w := p.Wanted(i)
	d, differs := device.PortInfo.Differs((*device.Data)(&port.Info), (*device.Data)(&w))
	differs = differs || len(p.in.Unsupported) > 0
	if port.Num == 0 {
		(*smp.PortInfo)(&d).SetNeighborMTU(0) // no reason to write to a subnet in use, and ibsim does not keep it
	}
	up := port.Num == 0 || port.Info.PortState() >= smp.PortArmed // clients register when their port comes up
	place := p.Place(device.PortInfo.ID, i)
	return up && p.Reregisters(i) ||
		differs && p.in.Unsupported.Wants(&device.PortInfo, place, (*device.Data)(&w), &d, up)
}

// arms reports whether the plan takes a port from INIT to ARMED: there are routes, and the
// nodes at both ends of its link answer. An enhanced port 0 goes through the same states
// without a link.
func (p *Plan) arms(i topo.PortIdx) bool {
	port := &p.in.Topo.Ports[i]
	return p.in.Tables != nil && port.Info.PortState() == smp.PortInit && p.joined(i)
}

// joined reports whether the port may carry data: its peer answers, or it is the enhanced port
// 0 of a switch.
func (p *Plan) joined(i topo.PortIdx) bool {
	t := p.in.Topo
	port := &t.Ports[i]
	if port.Num == 0 {
		return t.Nodes[port.Node].SwitchInfo.EnhancedPort0()
	}
	return port.Peer != topo.None && t.Answers(port.Peer) && t.Ports[port.Peer].Info.PortState() >= smp.PortInit &&
		!p.withoutLID(i) && !p.withoutLID(port.Peer)
}

// newLinks are the ports that go ACTIVE, of links between switches, where some switch is in use. Routes must not lead
// over such a link sooner. Links that may carry packets at once, by a table of before, are not among them: they go
// ACTIVE after all tables.
func (p *Plan) newLinks() (ports []topo.PortIdx) {
	t := p.in.Topo
	for s := range t.Switches {
		p.inUse = append(p.inUse, InUse(t, topo.SwitchIdx(s)))
	}
	if p.in.Tables == nil || !slices.Contains(p.inUse, true) {
		return nil
	}
	for i := range t.Ports {
		if i := topo.PortIdx(i); p.activates(i) && t.BetweenSwitches(i) && p.staysEmpty(i) &&
			p.staysEmpty(t.Ports[i].Peer) {
			ports = append(ports, i)
		}
	}
	return ports
}

// staysEmpty reports whether no packets leave a port of a switch before the switch gets its new table: it is not in
// use, or it is known that its table leads nowhere by that port. One that the plan takes down or disables does not come
// up before.
func (p *Plan) staysEmpty(i topo.PortIdx) bool {
	port := &p.in.Topo.Ports[i]
	if slices.Contains(p.in.Dead, i) || slices.Contains(p.in.Disable, i) {
		return false
	}
	s := p.in.Topo.Nodes[port.Node].Switch
	if !p.inUse[s] {
		return true
	}
	known := p.in.Known[s]
	return known != nil && known.Complete() && !slices.Contains(known.Row(), port.Num)
}

func (p *Plan) isNewLink(i topo.PortIdx) bool {
	_, is := slices.BinarySearch(p.links, i)
	return is
}

// InUse reports whether packets may pass a switch: some link of it is ACTIVE.
func InUse(t *topo.Topo, s topo.SwitchIdx) bool {
	n := t.Switches[s]
	for num := 1; num <= int(t.Nodes[n].NumPorts); num++ {
		if port := &t.Ports[t.Port(n, uint8(num))]; port.Peer != topo.None && port.Info.PortState() == smp.PortActive {
			return true
		}
	}
	return false
}

func (p *Plan) armLinks() (steps []Step) {
	for _, i := range p.links {
		steps = p.portStep(steps, i, true)
	}
	return steps
}

func (p *Plan) activateLinks() (steps []Step) {
	for _, i := range p.links {
		steps = append(steps, Step{Op: Activate, Port: i})
	}
	return steps
}

// withoutLID reports whether no LID was left for an end port. It is not touched.
func (p *Plan) withoutLID(i topo.PortIdx) bool {
	return !p.in.Topo.IsSwitchPort(i) && p.in.LIDs.Base[i] == 0
}

// Reregisters reports whether the plan asks the clients of a port to register again: they
// registered with another manager, or their registrations were dropped because the port was
// down, or differ from what was acknowledged to them, or have a GID that the port is about to lose.
func (p *Plan) Reregisters(i topo.PortIdx) bool {
	v, info := &p.in.Values, &p.in.Topo.Ports[i].Info
	if v.NoReregister || p.in.LIDs.Base[i] == 0 || !info.CapabilityMask().Has(smp.IsClientReregistrationSupported) {
		return false
	}
	ours := info.MasterSMLID() == p.in.LIDs.Base[p.in.Topo.Self] || v.Inherited != 0 &&
		info.MasterSMLID() == v.Inherited
	return v.ReregisterAll || info.PortState() == smp.PortInit && !p.in.Topo.IsBasePort0(i) || !ours ||
		info.GidPrefix() != v.Prefix || p.in.Reregister[p.in.Topo.Ports[i].GUID]
}

// activations lists the ports that are ARMED or will be after the previous stage.
func (p *Plan) activations() (steps []Step) {
	for i := range p.in.Topo.Ports {
		if i := topo.PortIdx(i); p.activates(i) && !p.isNewLink(i) {
			steps = append(steps, Step{Op: Activate, Port: i})
		}
	}
	return steps
}

// activates reports whether the plan takes a port to ACTIVE.
func (p *Plan) activates(i topo.PortIdx) bool {
	port := &p.in.Topo.Ports[i]
	state := port.Info.PortState()
	return (state == smp.PortInit || state == smp.PortArmed) && p.in.Tables != nil && port.Seen &&
		p.in.Topo.Answers(i) && p.joined(i)
}

// portData is the PortInfo of a step.
func (p *Plan) portData(st Step) (device.Data, bool) {
	port := &p.in.Topo.Ports[st.Port]
	data := p.Wanted(st.Port)
	if p.minimal[st.Port] {
		data = p.needed(st.Port, &data)
	}
	keepEnabled(&data, &port.Info)
	switch st.Op {
	case SetPort:
		data.SetClientReregister(p.Reregisters(st.Port))
		// else its enforcement stays off
		return data, !p.waves.trouble[st.Port] || p.minimal[st.Port] || p.changes(st.Port)
	case Arm:
		data.SetClientReregister(p.Reregisters(st.Port))
		data.SetPortState(smp.PortArmed)
	case Activate:
		peer := port.Peer
		ready := port.Info.PortState() == smp.PortArmed &&
			(peer == topo.None || p.in.Topo.Ports[peer].Info.PortState() >= smp.PortArmed)
		data.SetPortState(smp.PortActive)
		return data, ready
	case TakeDown:
		data.SetPortState(smp.PortDown)
	case ShutOff:
		data.SetPortState(smp.PortDown)
		data.SetPortPhysicalState(smp.PhysDisabled)
	case TurnOn:
		data.SetPortPhysicalState(smp.PhysPolling)
	}
	return data, true
}

// Minimize has the plan send a port minimal Sets from now on: it refuses the other fields.
func (p *Plan) Minimize(i topo.PortIdx) {
	if p.minimal == nil {
		p.minimal = map[topo.PortIdx]bool{}
	}
	p.minimal[i] = true
}
