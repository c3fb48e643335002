package server

import (
	"ibsm/ctl"
	"ibsm/ctl/history"
	"ibsm/mad"
	"ibsm/topo"
)

// absentRows are the nodes or links that have gone since the manager started.
func (s *subnet) absentRows(l ctl.List, f *ctl.Filter, yield func(any) bool) {
	if s.past == nil || f.State != "" {
		return
	}
	nodes, links := s.past.Lost()
	gone := map[mad.GUID]*history.GoneNode{}
	for i := range nodes {
		n := &nodes[i]
		gone[n.GUID] = n
		row := ctl.Node{GUID: n.GUID.String(), Type: n.Type.String(), Desc: n.Name, Absent: &n.Since}
		for _, p := range n.Ports {
			if row.LID == 0 {
				row.LID = p.LID
			}
		}
		if l == ctl.Nodes && (f.Type == "" || f.Type == row.Type) && !yield(&row) {
			return
		}
	}
	for i := range links {
		here, far := links[i].Here, links[i].Far
		from, ok := s.port(here)
		if !ok || l != ctl.Links {
			continue
		}
		row := ctl.Link{From: s.end(from), To: ctl.End{Node: far.Node.String(), Desc: links[i].Name, Port: far.Port},
			State: ctl.Absent}
		if to, known := s.port(far); known {
			if far.Node < here.Node || far.Node == here.Node && far.Port < here.Port {
				continue // the other end reports it
			}
			row.To = s.end(to)
		} else if n := gone[far.Node]; n != nil {
			row.To.Desc, row.To.Type = n.Name, n.Type.String()
		}
		if !yield(&row) {
			return
		}
	}
}

// port is a port that is there.
func (s *subnet) port(e history.End) (topo.PortIdx, bool) {
	p := s.view.Topo.FindNodePort(e.Node, e.Port)
	return p, p != topo.None
}
