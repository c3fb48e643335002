package server

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/plural"
	"ibsm/topo"
)

// findPorts are the ports that a text identifies, with or without LIDs: as for findPort,
// or NODE:PORT. A node stands for all its known physical ports.
func (s *subnet) findPorts(name string) ([]topo.PortIdx, error) {
	t := s.view.Topo
	if isLID(name) {
		p, _, err := s.findPort(name)
		return []topo.PortIdx{p}, err
	}
	if guid, ok, err := s.guidOf(name); err != nil {
		return nil, err
	} else if ok {
		if p := t.FindPort(guid); p != topo.None && t.Ports[p].Num != 0 {
			return []topo.PortIdx{p}, nil
		}
	}
	n, err := s.findNode(name)
	if err == nil {
		return s.portsOf(n), nil
	}
	node, num, ok := cutPort(name)
	if !ok {
		return nil, err
	}
	if n, err = s.findNode(node); err != nil {
		return nil, err
	}
	if num > t.Nodes[n].NumPorts {
		return nil, fmt.Errorf("%w: %q has %s", ctl.ErrNotFound, node, plural.Of(int(t.Nodes[n].NumPorts), "port"))
	}
	return []topo.PortIdx{t.Port(n, num)}, nil
}

// isLID reports whether a name has the form of a LID.
func isLID(name string) bool {
	_, err := strconv.ParseUint(name, 0, 16)
	return err == nil && (len(name) <= len("0xffff") || name[0] != '0')
}

// cutPort splits NODE:PORT.
func cutPort(name string) (node string, num uint8, ok bool) {
	i := strings.LastIndexByte(name, ':')
	if _, err := netip.ParseAddr(name); i < 0 || err == nil {
		return "", 0, false
	}
	n, err := strconv.ParseUint(name[i+1:], 10, 8)
	return name[:i], uint8(n), err == nil
}

// portsOf are the known physical ports of a node.
func (s *subnet) portsOf(n topo.NodeIdx) (ports []topo.PortIdx) {
	for num := uint8(1); num <= s.view.Topo.Nodes[n].NumPorts && num != 0; num++ {
		if p := s.view.Topo.Port(n, num); s.view.Topo.Ports[p].Seen {
			ports = append(ports, p)
		}
	}
	return ports
}

// speaker is the end port of a named node or port: port 0 of a switch, else the first of
// the ports that has a LID.
func (s *subnet) speaker(ports []topo.EndIdx) (topo.EndIdx, bool) {
	for _, p := range ports {
		if e := s.view.Topo.EndPort(p); s.lidOf(e) != 0 {
			return e, true
		}
	}
	if len(ports) == 0 {
		return topo.None, false
	}
	return s.view.Topo.EndPort(ports[0]), true
}

// nodeName is the name of a node in messages: that of the node-name-map, or else the NodeDescription.
func (s *subnet) nodeName(n topo.NodeIdx) string {
	node := &s.view.Topo.Nodes[n]
	return s.names.Of(node.GUID, node.Desc.String())
}

// called is the name of a port or vPort in messages.
func (s *subnet) called(p topo.EndIdx) string {
	if v := s.view.Topo.VPortOf(p); v != topo.None {
		of := s.view.Topo.VPorts.At(v)
		return fmt.Sprintf("%s vPort %d", s.called(of.Port), of.Index)
	}
	port := &s.view.Topo.Ports[p]
	desc := s.nodeName(port.Node)
	if port.Num == 0 {
		return strconv.Quote(desc)
	}
	return fmt.Sprintf("%q port %d", desc, port.Num)
}

// active reports whether data may pass a port or vPort. Port 0 of a switch has no link.
func (s *subnet) active(p topo.EndIdx) bool {
	if v := s.view.Topo.VPortOf(p); v != topo.None {
		of := s.view.Topo.VPorts.At(v)
		return of.State == smp.PortActive && !of.Elsewhere && s.active(of.Port)
	}
	port := &s.view.Topo.Ports[p]
	if port.Num == 0 && s.view.Topo.Nodes[port.Node].Type == mad.Switch {
		return true
	}
	return port.Info.PortState() >= smp.PortActive
}
