package sa

import (
	"ibsm/mad"
	"ibsm/topo"
)

// span is a range of ports that a request may be about, the end excluded.
type span struct{ from, to topo.PortIdx }

var noPorts = span{}

func (s span) len() int { return int(s.to - s.from) }

func (s span) has(p topo.PortIdx) bool { return s.from <= p && p < s.to }

func (a *Responder) allPorts() span { return span{0, topo.PortIdx(len(a.view.Topo.Ports))} }

func onePort(p topo.PortIdx) span {
	if p == topo.None {
		return noPorts
	}
	return span{p, p + 1}
}

// nodePorts are the ports of the node with the GUID.
func (a *Responder) nodePorts(g mad.GUID) span {
	n := a.view.Topo.FindNode(g)
	if n == topo.None {
		return noPorts
	}
	return portsOf(&a.view.Topo.Nodes[n])
}

// devicePorts are the ports that a LID stands for in records of ports and links: the one
// that owns it, and with it all others of a switch; all ports if the request has no LID.
func (a *Responder) devicePorts(byLID bool, lid mad.LID) span {
	if !byLID {
		return a.allPorts()
	}
	t, p := a.view.Topo, a.view.LIDs.PortOf(lid)
	if p == topo.None {
		return noPorts
	}
	if node := &t.Nodes[t.Ports[p].Node]; node.Type == mad.Switch {
		return portsOf(node)
	}
	return onePort(p)
}

func portsOf(n *topo.Node) span { return span{n.First, n.First + topo.PortIdx(n.NumPorts) + 1} }

// deviceLID is the base LID of the port's device, 0 when it has none.
func (a *Responder) deviceLID(p topo.PortIdx) mad.LID {
	return a.view.LIDs.Base[a.view.Topo.EndPort(p)]
}

// isVisible reports whether the device of a port has a LID and the requester may know of
// it.
func (a *Responder) isVisible(r *request, p topo.PortIdx) bool {
	return a.deviceLID(p) != 0 && a.maySee(r, p)
}

// switches are those from from to to, the end excluded, that a request may be about: all,
// or with byLID the one that has the LID.
func (a *Responder) switches(byLID bool, lid mad.LID) (from, to topo.SwitchIdx) {
	t := a.view.Topo
	if !byLID {
		return 0, topo.SwitchIdx(len(t.Switches))
	}
	p := a.view.LIDs.PortOf(lid)
	if p == topo.None || t.Nodes[t.Ports[p].Node].Switch == topo.None {
		return 0, 0
	}
	s := t.Nodes[t.Ports[p].Node].Switch
	return s, s + 1
}
