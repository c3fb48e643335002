package net

import (
	"fmt"

	"ibsm/mad"
)

// Validate checks what Parse and Generate promise and a Net made by hand may
// break: names, descriptions, port counts and GUIDs, and that the two ends of
// every cable name each other and agree on its width and speed. The error is the
// first thing wrong.
func (n *Net) Validate() error {
	ids := make(map[string]bool, len(n.Nodes))
	guids := make(map[mad.GUID]bool, len(n.Nodes))
	for i := range n.Nodes {
		node := &n.Nodes[i]
		switch {
		case node.ID == "" || len(node.ID) > MaxID || ids[node.ID]:
			return fmt.Errorf("node %d: ID %q is empty, too long or already used", i, node.ID)
		case len(node.Desc) > MaxDesc:
			return fmt.Errorf("node %q: description of %d bytes, at most %d are allowed", node.ID, len(node.Desc),
				MaxDesc)
		case node.Type < mad.CA || node.Type > mad.Router:
			return fmt.Errorf("node %q: %s", node.ID, node.Type)
		case node.NumPorts() < 1 || node.NumPorts() > 254:
			return fmt.Errorf("node %q: %d ports, expected 1 to 254", node.ID, node.NumPorts())
		case node.GUID == 0 || guids[node.GUID]:
			return fmt.Errorf("node %q: GUID %s is 0 or already used", node.ID, node.GUID)
		}
		ids[node.ID], guids[node.GUID] = true, true
		for num := range node.Ports {
			if err := n.validatePort(End{int32(i), uint8(num)}); err != nil {
				return fmt.Errorf("node %q port %d: %w", node.ID, num, err)
			}
		}
	}
	return nil
}

func (n *Net) validatePort(at End) error {
	node := &n.Nodes[at.Node]
	p := &node.Ports[at.Port]
	isEnd := (at.Port == 0) == (node.Type == mad.Switch)
	switch {
	case isEnd && p.GUID == 0:
		return fmt.Errorf("no port GUID")
	case p.Peer.Node < 0:
		return nil
	case at.Port == 0:
		return fmt.Errorf("port 0 has a cable")
	case int(p.Peer.Node) >= len(n.Nodes):
		return fmt.Errorf("peer is node %d of %d", p.Peer.Node, len(n.Nodes))
	case p.Peer.Port == 0 || int(p.Peer.Port) > n.Nodes[p.Peer.Node].NumPorts():
		return fmt.Errorf("peer %q has no port %d", n.Nodes[p.Peer.Node].ID, p.Peer.Port)
	}
	switch peer := &n.Nodes[p.Peer.Node].Ports[p.Peer.Port]; {
	case peer.Peer != at:
		return fmt.Errorf("peer %q port %d does not lead back", n.Nodes[p.Peer.Node].ID, p.Peer.Port)
	case peer.Width != p.Width || peer.Speed != p.Speed:
		return fmt.Errorf("the link is %s%s at this end, but %s%s at the other end", p.Width, p.Speed, peer.Width, peer.Speed)
	}
	return nil
}
