package routing

import (
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// maxClasses is how many classes of ports Tenants have at most.
const maxClasses = 1024

// Tenants say which hosts exchange packets: those that share a P_Key, at least one of them as a full member (IBA 10.9.3). Ports with the same P_Keys
// are one class. Nil is a subnet in which all do. They are immutable.
type Tenants struct {
	class []int32      // by PortIdx
	keys  [][]mad.PKey // by class: of the partitions that several ports are in, ascending
	talk  []bool       // by class * classes + class
}

// NewTenants are those of the hosts of a subnet, by the P_Key tables that ports have or are about to get; a nil table is one that is not known, and
// hides nothing. A partition of which at least half of the hosts are limited members, and at most one in a hundred is a full one, is for management:
// it carries nothing. Hosts that may send to no other have no tenant yet: all of those count as one. Nil is returned where all
// hosts exchange packets, and where there are more than 1024 classes of ports.
func NewTenants(t *topo.Topo, table func(p topo.PortIdx) *topo.PKeyTable) *Tenants {
	n := &Tenants{class: make([]int32, len(t.Ports))}
	byTable, byKeys := map[*topo.PKeyTable]int32{}, map[string]int32{}
	var tables []*topo.PKeyTable // by class: one of them
	var members []int            // by class
	for _, p := range t.EndPorts {
		if !t.IsHost(p) || t.SwitchOf(p) == topo.None {
			continue
		}
		held := table(p)
		class, is := byTable[held]
		if !is {
			keys := keysOf(held)
			text := make([]byte, 0, 2*len(keys)+1)
			if held != nil {
				text = append(text, '+')
			}
			for _, k := range keys {
				text = append(text, byte(k>>8), byte(k))
			}
			if class, is = byKeys[string(text)]; !is {
				class = int32(len(tables))
				byKeys[string(text)] = class
				tables, members, n.keys = append(tables, held), append(members, 0), append(n.keys, keys)
			}
			byTable[held] = class
		}
		n.class[p] = class
		members[class]++
	}
	if len(tables) < 2 || len(tables) > maxClasses {
		return nil
	}
	n.dropManagement(members)
	n.findTalk(tables, members)
	if !slices.Contains(n.talk, false) {
		return nil
	}
	return n
}

// keysOf are the keys of a table that are valid, each once, ascending.
func keysOf(table *topo.PKeyTable) (keys []mad.PKey) {
	if table == nil {
		return nil
	}
	for _, k := range table.Keys() {
		if k.Valid() {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// dropManagement takes the keys of partitions for management away from classes.
func (n *Tenants) dropManagement(members []int) {
	all, limited, full := 0, map[mad.PKey]int{}, map[mad.PKey]int{}
	for class, keys := range n.keys {
		all += members[class]
		for _, k := range keys {
			if k&mad.FullMember != 0 {
				full[k.Base()] += members[class]
			} else {
				limited[k.Base()] += members[class]
			}
		}
	}
	for class := range n.keys {
		n.keys[class] = slices.DeleteFunc(n.keys[class], func(k mad.PKey) bool {
			return 2*limited[k.Base()] >= all && full[k.Base()] <= 1+all/100
		})
	}
}

// findTalk finds the classes that exchange packets, partition by partition. Of the tables only those count that are not known.
func (n *Tenants) findTalk(tables []*topo.PKeyTable, members []int) {
	count := len(tables)
	n.talk = make([]bool, count*count)
	talk := func(a, b int) { n.talk[a*count+b], n.talk[b*count+a] = true, true }
	full, all := map[mad.PKey][]int{}, map[mad.PKey][]int{} // classes by partition
	for class, keys := range n.keys {
		for _, k := range keys {
			if all[k.Base()] = append(all[k.Base()], class); k&mad.FullMember != 0 {
				full[k.Base()] = append(full[k.Base()], class)
			}
		}
		for other := range count {
			if tables[class] == nil {
				talk(class, other)
			}
		}
	}
	for key, classes := range full {
		for _, a := range classes {
			for _, b := range all[key] {
				talk(a, b)
			}
		}
	}
	var idle []int
	for a := range count {
		others := 0
		for b := range count {
			if n.talk[a*count+b] {
				others += members[b]
			}
		}
		if others < 2 {
			idle = append(idle, a)
		}
	}
	for _, a := range idle {
		for _, b := range idle {
			talk(a, b)
		}
	}
}

// Classes is how many classes of ports there are.
func (n *Tenants) Classes() int {
	if n == nil {
		return 1
	}
	return len(n.keys)
}

// Class is that of the port of a host, 0 for others.
func (n *Tenants) Class(p topo.PortIdx) int {
	if n == nil {
		return 0
	}
	return int(n.class[p])
}

// Talk reports whether ports of two classes exchange packets.
func (n *Tenants) Talk(a, b int) bool { return n == nil || n.talk[a*len(n.keys)+b] }

// Keys are the P_Keys of a class, ascending.
func (n *Tenants) Keys(class int) []mad.PKey { return n.keys[class] }

// Sources are, by class and then by switch, the ports of hosts there that send to a port of the class, with itself if it has a full membership.
func (n *Tenants) Sources(t *topo.Topo) [][]uint32 {
	here := make([][]uint32, n.Classes()) // by class, then by switch: ports
	for class := range here {
		here[class] = make([]uint32, len(t.Switches))
	}
	for _, p := range t.EndPorts {
		if s := t.SwitchOf(p); s != topo.None && t.IsHost(p) {
			here[n.Class(p)][s]++
		}
	}
	if n == nil {
		return here
	}
	sources := make([][]uint32, len(here))
	for class := range sources {
		sources[class] = make([]uint32, len(t.Switches))
		for other, hosts := range here {
			if n.Talk(other, class) {
				for s, count := range hosts {
					sources[class][s] += count
				}
			}
		}
	}
	return sources
}

// Members are the full members of each partition that has two among some hosts or more, by P_Key and in their order.
func (n *Tenants) Members(hosts []topo.PortIdx) (partitions [][]topo.PortIdx) {
	if n == nil {
		return nil
	}
	members := map[mad.PKey][]topo.PortIdx{}
	var keys []mad.PKey
	for _, p := range hosts {
		for _, k := range n.keys[n.class[p]] {
			if k&mad.FullMember == 0 {
				continue
			}
			if members[k] == nil {
				keys = append(keys, k)
			}
			members[k] = append(members[k], p)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if len(members[k]) > 1 {
			partitions = append(partitions, members[k])
		}
	}
	return partitions
}
