package callers

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/topo"
)

// State is what has become of a member.
type State uint8

// States. A partition is ready when all of its members are applied or pending for a port that nobody has seen.
const (
	Applied State = iota + 1 // the port has the P_Key
	Pending                  // the port has not been seen, or the P_Key is not written yet
	Held                     // the partition is not in force
	Failed                   // the port cannot have the P_Key, or does not take it
)

// Why a GUID or a name that nothing has is Pending.
const (
	Unseen     = "no port with this GUID has been seen"
	UnseenHost = "no host with this name has been seen"
)

var stateNames = map[State]string{Applied: "applied", Pending: "pending", Held: "held", Failed: "failed"}

// String is the word of the control protocol.
func (s State) String() string { return mad.NameOf(stateNames, s, "state %d") }

// Row is a member and a port that it is: a host has as many as it has ports, and one where none is known.
type Row struct {
	registry.PartitionMember
	State  State
	Why    string // of a state other than Applied, and of an index 0 that another partition has
	At     topo.EndIdx
	Unseen bool // it is Pending because nobody has seen the port or the host, or the vPort has not come up
}

// Facts are what states of members follow from.
type Facts struct {
	File   *partitions.Policy // of the partition file in force; nil where there is none
	Tables *partitions.Tables // of the view; nil where the subnet is not known
	Topo   *topo.Topo         // of the view
	// Hosts are those of Topo; nil for such a function of partitions.HostsOf.
	Hosts func() *partitions.HostIndex[topo.PortIdx]

	// made on first use
	has       *owner
	overflows map[topo.PortIdx]*partitions.Overflow
}

// Held says why a partition is not in force; "" if it is.
func (f *Facts) Held(p *registry.Partition) string {
	if f.has == nil {
		has := newOwner(f.File)
		f.has = &has
	}
	if in := f.has.of(p.Key, p.Name); in != nil {
		return fmt.Sprintf("%s has P_Key %s, as partition %q", in.Where(), in.Key, in.Name)
	}
	return ""
}

// overflow is the port that cannot hold all its P_Keys, nil if it can.
func (f *Facts) overflow(p topo.PortIdx) *partitions.Overflow {
	if f.overflows == nil {
		f.overflows = make(map[topo.PortIdx]*partitions.Overflow, len(f.Tables.Overflows))
		for i := range f.Tables.Overflows {
			if o := &f.Tables.Overflows[i]; o.VPort == topo.None {
				f.overflows[o.Port] = o
			}
		}
	}
	return f.overflows[p]
}

// Rows are the members of a partition with their states, in order of MemberKey and port.
func (f *Facts) Rows(state *registry.State, p *registry.Partition) (rows []Row) {
	held := f.Held(p)
	decides := map[topo.PortIdx]registry.MemberKey{} // of those that name a port the last one
	for m := range state.PartitionMembers(p.Key) {
		ports, why, unseen := f.portsOf(&m.MemberKey)
		if len(ports) == 0 {
			rows = append(rows, Row{PartitionMember: m, State: Pending, Why: why, At: topo.None, Unseen: unseen})
		}
		for _, at := range ports {
			rows = append(rows, Row{PartitionMember: m, At: at})
			decides[at] = m.MemberKey
		}
	}
	for i := range rows {
		row := &rows[i]
		switch {
		case held != "":
			row.State, row.Why, row.Unseen = Held, held, false
		case row.At == topo.None:
		case decides[row.At] != row.MemberKey:
			row.State, row.Why = Applied, "the port is a member by its GUID"
		default:
			if v := f.Topo.VPortOf(row.At); v != topo.None {
				row.State, row.Why = f.judgeVPort(row, v)
				row.Unseen = row.State == Pending && f.Topo.VPorts.At(v).State <= smp.PortDown
				continue
			}
			row.State, row.Why = f.judge(row)
		}
	}
	return rows
}

// Ready reports whether nothing is left to be done for members that have been seen.
func Ready(rows []Row) bool {
	return !slices.ContainsFunc(rows, func(r Row) bool { return r.State != Applied && !r.Unseen })
}

// portsOf are the ports of a member, or the vPort that it is; why says why there are none, and unseen whether that is
// because nobody has seen them.
func (f *Facts) portsOf(k *registry.MemberKey) (ports []topo.EndIdx, why string, unseen bool) {
	if f.Topo == nil {
		return nil, "the manager has not read the subnet yet", false
	}
	if k.Host == "" {
		if at := f.Topo.FindPort(k.Port); at != topo.None {
			return []topo.PortIdx{at}, "", false
		}
		if v := f.Topo.FindVPort(k.Port); v != topo.None {
			return []topo.EndIdx{f.Topo.EndOf(v)}, "", false
		}
		return nil, Unseen, true
	}
	ports, claimed := f.Find(k.Host)
	if len(claimed) > 0 {
		return nil, "two nodes have this name: name the ports by GUID", false
	}
	return ports, UnseenHost, true
}

// Find are the ports of the hosts that a name or a pattern means, as HostIndex.Find returns them.
func (f *Facts) Find(pattern string) (ports []topo.EndIdx, claimed []string) {
	if f.Hosts == nil {
		f.Hosts = sync.OnceValue(func() *partitions.HostIndex[topo.PortIdx] { return partitions.HostsOf(f.Topo) })
	}
	return f.Hosts().Find(pattern)
}

// judge says whether a port has the P_Key that it is given.
func (f *Facts) judge(row *Row) (State, string) {
	t := f.Topo
	port := &t.Ports[row.At]
	if f.Tables == nil || f.Tables.Policy == nil || f.Tables.Policy.Number < row.Number {
		return Pending, "the manager has not written it yet"
	}
	if o := f.overflow(row.At); o != nil && slices.ContainsFunc(o.Left, func(k mad.PKey) bool {
		return k.Base() == row.Key
	}) {
		return Failed, fmt.Sprintf("the P_Key table of the port is full: it has %d entries", o.Size)
	}
	switch {
	case !port.Seen || port.PKeys == nil:
		return Failed, "the port does not answer when its P_Key table is read"
	case !f.holds(row, port.PKeys):
		if s := port.Info.PortState(); s != smp.PortActive && port.Num != 0 {
			return Pending, "the port is not ACTIVE yet"
		}
		return Failed, "the port does not take the P_Key: it does not answer, or refuses its P_Key table"
	}
	if peer := port.Peer; peer != topo.None && t.IsSwitchPort(peer) && f.Tables.Want[peer] != nil {
		if held := t.Ports[peer].PKeys; held != nil && !held.Has(row.Key|mad.FullMember) && !held.Has(row.Key) {
			return Failed, "the switch port before it does not take the P_Key"
		}
	}
	if row.Index0 && port.PKeys.Key(0).Base() != row.Key {
		return Applied, fmt.Sprintf("index 0 is of P_Key %s", port.PKeys.Key(0))
	}
	return Applied, ""
}

// judgeVPort says whether a vPort has the P_Key that it is given. It gets it before it is ACTIVE.
func (f *Facts) judgeVPort(row *Row, v topo.VPortIdx) (State, string) {
	p := f.Topo.VPorts.At(v)
	valid := 0
	for _, k := range p.PKeys.Keys() {
		if k.Valid() {
			valid++
		}
	}
	switch {
	case f.Tables == nil || f.Tables.Policy == nil || f.Tables.Policy.Number < row.Number:
		return Pending, "the manager has not written it yet"
	case p.PKeys != nil && f.holds(row, p.PKeys) && p.State > smp.PortDown:
		if row.Index0 && p.PKeys.Key(0).Base() != row.Key {
			return Applied, fmt.Sprintf("index 0 is of P_Key %s", p.PKeys.Key(0))
		}
		return Applied, ""
	case p.Waits == topo.LeftAsFound:
		return Failed, "the virtual function does not take the P_Key: " + p.Waits.String()
	case p.State <= smp.PortDown:
		return Pending, "the virtual function is down: " + cmp.Or(p.Waits.String(), topo.WaitsForDriver.String())
	case p.PKeys != nil && p.PKeyTableSize() > 0 && valid >= p.PKeyTableSize():
		return Failed, fmt.Sprintf("the P_Key table of the virtual function is full: it has %d entries", p.PKeyTableSize())
	}
	return Pending, "the virtual function is not ACTIVE yet: " + cmp.Or(p.Waits.String(), topo.WaitsForManager.String())
}

// holds reports whether a table has the keys of a member.
func (f *Facts) holds(row *Row, table *topo.PKeyTable) bool {
	full, limited := row.Key|mad.FullMember, row.Key
	switch membership := partitions.Membership(row.Membership); {
	case membership == partitions.Limited:
		return table.Has(limited)
	case membership == partitions.Both && f.Tables.Settings.AllowBoth:
		return table.Has(limited) && table.Has(full)
	}
	return table.Has(full)
}

// Summary counts members by state, of which rows of a host are one.
func Summary(rows []Row) map[State]int {
	worst := map[registry.MemberKey]State{}
	for i := range rows {
		k := rows[i].MemberKey
		worst[k] = max(worst[k], rows[i].State)
	}
	counts := map[State]int{}
	for _, s := range worst {
		counts[s]++
	}
	return counts
}
