package portgroups

import (
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// List is what a file of GUIDs lists, in its order: GUIDs, and groups by name. Nil is that of no file. It is immutable.
type List struct{ Items []Item }

// Item is a GUID or a group.
type Item struct {
	GUID  mad.GUID
	Group *Group // nil for a GUID
}

// GUIDs are those that are listed as such. They are not nil.
func (l *List) GUIDs() []mad.GUID {
	guids := []mad.GUID{}
	for _, i := range l.Items {
		if i.Group == nil {
			guids = append(guids, i.GUID)
		}
	}
	return guids
}

// Groups are those that are listed.
func (l *List) Groups() (groups []*Group) {
	if l == nil {
		return nil
	}
	for _, i := range l.Items {
		if i.Group != nil {
			groups = append(groups, i.Group)
		}
	}
	return groups
}

// Equal reports whether two lists have the same members in every subnet, in the same order.
func (l *List) Equal(o *List) bool {
	if l == nil || o == nil {
		return l == o
	}
	return slices.EqualFunc(l.Items, o.Items, func(a, b Item) bool {
		if a.Group == nil || b.Group == nil {
			return a == b
		}
		return a.Group.sum == b.Group.sum
	})
}

// Switches are the GUIDs that a list has with the node GUIDs of the switches in its groups, each of which has the order
// of the subnet. What the list has as a GUID, a group does not add.
func (l *List) Switches(v *Resolver) []mad.GUID {
	return l.with(v, func(p topo.PortIdx) (mad.GUID, bool) {
		node := &v.t.Nodes[v.t.Ports[p].Node]
		return node.GUID, node.Type == mad.Switch
	})
}

// EndPorts are the GUIDs that a list has with the port GUIDs of the end ports in its groups, in the same way.
func (l *List) EndPorts(v *Resolver) []mad.GUID {
	return l.with(v, func(p topo.PortIdx) (mad.GUID, bool) { return v.t.Ports[p].GUID, true })
}

func (l *List) with(v *Resolver, guidOf func(topo.PortIdx) (mad.GUID, bool)) []mad.GUID {
	all, listed := []mad.GUID{}, map[mad.GUID]bool{}
	for _, guid := range l.GUIDs() {
		listed[guid] = true
	}
	for _, i := range l.Items {
		if i.Group == nil {
			all = append(all, i.GUID)
			continue
		}
		for _, p := range v.Members(i.Group) {
			if guid, is := guidOf(p); is && !listed[guid] {
				listed[guid] = true
				all = append(all, guid)
			}
		}
	}
	return all
}
