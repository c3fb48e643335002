package sweep

import (
	"fmt"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/view"
)

// A Set of PortInfo that changes parameters and state is refused whole where a port does
// not like one parameter, or is not in the state that the other has to follow. Such a port
// is set like this: parameters alone, then the state beside what it holds. So it loses no
// more than what it refuses.
type apart uint8

const (
	together   apart = iota
	parameters       // a SetPort is under way, after a refused Arm
	bare             // told what it needs
)

// port takes the answer to a PortInfo Set, or to the Get that follows a refused
// one. A refusal alone means little: the port may have been in the state that was
// asked for, because an earlier attempt had done it or data had come.
func (p *program) port(st plan.Step, o *txn.Outcome) {
	looked := o.Tag&lookAgain != 0
	if o.Status != mad.StatusOK {
		if looked {
			p.fail(st, view.Refused, fmt.Sprintf("PortInfo refused: %v", o.Status))
			return
		}
		p.again = append(p.again, st)
		return
	}
	port := &p.c.Topo.Ports[st.Port]
	info := (*smp.PortInfo)(&o.Data)
	info.SetClientReregister(false)
	if info.PortState() == smp.PortDown && port.Num != 0 {
		port.Info.SetPortState(smp.PortDown)
		port.Info.SetPortPhysicalState(info.PortPhysicalState())
		if st.Op != plan.TakeDown && st.Op != plan.ShutOff {
			p.fail(st, view.WentDown, "the link went down")
		}
		return
	}
	sent := p.c.Plan.Wanted(st.Port)
	judged := p.c.Plan.Judged(st.Port, &sent, *info)
	port.Info = *info
	if (st.Op == plan.SetPort || st.Op == plan.Arm) && !looked {
		delete(p.reregister, port.GUID)
	}
	refusal := ""
	if got := info.PortState(); st.Op == plan.Arm && got < smp.PortArmed || st.Op == plan.Activate && got < smp.PortActive {
		refusal = fmt.Sprintf("stays %v", got)
	} else if looked && (st.Op == plan.SetPort || st.Op == plan.Arm) && info.LID() != sent.LID() && sent.LID() != 0 {
		refusal = fmt.Sprintf("refuses its PortInfo, LID %v", sent.LID())
	}
	if refusal != "" && looked && st.Op != plan.Activate && p.apart[st.Port] == together {
		p.setApart(st.Port, info.PortState() == smp.PortInit && st.Op == plan.Arm)
		return
	}
	key := plan.Key{Node: p.c.Topo.Nodes[port.Node].GUID, Port: port.Num}
	if bits, found := p.state.refusals.Learn(key, &sent, &judged); found {
		p.notHeld = append(p.notHeld, NotHeld{key.Node, key.Port, plan.Fields(&bits)})
	}
	if st.Op == plan.SetPort && !looked {
		p.state.refusals.Acknowledged(key)
	}
	switch {
	case p.apart[st.Port] == parameters:
		p.apart[st.Port] = bare
		p.c.Plan.Simplify(st.Port)
		p.more = append(p.more, plan.Step{Op: plan.Arm, Port: st.Port})
	case refusal == "":
	case port.Num == 0 && st.Op != plan.SetPort && info.LID() == sent.LID(): // it forwards in any state
		p.notHeld = append(p.notHeld, NotHeld{key.Node, 0, []string{"PortState"}})
	default:
		p.fail(st, view.Refused, refusal)
	}
}

// setApart has a port that refused a Set be set once more, arms says to what end.
func (p *program) setApart(i topo.PortIdx, arms bool) {
	if p.apart[i] = bare; arms {
		p.apart[i] = parameters
	} else {
		p.c.Plan.Simplify(i)
	}
	p.more = append(p.more, plan.Step{Op: plan.SetPort, Port: i})
}

// extended takes what came of enabling FDR10 or not. What a port does not take is told of
// once, and is no fault of the subnet.
func (p *program) extended(st plan.Step, o *txn.Outcome) {
	port := &p.c.Topo.Ports[st.Port]
	was := port.FDR10
	if o.Status == mad.StatusOK {
		p.c.Topo.SetExtended(st.Port, (*smp.ExtendedPortInfo)(&o.Data))
	}
	key := plan.Key{Node: p.c.Topo.Nodes[port.Node].GUID, Port: port.Num}
	if r := p.state.refusals[key]; port.FDR10 == was && r != nil && r.FDR10 == 1 {
		p.notHeld = append(p.notHeld, NotHeld{key.Node, key.Port, []string{"FDR10"}})
	}
}
