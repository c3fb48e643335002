package server

import (
	"context"
	"fmt"

	"ibsm/congestioncontrol"
	"ibsm/ctl"
	"ibsm/mad/cc"
	"ibsm/topo"
)

// CongestionStateOf is the state of a device in the control protocol.
func CongestionStateOf(s congestioncontrol.Standing) ctl.CongestionState { return congestionStates[s] }

var congestionStates = map[congestioncontrol.Standing]ctl.CongestionState{
	congestioncontrol.Complete: ctl.CongestionSet, congestioncontrol.Writing: ctl.CongestionWriting,
	congestioncontrol.Refusing: ctl.CongestionRefuses,
	congestioncontrol.NoAnswer: ctl.CongestionNoAnswer, congestioncontrol.NoClass: ctl.CongestionNoClass,
}

// CongestionControl is what devices hold of the settings of congestion control.
func (d *Server) CongestionControl(ctx context.Context) (*ctl.CongestionControl, error) {
	s, err := d.CongestionState(ctx)
	if err != nil {
		return nil, err
	}
	v := d.shell.Load().View()
	out := &ctl.CongestionControl{Enabled: s.Enabled, Requests: s.Sent,
		Devices: make([]ctl.CongestionDevice, 0, len(s.Devices))}
	for i := range s.Devices {
		dev := &s.Devices[i]
		row := ctl.CongestionDevice{Node: dev.Port.Node.String(), Port: dev.Port.Num, Type: dev.Port.Type.String(),
			LID:   uint16(dev.Port.To.LID),
			State: CongestionStateOf(dev.Standing), Attributes: []ctl.CongestionAttribute{}}
		if v != nil {
			if n := v.Topo.FindNode(dev.Port.Node); n != topo.None {
				row.Desc = v.Topo.Nodes[n].Desc.String()
			}
		}
		for _, a := range dev.Has {
			row.Attributes = append(row.Attributes, ctl.CongestionAttribute{Name: cc.AttrName(a.Attr), Block: a.Mod,
				Refused: a.Refused})
		}
		out.Devices = append(out.Devices, row)
	}
	return out, nil
}

// CongestionState is what devices hold of the settings of congestion control.
func (d *Server) CongestionState(ctx context.Context) (*congestioncontrol.State, error) {
	shell := d.shell.Load()
	if shell == nil || shell.CongestionControl() == nil {
		return nil, fmt.Errorf("%w: the manager is waiting for its port", ctl.ErrNotNow)
	}
	ctx, cancel := context.WithTimeout(ctx, orderPatience)
	defer cancel()
	s, ok := shell.CongestionControl().State(ctx)
	if !ok {
		return nil, fmt.Errorf("%w: the writer of congestion control does not answer", ctl.ErrNotNow)
	}
	return s, nil
}
