package server

import (
	"ibsm/ctl"
	"ibsm/routing/rails"
	"ibsm/topo"
)

// Rails are those of the subnet, and the ports on wrong leaves.
func (s *subnet) Rails() *ctl.Rails {
	t, found := s.view.Topo, s.railsOf()
	out := &ctl.Rails{Seen: found.Seen, Units: len(found.Units), Rails: []ctl.Rail{}, Wrong: []ctl.WrongPort{}}
	unit := unitsOf(found)
	for i := range found.Rails {
		r := &found.Rails[i]
		row := ctl.Rail{Rail: i + 1, Places: r.Places, Ports: len(r.Ports), Leaves: []ctl.RailLeaf{}}
		for _, l := range r.Leaves {
			n := &t.Nodes[t.Switches[l]]
			row.Leaves = append(row.Leaves, ctl.RailLeaf{Node: n.GUID.String(), Desc: n.Desc.String(), Unit: unit[l]})
		}
		out.Rails = append(out.Rails, row)
	}
	for i := range found.Wrong {
		out.Wrong = append(out.Wrong, s.wrongPort(found, &found.Wrong[i]))
	}
	return out
}

func (s *subnet) wrongPort(found *rails.Rails, w *rails.Wrong) ctl.WrongPort {
	t := s.view.Topo
	row := ctl.WrongPort{Rail: found.Of[w.Port] + 1, Port: s.end(w.Port), On: s.end(t.Ports[w.Port].Peer), Both: w.Both}
	row.Want = s.end(t.Port(t.Switches[w.Want], w.Free))
	if w.Exchange != topo.None {
		other := s.end(w.Exchange)
		row.Exchange, row.Want = &other, s.end(t.Ports[w.Exchange].Peer)
	}
	return row
}
