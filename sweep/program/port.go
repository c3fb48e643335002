package program

import (
	"fmt"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// split is how the Set of a PortInfo is split. A port rejects a complete Set of PortInfo if it does not accept one
// parameter, or is not in the state from which the requested state can be reached. Then the Set is split: first the
// parameters alone, then the state with the parameters that the port holds. So the port loses only what it refuses.
// Before that, a SetPort is sent once more, as an agent may refuse for a moment only.
type split uint8

const (
	together   split = iota
	repeated         // a SetPort was refused, and is sent once more
	parameters       // a SetPort is under way, after a refused Arm
	minimal          // sent what it needs
)

// port handles the response to a Set of PortInfo, or to the Get that follows a refused one. A
// refusal alone means little: the port may already be in the requested state, because of an
// earlier attempt or because data arrived.
func (p *Program) port(r request, o *txn.Outcome) {
	st, looked := r.Step, r.asked == wasRefused
	if o.Status != mad.StatusOK {
		if r.asked != isSet {
			p.fail(st, finding.Refused, fmt.Sprintf("PortInfo refused: %v", o.Status))
			return
		}
		p.again = append(p.again, request{st, wasRefused})
		return
	}
	port := &p.Topo.Ports[st.Port]
	info := (*smp.PortInfo)(&o.Data)
	info.SetClientReregister(false)
	if info.PortState() == smp.PortDown && port.Num != 0 {
		port.Info.SetPortState(smp.PortDown)
		port.Info.SetPortPhysicalState(info.PortPhysicalState())
		if st.Op != plan.TakeDown && st.Op != plan.ShutOff && st.Op != plan.TurnOn {
			p.fail(st, finding.WentDown, "")
		}
		return
	}
	sent := p.Plan.Wanted(st.Port)
	judged := p.Plan.Judged(st.Port, &sent, *info)
	port.Info = *info
	p.hear(st.Port, true)
	if (st.Op == plan.SetPort || st.Op == plan.Arm) && !looked {
		delete(p.Reregister, port.GUID)
	}
	refusal := ""
	if got := info.PortState(); st.Op == plan.Arm && got < smp.PortArmed || st.Op == plan.Activate &&
		got < smp.PortActive {
		refusal = fmt.Sprintf("stays %v", got)
	} else if looked && (st.Op == plan.SetPort || st.Op == plan.Arm) && info.LID() != sent.LID() && sent.LID() != 0 {
		refusal = fmt.Sprintf("refuses its PortInfo, LID %v", sent.LID())
	} else if p.failure == isNotKept && st.Op == plan.SetPort &&
		device.PortInfo.Misses((*device.Data)(&sent), (*device.Data)(&judged)) {
		refusal = fmt.Sprintf("does not keep its LID %v, the subnet prefix, or the LID of the manager", sent.LID())
	}
	at, unsupported := p.Plan.Place(o.Attr, st.Port), p.Devices.Unsupported
	switch s := p.split[st.Port]; {
	case looked && st.Op == plan.SetPort && s == together &&
		unsupported.Lacks(&device.PortInfo, at, (*device.Data)(&sent), (*device.Data)(&judged)):
		p.split[st.Port] = repeated
		p.more = append(p.more, st)
		return
	case refusal != "" && looked && st.Op != plan.Activate && s < parameters:
		p.setSplit(st.Port, info.PortState() == smp.PortInit && st.Op == plan.Arm)
		return
	}
	if bits, found := unsupported.Learn(&device.PortInfo, at, (*device.Data)(&sent), (*device.Data)(&judged)); found {
		p.ignores(at.Node, at.Port, p.fieldNames((*smp.PortInfo)(&bits)))
	}
	if st.Op == plan.SetPort && !looked {
		unsupported.Tried(at)
	}
	switch {
	case p.split[st.Port] == parameters:
		p.split[st.Port] = minimal
		p.Plan.Minimize(st.Port)
		p.more = append(p.more, plan.Step{Op: plan.Arm, Port: st.Port})
	case refusal == "":
		p.takes(st)
	case port.Num == 0 && st.Op != plan.SetPort && info.LID() == sent.LID(): // it forwards in any state
		p.ignores(at.Node, 0, []string{"PortState"})
	default:
		p.fail(st, finding.Refused, refusal)
	}
}

// hear notes whether a port has said what it holds since it was sent the last Set.
func (p *Program) hear(i topo.PortIdx, does bool) {
	if p.heard != nil {
		p.heard[i] = does
	}
}

// setSplit sets a port that refused a Set again, in parts; arms says whether to arm it.
func (p *Program) setSplit(i topo.PortIdx, arms bool) {
	if p.split[i] = minimal; arms {
		p.split[i] = parameters
	} else {
		p.Plan.Minimize(i)
	}
	p.more = append(p.more, plan.Step{Op: plan.SetPort, Port: i})
}

// extended handles the response to a change of FDR10. A port that does not accept it is logged
// once; it is no fault of the subnet. One that is busy may accept it later.
func (p *Program) extended(r request, o *txn.Outcome) {
	if o.Status&mad.StatusBusy != 0 {
		p.failRefused(r, o)
		return
	}
	port := &p.Topo.Ports[r.Port]
	was := port.FDR10
	at := p.Plan.Place(o.Attr, r.Port)
	if o.Status == mad.StatusOK {
		p.Topo.SetExtended(r.Port, (*smp.ExtendedPortInfo)(&o.Data))
	}
	if port.FDR10 != was {
		return
	}
	unsupported := p.Devices.Unsupported
	if unsupported.Tried(at); unsupported.Tries(at) == 1 {
		p.ignores(at.Node, at.Port, []string{"FDR10"})
	}
}

// fieldNames names the fields in which bits are set. Ports that do not hold the same fields
// share the names.
func (p *Program) fieldNames(bits *smp.PortInfo) []string {
	names, known := p.names[*bits]
	if !known {
		names = plan.Fields(bits)
		p.names[*bits] = names
	}
	return names
}
