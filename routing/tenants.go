package routing

import (
	"math/bits"
	"slices"
	"sync"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// maxClasses is how many classes of ports Tenants have at most.
const maxClasses = 1024

// Tenants say which hosts exchange packets: those that share a P_Key, at least one of them as a full member (IBA
// 10.9.3). Ports with the same P_Keys are one class. Nil is a subnet in which all do. They are immutable.
type Tenants struct {
	class []int32      // by PortIdx
	keys  [][]mad.PKey // by class: of the partitions that several ports are in, ascending
	talk  []classSet   // by class: those that it exchanges packets with

	once    sync.Once
	sources [][]uint32 // Sources, once they were asked for
}

// NewTenants are those of the hosts of a subnet, by the P_Key tables that ports have or are about to get; a nil table
// is one that is not known, and hides nothing. A partition of which at least half of the hosts are limited members, and
// only ports of subnet managers full ones, is for management: it carries nothing. Hosts that may send to no other have
// no tenant yet: all of those count as one. Nil is returned where all hosts exchange packets, and where there are more
// than 1024 classes of ports.
func NewTenants(t *topo.Topo, table func(p topo.PortIdx) *topo.PKeyTable) *Tenants {
	n := &Tenants{class: make([]int32, len(t.Ports))}
	byTable, byKeys := map[*topo.PKeyTable]int32{}, map[string]int32{}
	var tables []*topo.PKeyTable // by class: one of them
	var members, managers []int  // by class: ports, and those of them with a subnet manager
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
				tables, members, managers, n.keys = append(tables, held), append(members, 0), append(managers, 0),
					append(n.keys, keys)
			}
			byTable[held] = class
		}
		n.class[p] = class
		members[class]++
		if p == t.Self || t.Ports[p].Info.CapabilityMask().Has(smp.IsSM) {
			managers[class]++
		}
	}
	if len(tables) < 2 || len(tables) > maxClasses {
		return nil
	}
	n.dropManagement(members, managers)
	n.findTalk(tables, members)
	if !slices.ContainsFunc(n.talk, func(with classSet) bool { return with.len() < len(tables) }) {
		return nil
	}
	return n
}

// Equal reports whether the same hosts exchange packets, by the ports of equal subnets. Either may be nil.
func (n *Tenants) Equal(o *Tenants) bool {
	if n == nil || o == nil || n == o {
		return n == o
	}
	return slices.Equal(n.class, o.class) && slices.EqualFunc(n.keys, o.keys, slices.Equal) &&
		slices.EqualFunc(n.talk, o.talk, func(a, b classSet) bool { return slices.Equal(a, b) })
}

// classSet is a set of classes, a bit for each.
type classSet []uint64

func newClassSet(classes int) classSet { return make(classSet, (classes+63)/64) }

func (c classSet) add(class int) { c[class/64] |= 1 << (class % 64) }

func (c classSet) has(class int) bool { return c[class/64]>>(class%64)&1 > 0 }

func (c classSet) addAll(others classSet) {
	for i, word := range others {
		c[i] |= word
	}
}

func (c classSet) len() (n int) {
	for _, word := range c {
		n += bits.OnesCount64(word)
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
func (n *Tenants) dropManagement(members, managers []int) {
	// others: ports without a subnet manager are full members
	all, limited, others := 0, map[mad.PKey]int{}, map[mad.PKey]bool{}
	for class, keys := range n.keys {
		all += members[class]
		for _, k := range keys {
			if k&mad.FullMember == 0 {
				limited[k.Base()] += members[class]
			} else if members[class] > managers[class] {
				others[k.Base()] = true
			}
		}
	}
	for class := range n.keys {
		n.keys[class] = slices.DeleteFunc(n.keys[class], func(k mad.PKey) bool {
			return 2*limited[k.Base()] >= all && !others[k.Base()]
		})
	}
}

// findTalk finds the classes that exchange packets: those of a partition with its full members. Of the tables only
// those count that are not known. The work grows with the classes times their keys, each a set of classes.
func (n *Tenants) findTalk(tables []*topo.PKeyTable, members []int) {
	count := len(tables)
	full, all := map[mad.PKey]classSet{}, map[mad.PKey]classSet{} // by partition
	put := func(in map[mad.PKey]classSet, k mad.PKey, class int) {
		if in[k] == nil {
			in[k] = newClassSet(count)
		}
		in[k].add(class)
	}
	every, unknown := newClassSet(count), newClassSet(count)
	for class, keys := range n.keys {
		every.add(class)
		if tables[class] == nil {
			unknown.add(class)
		}
		for _, k := range keys {
			if put(all, k.Base(), class); k&mad.FullMember != 0 {
				put(full, k.Base(), class)
			}
		}
	}
	var alone []int
	idle := newClassSet(count)
	for class, keys := range n.keys {
		with := newClassSet(count)
		with.addAll(unknown)
		if unknown.has(class) {
			with.addAll(every)
		}
		for _, k := range keys {
			if with.addAll(full[k.Base()]); k&mad.FullMember != 0 {
				with.addAll(all[k.Base()])
			}
		}
		if n.talk = append(n.talk, with); with.ports(members) < 2 {
			alone = append(alone, class)
			idle.add(class)
		}
	}
	for _, class := range alone {
		n.talk[class].addAll(idle)
	}
}

// ports is how many ports classes have, of which there are so many of each; no more than two are counted.
func (c classSet) ports(members []int) (count int) {
	for i, word := range c {
		for ; word != 0 && count < 2; word &= word - 1 {
			count += members[i*64+bits.TrailingZeros64(word)]
		}
	}
	return count
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
func (n *Tenants) Talk(a, b int) bool { return n == nil || n.talk[a].has(b) }

// Keys are the P_Keys of a class, ascending.
func (n *Tenants) Keys(class int) []mad.PKey { return n.keys[class] }

// Sources are, by class and then by switch, the ports of hosts there that send to a port of the class, with itself if
// it has a full membership. t is the subnet that the tenants are of. The result is shared: it must not be written to.
func (n *Tenants) Sources(t *topo.Topo) [][]uint32 {
	if n == nil {
		all := make([]uint32, len(t.Switches))
		for _, hosts := range n.hosts(t) {
			for _, h := range hosts {
				all[h.at] += h.ports
			}
		}
		return [][]uint32{all}
	}
	n.once.Do(func() { n.sources = n.findSources(t) })
	return n.sources
}

// hostsAt are ports of hosts of one class behind a switch.
type hostsAt struct {
	at    topo.SwitchIdx
	ports uint32
}

// hosts are the ports of hosts, by class.
func (n *Tenants) hosts(t *topo.Topo) [][]hostsAt {
	hosts := make([][]hostsAt, n.Classes())
	for _, p := range t.EndPorts {
		s := t.SwitchOf(p)
		if s == topo.None || !t.IsHost(p) {
			continue
		}
		of := &hosts[n.Class(p)]
		if last := len(*of) - 1; last >= 0 && (*of)[last].at == s {
			(*of)[last].ports++
		} else {
			*of = append(*of, hostsAt{s, 1})
		}
	}
	return hosts
}

// findSources computes Sources. The work grows with the classes times the hosts, not with the switches: most classes
// are on few of these.
func (n *Tenants) findSources(t *topo.Topo) [][]uint32 {
	hosts, sources := n.hosts(t), make([][]uint32, n.Classes())
	for class := range sources {
		sources[class] = make([]uint32, len(t.Switches))
		for other := range hosts {
			if n.Talk(other, class) {
				for _, h := range hosts[other] {
					sources[class][h.at] += h.ports
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
