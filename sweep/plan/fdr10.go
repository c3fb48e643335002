package plan

import (
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// FDR10 is what ports that have FDR10 are to do with it, in OpenSM's numbers. It counts from
// the next training on.
type FDR10 uint8

// What they are to do.
const (
	LeaveFDR10   FDR10 = 0
	EnableFDR10  FDR10 = 1
	DisableFDR10 FDR10 = 2
)

// fdr10 lists the ports that have FDR10 enabled and are not to, or the reverse.
func (p *Plan) fdr10() (steps []Step) {
	if p.in.Values.FDR10 == LeaveFDR10 {
		return nil
	}
	t := p.in.Topo
	for i := range t.Ports {
		i := topo.PortIdx(i)
		if t.Ports[i].FDR10 < topo.FDR10Off || !t.Answers(i) {
			continue
		}
		is, w := t.Extended[i], p.extended(i)
		d, _ := device.ExtendedPortInfo.Differs((*device.Data)(&is), (*device.Data)(&w))
		if p.in.Unsupported.Wants(&device.ExtendedPortInfo, p.Place(device.ExtendedPortInfo.ID, i), (*device.Data)(&w), &d, true) {
			steps = append(steps, Step{Op: SetFDR10, Port: i})
		}
	}
	return steps
}

// extended is the ExtendedPortInfo of a step.
func (p *Plan) extended(i topo.PortIdx) smp.ExtendedPortInfo {
	e := p.in.Topo.Extended[i]
	e.SetStateChangeEnable(smp.StateChangeSpeed)
	e.SetLinkSpeedEnabled(0)
	if p.in.Values.FDR10 == EnableFDR10 {
		e.SetLinkSpeedEnabled(smp.SpeedFDR10)
	}
	return e
}
