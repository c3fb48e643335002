package plan

import (
	"ibsm/mad/smp"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// FDR10 is the setting of FDR10 for ports that support it, in OpenSM's numbers. It applies
// from the next training on.
type FDR10 uint8

// Settings of FDR10.
const (
	LeaveFDR10   FDR10 = 0
	EnableFDR10  FDR10 = 1
	DisableFDR10 FDR10 = 2
)

// fdr10 lists the ports whose FDR10 setting differs from the wanted one.
func (p *Plan) fdr10() (steps []Step) {
	if p.in.Values.FDR10 == LeaveFDR10 {
		return nil
	}
	t := p.in.Topo
	for i := range t.Ports {
		i := topo.PortIdx(i)
		if t.Ports[i].FDR10 < topo.FDR10Off || !t.Answers(i) || p.givenUp(device.ExtendedPortInfo.ID, i) {
			continue
		}
		is, w := t.Extended[i], p.extended(i)
		d, _ := device.ExtendedPortInfo.Differs((*device.Data)(&is), (*device.Data)(&w))
		if p.in.Unsupported.Wants(&device.ExtendedPortInfo, p.Place(device.ExtendedPortInfo.ID, i), (*device.Data)(&w),
			&d, true) {
			steps = append(steps, Step{Op: SetFDR10, Port: i})
		}
	}
	return steps
}

// TakesFDR10 reports whether a response shows that a port has taken the setting.
func (p *Plan) TakesFDR10(e *smp.ExtendedPortInfo) bool {
	return (e.LinkSpeedEnabled()&smp.SpeedFDR10 != 0) == (p.in.Values.FDR10 == EnableFDR10)
}

// extended is the ExtendedPortInfo that a step sends.
func (p *Plan) extended(i topo.PortIdx) smp.ExtendedPortInfo {
	e := p.in.Topo.Extended[i]
	e.SetStateChangeEnable(smp.StateChangeSpeed)
	e.SetLinkSpeedEnabled(0)
	if p.in.Values.FDR10 == EnableFDR10 {
		e.SetLinkSpeedEnabled(smp.SpeedFDR10)
	}
	return e
}
