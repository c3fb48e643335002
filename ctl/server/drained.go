package server

import (
	"ibsm/ctl"
	"ibsm/topo"
	"ibsm/view"
)

// drained are the rows of what routes avoid because the operator wants so.
func (s *subnet) drained(yield func(any) bool) {
	t := s.view.Topo
	for _, d := range s.view.Drained {
		if d.By != view.ByOperator {
			continue
		}
		row := ctl.Drained{GUID: d.Switch.String(), Port: d.Port, State: d.State.String(),
			Hosts: append([]string{}, d.Hosts...), More: d.More}
		if n := t.FindNode(d.Switch); n != topo.None {
			row.Desc = t.Nodes[n].Desc.String()
		}
		if !yield(&row) {
			return
		}
	}
}
