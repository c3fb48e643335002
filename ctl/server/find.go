package server

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/topo"
)

// findPort is the end port that a text identifies, and the LID to reach it:
//
//	17, 0x11                    a LID: a decimal number, or 0x and up to 4 digits
//	0x0002c90300000001          a GUID of a port or of a node: 0x and more digits
//	fe80::2:c903:0:1            a GID
//	anything else               a NodeDescription, without or with the blanks at its
//	                            ends, or its first word
//
// A node stands for its port 0, or for a CA or router the first port that has a LID.
func (s *subnet) findPort(name string) (topo.PortIdx, mad.LID, error) {
	t := s.view.Topo
	if isLID(name) {
		lid := lidIn(name)
		p := s.view.LIDs.PortOf(lid)
		if p == topo.None {
			return p, 0, fmt.Errorf("%w: no port has LID %d", ctl.ErrNotFound, lid)
		}
		return p, lid, nil
	}
	guid, isGUID, err := s.guidOf(name)
	if err != nil {
		return topo.None, 0, err
	}
	if isGUID {
		if p := t.FindPort(guid); p != topo.None {
			return s.reached(p)
		}
	}
	n, err := s.findNode(name)
	if node, _, ok := cutPort(name); err != nil && ok { // NODE:PORT
		if _, unknown := s.findNode(node); unknown != nil {
			return topo.None, 0, unknown
		}
		ports, err := s.findPorts(name)
		if err != nil {
			return topo.None, 0, err
		}
		return s.reached(t.EndPort(ports[0]))
	}
	if err != nil {
		return topo.None, 0, err
	}
	for num := range int(t.Nodes[n].NumPorts) + 1 {
		if p := t.Port(n, uint8(num)); s.view.LIDs.Base[p] != 0 {
			return s.reached(p)
		}
	}
	return topo.None, 0, fmt.Errorf("%w: no port of %q has a LID", ctl.ErrNotFound, name)
}

// lidIn is the LID in a text that has its form.
func lidIn(name string) mad.LID {
	lid, _ := strconv.ParseUint(name, 0, 16)
	return mad.LID(lid)
}

// reached is a port and its base LID.
func (s *subnet) reached(p topo.PortIdx) (topo.PortIdx, mad.LID, error) {
	lid := s.view.LIDs.Base[p]
	if lid == 0 {
		return p, 0, fmt.Errorf("%w: port %v has no LID", ctl.ErrNotFound, s.view.Topo.Ports[p].GUID)
	}
	return p, lid, nil
}

// guidOf is the GUID in a text that has the form of a GUID or GID.
func (s *subnet) guidOf(name string) (guid mad.GUID, ok bool, err error) {
	if strings.HasPrefix(name, "0x") || strings.HasPrefix(name, "0X") {
		guid, err = mad.ParseGUID(name)
		return guid, err == nil, nil
	}
	addr, err := netip.ParseAddr(name)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return 0, false, nil
	}
	gid := mad.GID(addr.As16())
	if p := gid.Prefix(); p != s.view.Subnet.Prefix && p != mad.DefaultPrefix {
		return 0, false, fmt.Errorf("%w: GID %v does not have the prefix of this subnet, %v", ctl.ErrNotFound, gid,
			s.view.Subnet.Prefix)
	}
	return gid.GUID(), true, nil
}

// findNode is the node with a GUID or NodeDescription or, if there is none, the node whose
// NodeDescription differs only in blanks at the ends, or else begins with that word: a host
// name precedes the adapter name.
func (s *subnet) findNode(name string) (topo.NodeIdx, error) {
	t := s.view.Topo
	if guid, ok, _ := s.guidOf(name); ok {
		if n := t.FindNode(guid); n != topo.None {
			return n, nil
		}
		return topo.None, fmt.Errorf("%w: no node or port has GUID %v%s", ctl.ErrNotFound, guid, s.withoutVPorts())
	}
	var exact, trimmed, begin []topo.NodeIdx
	bare := strings.TrimSpace(name)
	for n := range t.Nodes {
		switch desc := t.Nodes[n].Desc.String(); {
		case desc == name:
			exact = append(exact, topo.NodeIdx(n))
		case strings.TrimSpace(desc) == bare:
			trimmed = append(trimmed, topo.NodeIdx(n))
		case bare != "" && ctl.HostName(desc) == bare:
			begin = append(begin, topo.NodeIdx(n))
		}
	}
	called := exact
	for _, others := range [][]topo.NodeIdx{trimmed, begin} {
		if called == nil {
			called = others
		}
	}
	switch len(called) {
	case 0:
		return topo.None, fmt.Errorf("%w: no node is named %q%s ibsmctl nodes lists the nodes", ctl.ErrNotFound, name,
			cmp.Or(diag.Meant(name, s.nodeNames()), ";"))
	case 1:
		return called[0], nil
	}
	return topo.None, fmt.Errorf("%w: %d nodes are named %q: use a GUID; the first is %v", ctl.ErrBadRequest,
		len(called), name, t.Nodes[called[0]].GUID)
}

// nodeNames are the short names of nodes: the NodeDescription, for a host its first word.
func (s *subnet) nodeNames() []string {
	names := make([]string, len(s.view.Topo.Nodes))
	for n := range names {
		node := &s.view.Topo.Nodes[n]
		names[n] = strings.TrimSpace(node.Desc.String())
		if node.Type == mad.CA {
			names[n] = ctl.HostName(names[n])
		}
	}
	return names
}
