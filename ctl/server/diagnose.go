package server

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"ibsm/ctl"
	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/perf"
	"ibsm/perf/sick"
	"ibsm/topo"
)

// doctor diagnoses the ports of one subnet.
type doctor struct {
	*subnet
	findings map[end][]*finding.Finding
	cabling  map[end][]int               // findings
	excluded map[end]string              // what there is to say of excluded cables
	sick     map[perf.Key][]sick.Finding // by both ends
	now      time.Time
	dropped  []manager.DroppedPackets // of the last hour, the latest first
}

// end identifies a port of a node.
type end struct {
	node mad.GUID
	port uint8
}

func (s *subnet) doctor() *doctor {
	d := &doctor{s, map[end][]*finding.Finding{}, cablingByPort(s.view.Cabling), excludedPorts(s.view.Cabling),
		map[perf.Key][]sick.Finding{}, time.Now(), nil}
	if s.droppedPackets != nil {
		d.dropped = recentDrops(s.droppedPackets(), d.now)
	}
	if s.sickLinks != nil {
		for _, f := range s.sickLinks() {
			d.sick[f.Port], d.sick[f.Peer] = append(d.sick[f.Port], f), append(d.sick[f.Peer], f)
		}
	}
	for i := range s.view.Findings {
		f := &s.view.Findings[i]
		at := end{f.Node, f.Port}
		d.findings[at] = append(d.findings[at], f)
	}
	return d
}

// Diagnose explains why ports are not Active, or why one does not reach another.
func (s *subnet) Diagnose(port, other string) (iter.Seq[*ctl.Diagnosis], error) {
	d := s.doctor()
	if port == "" {
		return d.all, nil
	}
	if v := d.vPortNamed(port); v != topo.None && other == "" {
		return slices.Values(d.vPortDiagnoses(v)), nil
	}
	ports, gone, err := d.find(port)
	if err != nil || gone != nil {
		return one(gone), err
	}
	if other == "" {
		return func(yield func(*ctl.Diagnosis) bool) {
			for _, p := range ports {
				if !yield(d.diagnosis(p)) {
					return
				}
			}
		}, nil
	}
	others, gone, err := d.find(other)
	if err != nil || gone != nil {
		return one(gone), err
	}
	from, ok := s.speaker(ports)
	to, okay := s.speaker(others)
	if !ok || !okay {
		return nil, fmt.Errorf("%w: no port of the node is known", ctl.ErrNotFound)
	}
	return one(d.pair(from, to)), nil
}

// find is findPorts, or the vPort that a text identifies; for an absent node or port it returns its diagnosis.
func (d *doctor) find(name string) (ports []topo.EndIdx, gone *ctl.Diagnosis, err error) {
	if v := d.vPortNamed(name); v != topo.None {
		return []topo.EndIdx{v}, nil, nil
	}
	ports, err = d.findPorts(name)
	if errors.Is(err, ctl.ErrNotFound) {
		if gone = d.absent(name); gone != nil {
			return nil, gone, nil
		}
	}
	return ports, nil, err
}

func one(d *ctl.Diagnosis) iter.Seq[*ctl.Diagnosis] {
	return func(yield func(*ctl.Diagnosis) bool) { yield(d) }
}

// all are the nodes that have gone since the manager started, the ports that are not Active, those
// of nodes that do not answer, those in a credit loop, those at which
// a sick link counts errors, and those where P_Keys or vPorts are wrong.
func (d *doctor) all(yield func(*ctl.Diagnosis) bool) {
	t := d.view.Topo
	if d.past != nil {
		gone, _ := d.past.Lost()
		for i := range gone {
			if !yield(d.gone(&gone[i])) {
				return
			}
		}
	}
	for i := range t.Ports {
		port := &t.Ports[i]
		if port.Num == 0 || !port.Seen || port.Info.PortState() >= smp.PortActive && t.Nodes[port.Node].Missed == 0 &&
			!d.stopsPackets(topo.PortIdx(i)) && !d.keysWrong(topo.PortIdx(i)) && !d.receivesBadly(topo.PortIdx(i)) &&
			!d.vPortsWrong(topo.PortIdx(i)) {
			continue
		}
		if !yield(d.diagnosis(topo.PortIdx(i))) {
			return
		}
	}
}

// keysWrong reports whether an Active port has dropped packets because of their keys, drops those of the end port
// behind it, or cannot reach the subnet administrator.
func (d *doctor) keysWrong(p topo.PortIdx) bool {
	t := d.view.Topo
	if !t.IsSwitchPort(p) {
		return d.drops(p) || d.notToSA(p) != nil
	}
	peer := t.Ports[p].Peer
	return d.drops(p) || peer != topo.None && t.EndPort(peer) == peer && d.stoppedAt(peer) != nil
}

// receivesBadly reports whether the errors of a sick link are counted at a port. The other end of the link is well.
func (d *doctor) receivesBadly(p topo.PortIdx) bool {
	key := perf.KeyOf(d.view.Topo, p)
	return slices.ContainsFunc(d.sick[key], func(f sick.Finding) bool { return f.Port == key })
}

// stopsPackets reports whether a port is in a credit loop, or lacks a lane that packets need.
func (d *doctor) stopsPackets(p topo.PortIdx) bool {
	return slices.ContainsFunc(d.at(p), func(f *finding.Finding) bool {
		return f.Kind == finding.CreditLoopPort || f.Kind == finding.StoppedLane || f.Kind == finding.StoppedSA
	})
}

// vPortsWrong reports whether there are findings about the vPorts behind a port.
func (d *doctor) vPortsWrong(p topo.PortIdx) bool {
	return slices.ContainsFunc(d.at(p), func(f *finding.Finding) bool { return f.Kind.OfVPorts() })
}

// statesOf are a port's PortState and PortPhysicalState.
func statesOf(t *topo.Topo, p topo.PortIdx) (state, physical string) {
	if t.IsBasePort0(p) {
		return ctl.BasePort0, ""
	}
	info := &t.Ports[p].Info
	return info.PortState().String(), info.PortPhysicalState().String()
}

// diagnosis is the diagnosis of a port.
func (d *doctor) diagnosis(p topo.PortIdx) *ctl.Diagnosis {
	port := &d.view.Topo.Ports[p]
	state, physical := statesOf(d.view.Topo, p)
	return &ctl.Diagnosis{
		Port: d.end(p), State: state, Physical: physical,
		Works: d.active(p) && d.view.Topo.Nodes[port.Node].Missed == 0,
		Reasons: append(append([]ctl.Reason{}, d.reasons(p)...),
			d.cablingReasons(end{d.view.Topo.Nodes[port.Node].GUID, port.Num})...),
	}
}

// at are the findings at a port.
func (d *doctor) at(p topo.PortIdx) []*finding.Finding {
	port := &d.view.Topo.Ports[p]
	return d.findings[end{d.view.Topo.Nodes[port.Node].GUID, port.Num}]
}

// withoutRoutes are the findings of the subnet as a whole that say why no routes are written.
func (d *doctor) withoutRoutes() (why []*finding.Finding) {
	for _, f := range d.findings[end{}] {
		if f.Kind == finding.NoRoutes || f.Kind == finding.ARHeld {
			why = append(why, f)
		}
	}
	return why
}

// ofNode are the findings at a port's node as a whole.
func (d *doctor) ofNode(p topo.PortIdx) []*finding.Finding {
	port := &d.view.Topo.Ports[p]
	if port.Num == 0 {
		return nil
	}
	return d.findings[end{d.view.Topo.Nodes[port.Node].GUID, 0}]
}

// because makes a reason.
func because(kind, text, do string) ctl.Reason { return ctl.Reason{Kind: kind, Text: text, Do: do} }
