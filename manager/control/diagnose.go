package control

import (
	"errors"
	"fmt"
	"iter"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sweep/topo"
	"ibsm/sweep/view"
)

// doctor tells what is wrong with the ports of one subnet.
type doctor struct {
	*subnet
	faults map[end][]*view.Fault
}

// end names a port of a node.
type end struct {
	node mad.GUID
	port uint8
}

func (s *subnet) doctor() *doctor {
	d := &doctor{s, map[end][]*view.Fault{}}
	for i := range s.view.Faults {
		f := &s.view.Faults[i]
		at := end{f.Node, f.Port}
		d.faults[at] = append(d.faults[at], f)
	}
	return d
}

// Diagnose tells why ports are not Active, or why one does not reach another.
func (s *subnet) Diagnose(port, other string) (iter.Seq[*ctl.Diagnosis], error) {
	d := s.doctor()
	if port == "" {
		return d.all, nil
	}
	ports, err := s.findPorts(port)
	if gone := d.absent(port); gone != nil && errors.Is(err, ctl.ErrNotFound) {
		return one(gone), nil
	}
	if err != nil {
		return nil, err
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
	others, err := s.findPorts(other)
	if gone := d.absent(other); gone != nil && errors.Is(err, ctl.ErrNotFound) {
		return one(gone), nil
	}
	if err != nil {
		return nil, err
	}
	from, ok := s.speaker(ports)
	to, okay := s.speaker(others)
	if !ok || !okay {
		return nil, fmt.Errorf("%w: the node has no port that is known", ctl.ErrNotFound)
	}
	return one(d.pair(from, to)), nil
}

func one(d *ctl.Diagnosis) iter.Seq[*ctl.Diagnosis] {
	return func(yield func(*ctl.Diagnosis) bool) { yield(d) }
}

// all are the ports that are not Active, and those of nodes that do not answer.
func (d *doctor) all(yield func(*ctl.Diagnosis) bool) {
	t := d.view.Topo
	for i := range t.Ports {
		port := &t.Ports[i]
		if port.Num == 0 || !port.Seen || port.Info.PortState() >= smp.PortActive && t.Nodes[port.Node].Missed == 0 {
			continue
		}
		if !yield(d.diagnosis(topo.PortIdx(i))) {
			return
		}
	}
}

// diagnosis is what there is to say about a port.
func (d *doctor) diagnosis(p topo.PortIdx) *ctl.Diagnosis {
	port := &d.view.Topo.Ports[p]
	return &ctl.Diagnosis{
		Port: d.end(p), State: port.Info.PortState().String(), Physical: port.Info.PortPhysicalState().String(),
		Works: d.active(p) && d.view.Topo.Nodes[port.Node].Missed == 0, Reasons: d.reasons(p),
	}
}

// at are the faults of a port.
func (d *doctor) at(p topo.PortIdx) []*view.Fault {
	port := &d.view.Topo.Ports[p]
	return d.faults[end{d.view.Topo.Nodes[port.Node].GUID, port.Num}]
}

// ofNode are the faults of a port's node as a whole, where that is not the port itself.
func (d *doctor) ofNode(p topo.PortIdx) []*view.Fault {
	port := &d.view.Topo.Ports[p]
	if port.Num == 0 {
		return nil
	}
	return d.faults[end{d.view.Topo.Nodes[port.Node].GUID, 0}]
}

// because makes a reason.
func because(kind, text, do string) ctl.Reason { return ctl.Reason{Kind: kind, Text: text, Do: do} }
