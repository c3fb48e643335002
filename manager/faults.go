package manager

import (
	"fmt"
	"strings"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep"
	"ibsm/sweep/device"
	"ibsm/sweep/discover"
	"ibsm/topo"
	"ibsm/view"
)

// faults are what a heavy sweep found to be wrong or could not bring about, as the view
// shows it, and how many more there are.
func faults(out *sweep.Outcome) (all []view.Fault, more int) {
	add := func(f view.Fault) {
		if len(all) == view.MaxFaults {
			more++
			return
		}
		all = append(all, f)
	}
	if out.RoutesHeld() {
		add(view.Fault{Kind: view.NoRoutes, Text: "adaptive routing is on at some switch, and ar_mode is hold"})
	}
	for _, n := range out.Private() {
		add(view.Fault{Kind: view.PrivateTables, Node: out.Topo.Nodes[n].GUID, Text: "forwards by private tables of another manager: its forwarding table and its lanes are not written, so new LIDs may have no route through it"})
	}
	for _, p := range out.LanesLeft() {
		port := &out.Topo.Ports[p]
		add(view.Fault{Kind: view.Refused, Node: out.Topo.Nodes[port.Node].GUID, Port: port.Num, Text: "SLtoVLMappingTable and VLArbitrationTable are not written, and are not as wanted: the switch forwards by private tables of another manager"})
	}
	for _, off := range out.NotAdaptive() {
		add(view.Fault{Kind: view.NotAdaptive, Node: out.Topo.Nodes[off.Node].GUID, Text: "adaptive routing is off: " + off.Why.String()})
	}
	for i, c := range out.CreditLoop {
		add(creditLoopFault(out.SweepPlan, c, out.CreditLoop[(i+1)%len(out.CreditLoop)]))
	}
	for i := range out.Stopped {
		port := &out.Topo.Ports[out.Stopped[i].Port]
		add(view.Fault{Kind: view.StoppedLane, Node: out.Topo.Nodes[port.Node].GUID, Port: port.Num, Text: stopped(out.SweepPlan, &out.Stopped[i], nil)})
	}
	for i := range out.StoppedSA.Ports {
		f := &out.StoppedSA.Ports[i]
		port := &out.Topo.Ports[f.Port]
		add(view.Fault{Kind: view.StoppedLane, Node: out.Topo.Nodes[port.Node].GUID, Port: port.Num, Text: stoppedSA(out.SweepPlan, f, nil)})
	}
	if out.Err != nil {
		add(view.Fault{Kind: view.NoRoutes, Text: out.Err.Error()})
	}
	for _, guid := range out.Exhausted {
		if p := out.Topo.FindPort(guid); p != topo.None {
			port := &out.Topo.Ports[p]
			add(view.Fault{Kind: view.NoLID, Node: out.Topo.Nodes[port.Node].GUID, Port: port.Num, Text: "no LID is left"})
		}
	}
	if out.Cabling != nil {
		for i := range out.Cabling.Held {
			h := &out.Cabling.Held[i]
			for _, e := range h.Ends {
				if out.Topo.FindNode(e.GUID) != topo.None {
					add(view.Fault{Kind: view.HeldBack, Node: e.GUID, Port: e.Port, Text: h.String()})
				}
			}
		}
	}
	for _, p := range out.Plan.Unenforced() {
		port := &out.Topo.Ports[p]
		add(view.Fault{Kind: view.Unenforced, Node: out.Topo.Nodes[port.Node].GUID, Port: port.Num, Text: "does not enforce partitions: only the P_Key table of the port behind it protects"})
	}
	for _, f := range out.Failures {
		add(view.Fault{Kind: f.Kind, Node: f.Node, Port: f.Port, Text: f.Reason})
	}
	for _, f := range out.Found.Findings {
		if len(all) == view.MaxFaults {
			more++ // without making its text
			continue
		}
		if fault, ok := faultOf(out.Topo, f); ok {
			add(fault)
		}
	}
	for _, at := range out.GivenUp {
		f := view.Fault{Kind: view.GivenUp, Node: at.Node, Port: at.Port}
		if at.Port == device.AllPorts {
			f.Port = 0
		}
		f.Text = fmt.Sprintf("%s is not sent any more: in %d sweeps in a row it was refused, not answered, or not taken", smp.AttrName(at.Attr), device.MaxTries)
		add(f)
	}
	for _, f := range out.NotHeld {
		add(view.Fault{Kind: view.NotKept, Node: f.Node, Port: f.Port, Text: "does not keep " + strings.Join(f.Fields, ", ")})
	}
	return all, more
}

// faultKinds are the kinds of findings that keep a port from being used.
var faultKinds = map[discover.FindingKind]view.FaultKind{
	discover.Unresponsive: view.Unresponsive, discover.BadNodeInfo: view.LeftOut, discover.DuplicateNodeGUID: view.Duplicate,
	discover.DuplicatePortGUID: view.Duplicate, discover.Loopback: view.Looped, discover.TooFar: view.LeftOut, discover.TooMany: view.LeftOut,
	discover.Refused: view.Refused, discover.RefusedPKeys: view.Refused, discover.UnreadPKeys: view.NoAnswer,
	discover.Incomplete: view.LeftOut, discover.OneSided: view.OneSided,
}

// faultOf is the fault of the port that leads to what a finding is about; ok is false
// where none does.
func faultOf(t *topo.Topo, f discover.Finding) (fault view.Fault, ok bool) {
	fault = view.Fault{Kind: faultKinds[f.Kind], Node: f.GUID, Port: f.Port, Text: f.String()}
	switch f.Kind {
	case discover.DuplicateNodeGUID, discover.DuplicatePortGUID, discover.OneSided:
		fault.Node, fault.Port, ok = lastHop(t, f.Other)
	case discover.Incomplete:
		fault.Node, fault.Port, ok = lastHop(t, f.Route)
	case discover.OwnPorts: // they work
	default:
		ok = true
	}
	return fault, ok
}

// lastHop is the port by which a directed route leaves the last node before its end.
func lastHop(t *topo.Topo, route mad.Route) (node mad.GUID, port uint8, ok bool) {
	out := route.Ports()
	if len(out) == 0 {
		return 0, 0, false
	}
	at := t.Along(out[:len(out)-1])
	if at == topo.None {
		return 0, 0, false
	}
	return t.Nodes[t.Ports[at].Node].GUID, out[len(out)-1], true
}
