package plan

import (
	"ibsm/mad/smp"
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
	want := topo.FDR10On
	switch p.in.Values.FDR10 {
	case LeaveFDR10:
		return nil
	case DisableFDR10:
		want = topo.FDR10Off
	}
	t := p.in.Topo
	for i := range t.Ports {
		i := topo.PortIdx(i)
		port := &t.Ports[i]
		if port.FDR10 < topo.FDR10Off || !t.Answers(i) {
			continue
		}
		key := Key{t.Nodes[port.Node].GUID, port.Num}
		if p.in.Refusals.wantsFDR10(key, want, port.FDR10) {
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

// wantsFDR10 reports whether a port is to be told: it has not been told the same as often as
// it is believed not to hear.
func (r Refusals) wantsFDR10(k Key, want, is topo.FDR10) bool {
	known := r[k]
	if want == is {
		if known != nil {
			known.FDR10 = 0
		}
		return false
	}
	e := r.entry(k)
	if e.FDR10Sent != want {
		e.FDR10, e.FDR10Sent = 0, want
	}
	e.FDR10 = min(e.FDR10+1, maxAsked+1)
	return e.FDR10 <= maxAsked
}
