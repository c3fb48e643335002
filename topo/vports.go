package topo

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// VPortIdx is an index into VPorts.List. None stands for no vPort.
type VPortIdx int32

// VPort is a virtual port of a channel adapter, as those of SR-IOV's functions are: a level below a port, whose link it
// uses. It has a GUID, a state and a P_Key table of its own. vPort 0 of a port is that of its physical function, and
// usually has the port's GUID.
type VPort struct {
	GUID  mad.GUID             // 0: it has none
	Node  mad.GUID             // of its virtual node; 0: it has none, or it is not known
	PKeys *PKeyTable           // what it holds; nil: not known
	Desc  *smp.NodeDescription // nil: not known. Nobody writes to it
	Port  PortIdx              // behind which it is
	Index uint16               // at that port
	// LID is its own one, which it holds; 0: it has none, and packets for it go to the LID of another vPort and need a
	// GRH: see Topo.LIDOf.
	LID mad.LID
	// Shares is the index of the vPort whose LID it shares where it does not ask for one.
	Shares       uint16
	PartitionCap uint16 // entries of its P_Key table; 0: not known
	Caps         smp.VPortCapMask
	State        smp.PortState
	LIDRequired  bool // it asks for a LID of its own
	// Elsewhere says that its GUID is now that of a port, or of another vPort, so that it is not found by it: the
	// function has moved there, or two have one GUID.
	Elsewhere bool
	Waits     VPortWait
}

// VPortWait is what a vPort that is not ACTIVE waits for, or why it is left as it was found.
type VPortWait uint8

// What a vPort waits for.
const (
	WaitsForNothing VPortWait = iota
	WaitsForGUID              // its GUID is zero
	WaitsForDriver            // it is down, though it has a GUID
	WaitsForPort              // the port that it is behind is not ACTIVE
	WaitsForPKeys             // the P_Key table of that port has not been read
	WaitsForLID               // it asks for a LID, and switches do not forward one for it yet
	WaitsForSwitch            // the switch does not let all its P_Keys pass yet
	WaitsForOwner             // its GUID is in use elsewhere
	WaitsForManager           // it is about to be brought up
	LeftAsFound               // it, or its port, has answered with what cannot be
)

var vPortWaits = [...]string{
	WaitsForNothing: "",
	WaitsForGUID:    "its GUID is zero",
	WaitsForDriver:  "its link policy keeps it down, or its host has no driver for it",
	WaitsForPort:    "the port that it is behind is not ACTIVE",
	WaitsForPKeys:   "the P_Key table of the port that it is behind has not been read",
	WaitsForLID:     "it waits for a LID of its own",
	WaitsForSwitch:  "the switch in front does not let its P_Keys pass yet",
	WaitsForOwner:   "its GUID is in use elsewhere",
	WaitsForManager: "it is about to be brought up",
	LeftAsFound:     "it is left as it was found",
}

// String says it in words, "" for WaitsForNothing.
func (w VPortWait) String() string { return vPortWaits[min(int(w), len(vPortWaits)-1)] }

// VHost is what a port of an adapter says of its vPorts.
type VHost struct {
	Port    PortIdx
	Cap     uint16 // as many vPorts it can have
	Top     uint16 // the highest index in use
	Enabled bool   // a manager has enabled them
	// Left says why its vPorts are left as they were found; "" where they are not.
	Left string
}

// maxVPortPKeys is the most entries of a vPort's P_Key table that are read and written, eight times as many as adapters
// have. A vPort may say that it has 65,535.
const maxVPortPKeys = 1024

// PKeyTableSize is the number of entries of its P_Key table; 0 where that is not known.
func (p *VPort) PKeyTableSize() int { return min(int(p.PartitionCap), maxVPortPKeys) }

// VPorts are the vPorts of a subnet. They are immutable. The nil value is that of a subnet in which no port says that
// it has any.
type VPorts struct {
	List []VPort // ascending Port, and ascending Index of each port
	// Aliases are the further GUIDs of vPorts, in the order of their tables. Nobody writes to it.
	Aliases map[VPortIdx][]mad.GUID
	Hosts   []VHost // the ports that say that they have vPorts, ascending; also those that have none

	guids []vPortGUID // ascending GUID
	lids  []VPortIdx  // that have a LID, ascending
}

type vPortGUID struct {
	guid mad.GUID
	at   VPortIdx
}

// NewVPorts makes VPorts of a list in the order of VPorts.List and further GUIDs, and keeps both; nil of an empty list.
// Of two vPorts with a GUID, neither of them Elsewhere, the first is found; of two with a LID, the first that is up.
func NewVPorts(list []VPort, aliases map[VPortIdx][]mad.GUID) *VPorts {
	if len(list) == 0 {
		return nil
	}
	v := &VPorts{List: list, Aliases: aliases, guids: make([]vPortGUID, 0, len(list))}
	for i := range list {
		p := &list[i]
		if p.LID != 0 {
			v.lids = append(v.lids, VPortIdx(i))
		}
		if p.GUID == 0 || p.Elsewhere {
			continue
		}
		v.guids = append(v.guids, vPortGUID{p.GUID, VPortIdx(i)})
		for _, guid := range aliases[VPortIdx(i)] {
			v.guids = append(v.guids, vPortGUID{guid, VPortIdx(i)})
		}
	}
	slices.SortStableFunc(v.lids, func(a, b VPortIdx) int {
		return cmp.Or(cmp.Compare(list[a].LID, list[b].LID), compareUp(&list[a], &list[b]))
	})
	slices.SortFunc(v.guids, func(a, b vPortGUID) int {
		return cmp.Or(cmp.Compare(a.guid, b.guid), cmp.Compare(a.at, b.at))
	})
	return v
}

// compareUp orders those that are up before those that are not: a function that has moved with its LID is found where
// it is, though the vPort that it has left shows the LID still.
func compareUp(a, b *VPort) int {
	switch {
	case a.Up() == b.Up():
		return 0
	case a.Up():
		return -1
	}
	return 1
}

// WithHosts adds the ports that say that they have vPorts, and keeps the slice. It may be called on the nil value,
// before anybody else has the result.
func (v *VPorts) WithHosts(hosts []VHost) *VPorts {
	if len(hosts) == 0 {
		return v
	}
	if v == nil {
		v = &VPorts{}
	}
	v.Hosts = hosts
	return v
}

// Host is what a port says of its vPorts; nil where it says nothing.
func (v *VPorts) Host(p PortIdx) *VHost {
	if v == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(v.Hosts, p, func(h VHost, p PortIdx) int { return cmp.Compare(h.Port, p) })
	if !ok {
		return nil
	}
	return &v.Hosts[i]
}

// Len is how many there are.
func (v *VPorts) Len() int {
	if v == nil {
		return 0
	}
	return len(v.List)
}

// All are the vPorts by index, in the order of List.
func (v *VPorts) All() iter.Seq[VPortIdx] {
	return func(yield func(VPortIdx) bool) {
		for i := range v.Len() {
			if !yield(VPortIdx(i)) {
				return
			}
		}
	}
}

// At is a vPort, for reading.
func (v *VPorts) At(i VPortIdx) *VPort { return &v.List[i] }

// find is the vPort with a GUID, its own or a further one, or None.
func (v *VPorts) find(guid mad.GUID) VPortIdx {
	if v == nil {
		return None
	}
	i, ok := slices.BinarySearchFunc(v.guids, guid, func(e vPortGUID, g mad.GUID) int { return cmp.Compare(e.guid, g) })
	if !ok {
		return None
	}
	return v.guids[i].at
}

// OfLID is the vPort that has a LID of its own, or None.
func (v *VPorts) OfLID(lid mad.LID) VPortIdx {
	if v == nil || lid == 0 {
		return None
	}
	i, ok := sort.Find(len(v.lids), func(i int) int { return cmp.Compare(lid, v.List[v.lids[i]].LID) })
	if !ok {
		return None
	}
	return v.lids[i]
}

// Of are the vPorts of a port, by their first and the one behind their last.
func (v *VPorts) Of(p PortIdx) (first, end VPortIdx) {
	if v == nil {
		return 0, 0
	}
	from := sort.Search(len(v.List), func(i int) bool { return v.List[i].Port >= p })
	to := from
	for to < len(v.List) && v.List[to].Port == p {
		to++
	}
	return VPortIdx(from), VPortIdx(to)
}

// FindAt is the vPort of a port with an index, or None.
func (v *VPorts) FindAt(p PortIdx, index uint16) VPortIdx {
	first, end := v.Of(p)
	if first == end {
		return None
	}
	i, ok := sort.Find(int(end-first), func(i int) int {
		return cmp.Compare(index, v.List[int(first)+i].Index)
	})
	if !ok {
		return None
	}
	return first + VPortIdx(i)
}

// Equal reports whether two have the same vPorts.
func (v *VPorts) Equal(o *VPorts) bool {
	if v == o {
		return true
	}
	if v == nil || o == nil || len(v.Aliases) != len(o.Aliases) || !slices.Equal(v.Hosts, o.Hosts) {
		return false
	}
	for i := range v.Aliases {
		if !slices.Equal(v.Aliases[i], o.Aliases[i]) {
			return false
		}
	}
	return slices.EqualFunc(v.List, o.List, func(a, b VPort) bool { return a.equal(&b) })
}

// equal looks into the P_Key table and the description only where they are not one and the same.
func (p *VPort) equal(o *VPort) bool {
	if *p == *o {
		return true
	}
	if (p.PKeys == nil) != (o.PKeys == nil) || p.PKeys != nil && !p.PKeys.Equal(o.PKeys) ||
		(p.Desc == nil) != (o.Desc == nil) || p.Desc != nil && *p.Desc != *o.Desc {
		return false
	}
	same := *p
	same.PKeys, same.Desc = o.PKeys, o.Desc
	return same == *o
}

// FindVPort is the vPort with a GUID, its own or a further one, or None. The GUID of a port is the port's alone, also
// where its vPort 0 has the same.
func (t *Topo) FindVPort(guid mad.GUID) VPortIdx {
	i := t.VPorts.find(guid)
	if i != None && t.FindPort(guid) != None {
		return None
	}
	return i
}

// LIDOf is the LID of packets for a vPort. own says that it is the vPort's alone; else they need a GRH with one of its
// GUIDs. The LID is 0 where its port has none.
func (t *Topo) LIDOf(l *LIDs, i VPortIdx) (lid mad.LID, own bool) {
	p := t.VPorts.At(i)
	if p.LID != 0 {
		return p.LID, true
	}
	if shared := t.VPorts.FindAt(p.Port, p.Shares); shared != None && t.VPorts.List[shared].LID != 0 {
		return t.VPorts.List[shared].LID, false
	}
	return l.Base[p.Port], false
}
