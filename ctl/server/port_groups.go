package server

import (
	"fmt"
	"iter"

	"ibsm/ctl"
	"ibsm/routing/portgroups"
)

// maxMembers is how many members of a group a list of several groups shows.
const maxMembers = 64

// portGroups are the rows of port groups: the filter's group, or all of files.
func (s *subnet) portGroups(f *ctl.Filter) (iter.Seq[any], error) {
	v := s.view
	var groups []*portgroups.Group
	if v.PortGroups != nil {
		groups = v.PortGroups.Groups
	}
	most := maxMembers
	if f.Group != "" {
		g := v.PortGroups.Find(f.Group)
		if g == nil {
			return nil, fmt.Errorf("%w: no port group has the name %q%s", ctl.ErrNotFound, f.Group,
				v.PortGroups.Meant(f.Group))
		}
		groups, most = []*portgroups.Group{g}, len(v.Topo.EndPorts)
	}
	return func(yield func(any) bool) {
		members := portgroups.NewResolver(v.Topo, v.Partitions)
		for _, g := range groups {
			if !yield(s.portGroup(members, g, most)) {
				return
			}
		}
	}, nil
}

// portGroup is a row with at most so many members.
func (s *subnet) portGroup(v *portgroups.Resolver, g *portgroups.Group, most int) *ctl.PortGroup {
	t := s.view.Topo
	members := v.Members(g)
	row := &ctl.PortGroup{Name: g.Name, Use: g.Use, Lists: g.Lists(), Ports: len(members),
		Members: []ctl.PortGroupMember{}, More: max(0, len(members)-most), Unmatched: []ctl.UnmatchedRule{}}
	if !portgroups.IsPredefined(g) {
		row.Position = g.Position.String()
	}
	for _, p := range members[:min(len(members), most)] {
		port := &t.Ports[p]
		node := &t.Nodes[port.Node]
		row.Members = append(row.Members, ctl.PortGroupMember{GUID: port.GUID.String(), Node: node.GUID.String(),
			Desc: node.Desc.String(), Port: port.Num, Type: node.Type.String()})
	}
	for _, u := range v.Unmatched(g) {
		row.Unmatched = append(row.Unmatched, ctl.UnmatchedRule{Position: u.Position.String(), Rule: u.Text})
	}
	return row
}
