package partitions

import (
	"fmt"
	"slices"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/registry"
)

// Policy is the meaning of a partitions.conf: which ports may communicate. It is immutable.
type Policy struct {
	// Partitions come in the order in which they are first defined, no two with the
	// same Key. The default partition is always among them and comes first.
	Partitions []Partition
	// Dangers are those of the file's warnings that are about a line which makes other ports
	// communicate than it seems to say. Their texts have no positions of other lines, so that
	// they are the same after an edit elsewhere.
	Dangers diag.List
	// Foreign are the lines with members that OpenSM does not accept, one of each line.
	Foreign diag.List
	// Number is that of the last change by a caller which the policy has in it; see package partitions/callers.
	Number uint64
	// Owned, if there are any, are the only P_Keys that are written to tables and removed from them, in ascending
	// order: there is no file. What else is in a table stays.
	Owned []mad.PKey
	// File is the policy of the partition file of which this one was made by adding partitions of callers; nil for
	// none, and where nothing was added.
	File *Policy
	// Held are the partitions of callers that were left out, because the file has their P_Key or name.
	Held []Held

	groups *PortGroups
	byKey  map[mad.PKey]int // index of the first of the Partitions, as many as it has
}

// Partition is everything that the definitions of one P_Key say together.
type Partition struct {
	Name     string // of the first definition; several partitions may share it
	Key      mad.PKey
	IPoIB    bool  // there is a broadcast group
	SL       uint8 // of paths in the partition, 0..15; where QoS is off it is 0
	Members  []Member
	Groups   []Group
	Position diag.Position // of the first definition; Line 0 where no file says it
	Number   uint64        // of the last change by a caller, whose partition it is; 0 for one of the file
}

// Held is a partition of callers that is not in force.
type Held struct {
	Name string
	Key  mad.PKey
	By   *Partition // of the file, which has the P_Key or the name
}

// String says why.
func (h *Held) String() string {
	return fmt.Sprintf("partition %s, %s: %s has P_Key %s, as partition %q", h.Name, h.Key, h.By.Where(), h.By.Key,
		h.By.Name)
}

// Where is the place of a partition of the file for a message.
func (p *Partition) Where() string {
	if p.Position == (diag.Position{}) || p.Position.Line == 0 {
		return "the partition file" // by its default partition, which stands in no line
	}
	return p.Position.String()
}

// OfHosts is the membership that the partition gives all ports of hosts but those that it names otherwise; 0 for none.
func (p *Partition) OfHosts() (all Membership) {
	for i := range p.Members {
		if m := &p.Members[i]; m.Who == All || m.Who == AllCAs {
			all = m.Membership
		}
	}
	return all
}

// Member gives a port or a set of ports its membership. A later Member of a partition
// overrules an earlier one for the ports that both name. A partition may name nobody.
type Member struct {
	Who        Who
	Port       mad.GUID // where Who is OnePort, and the first where it is InRange
	Last       mad.GUID // where Who is InRange
	Name       string   // a name or pattern where Who is Hosts, a port group where it is OfGroup
	Membership Membership
	Index0     bool // the key goes to index 0 of the port's table (indx0)
	Position   diag.Position
	Number     uint64 // of the change by a caller that made it so; 0 in the file
}

// Who is the ports that a Member names.
type Who uint8

// Sets of ports. Ports that own a LID are meant: those of adapters and routers, and port
// 0 of switches. vPorts, which are those of virtual functions, are named by their GUIDs, and in two of the sets.
const (
	OnePort     Who = 1 // the one with the GUID
	All         Who = 2 // vPorts, too
	AllCAs      Who = 3
	AllSwitches Who = 4
	AllRouters  Who = 5
	AllVCAs     Who = 6 // vPorts alone
	Self        Who = 7 // the port that the manager runs at
	// OpenSM does not know the following.
	InRange Who = 8  // ports and vPorts with GUIDs from Port to Last
	Hosts   Who = 9  // of adapters, by the name of the host
	OfGroup Who = 10 // of a port group
)

// isSet reports whether a Member names one of the sets of ports that a word names.
func (m *Member) isSet() bool { return m.Who >= All && m.Who <= Self }

// whoNames are the words of the file, in the order in which a beginning is looked up.
var whoNames = []struct {
	name string
	who  Who
}{
	{"ALL", All}, {"ALL_CAS", AllCAs}, {"ALL_SWITCHES", AllSwitches}, {"ALL_ROUTERS", AllRouters},
	{"ALL_VCAS", AllVCAs}, {"SELF", Self},
}

// String is the word of the file.
func (w Who) String() string {
	for _, n := range whoNames {
		if n.who == w {
			return n.name
		}
	}
	return fmt.Sprintf("set %d", uint8(w))
}

// String is the member as the file writes it.
func (m Member) String() string {
	who := m.Who.String()
	switch m.Who {
	case OnePort:
		who = m.Port.String()
	case InRange:
		who = m.Port.String() + "-" + m.Last.String()
	case Hosts:
		who = m.Name
	case OfGroup:
		who = groupMark + m.Name
	}
	if m.Membership == 0 {
		return who
	}
	return who + "=" + m.Membership.String()
}

// Membership is what a port may do in a partition (IBA 10.9.1): limited members talk to
// full members only.
type Membership uint8

// Memberships. Both is a full and a limited key side by side, which ports have where
// allow_both_pkeys is set; elsewhere it is Full.
const (
	Limited Membership = 1
	Full    Membership = 2
	Both    Membership = 3
)

var membershipNames = map[Membership]string{
	Limited: "limited",
	Full:    "full",
	Both:    "both",
}

// String is the word of the file.
func (m Membership) String() string { return mad.NameOf(membershipNames, m, "membership %d") }

// Group is a multicast group that exists as long as its partition does, with or without
// members. The P_Key field and the scope of its MGID are filled in.
type Group struct {
	MGID      mad.GID
	QKey      uint32
	MTU       mad.MTU
	Rate      mad.Rate
	SL        uint8
	TClass    uint8
	FlowLabel uint32 // 20 bits
	Position  diag.Position
	// AnyMTU and AnyRate are set where the file gives none: MTU and Rate are OpenSM's defaults.
	AnyMTU, AnyRate bool
}

// DefaultKey is the base of the default partition's key.
const DefaultKey = mad.PKey(0x7fff)

// Values of groups where the file gives none.
const (
	DefaultRate mad.Rate = 3 // 10 Gb/s
	DefaultMTU           = mad.MTU2048
	IPoIBQKey   uint32   = 0x0b1b
)

// Default is OpenSM's policy without a file: every port is a full member of the default
// partition, which has an IPoIB broadcast group.
func Default() *Policy {
	p := newPolicy(Member{Who: All, Membership: Full})
	p.Partitions[0].IPoIB = true
	p.Partitions[0].Groups = []Group{{
		MGID: registry.BroadcastMGID(DefaultKey, linkLocal), QKey: IPoIBQKey, MTU: DefaultMTU, Rate: DefaultRate,
		AnyMTU: true, AnyRate: true,
	}}
	return p
}

// Closed is the implicit default under every file, and the policy if the file has errors
// and no earlier policy is known: every port reaches the manager, but no other port.
func Closed() *Policy {
	return newPolicy(Member{Who: All, Membership: Limited}, Member{Who: Self, Membership: Full})
}

func newPolicy(members ...Member) *Policy {
	return &Policy{Partitions: []Partition{{Name: "Default", Key: DefaultKey, Members: members}}}
}

// Equal reports whether two policies say the same of every subnet, however their files say it. Nil equals nil alone.
func (p *Policy) Equal(o *Policy) bool {
	if p == nil || o == nil {
		return p == o
	}
	return slices.EqualFunc(p.Partitions, o.Partitions, func(a, b Partition) bool {
		return a.Key == b.Key && a.IPoIB == b.IPoIB && a.SL == b.SL && slices.EqualFunc(a.Groups, b.Groups,
			Group.sameButPlace) && slices.EqualFunc(a.Members, b.Members, func(m, n Member) bool {
			m.Position = n.Position
			return m == n
		})
	})
}

// Find is the partition of a key, whichever membership the key has; nil if there is none.
func (p *Policy) Find(key mad.PKey) *Partition {
	if i, known := p.byKey[key.Base()]; known {
		return &p.Partitions[i]
	}
	for i := len(p.byKey); i < len(p.Partitions); i++ {
		if p.Partitions[i].Key == key.Base() {
			return &p.Partitions[i]
		}
	}
	return nil
}

// WithPartitions is the policy with further partitions behind its own, whose P_Keys it does not have. number and owned
// are for Policy.Number and Policy.Owned.
func (p *Policy) WithPartitions(more []Partition, number uint64, owned []mad.PKey) *Policy {
	merged := *p
	merged.Partitions = slices.Concat(p.Partitions, more)
	merged.Number, merged.Owned = number, owned
	if owned == nil {
		merged.File = p
	}
	return &merged
}

// Confines reports whether the policy keeps any port out of anything. One that only makes every port a full member of
// the default partition does not.
func (p *Policy) Confines() bool {
	all := false
	for i := range p.Partitions[0].Members {
		switch m := &p.Partitions[0].Members[i]; {
		case m.Who == All:
			all = m.Membership != Limited
		case m.Membership == Limited:
			all = false
		}
	}
	return len(p.Partitions) > 1 || !all
}

// linkLocal is the scope of a group that stays in its subnet.
const linkLocal = 2
