package topo

import (
	"cmp"
	"encoding/binary"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// PKeyTable is a port's partition table (IBA 10.9.1). It is not written once made, and
// ports whose tables are equal share one. The nil table is one that is not known.
type PKeyTable struct {
	keys   []mad.PKey // by index, up to the last valid one
	sorted []mad.PKey // the valid ones, each once, by base, the full of a base first
	full   mad.PKey   // the lowest full one; 0 for none
}

// NewPKeyTable is the table with these entries. It keeps the slice.
func NewPKeyTable(keys []mad.PKey) *PKeyTable {
	for len(keys) > 0 && !keys[len(keys)-1].Valid() {
		keys = keys[:len(keys)-1]
	}
	t := &PKeyTable{keys: slices.Clip(keys)}
	for _, k := range keys {
		if k.Valid() {
			t.sorted = append(t.sorted, k)
		}
	}
	slices.SortFunc(t.sorted, byBase)
	t.sorted = slices.Clip(slices.Compact(t.sorted))
	if i := slices.IndexFunc(t.sorted, func(k mad.PKey) bool { return k&mad.FullMember != 0 }); i >= 0 {
		t.full = t.sorted[i]
	}
	return t
}

// byBase orders keys by base, and of one base the full member's first.
func byBase(a, b mad.PKey) int {
	if c := cmp.Compare(a.Base(), b.Base()); c != 0 {
		return c
	}
	return cmp.Compare(b, a)
}

// Keys are the entries by index up to the last valid one, to be read only. Those that
// are not Valid hold no key.
func (t *PKeyTable) Keys() []mad.PKey {
	if t == nil {
		return nil
	}
	return t.keys
}

// Key is the entry at an index, 0 beyond the last valid one.
func (t *PKeyTable) Key(i int) mad.PKey {
	if t == nil || i >= len(t.keys) {
		return 0
	}
	return t.keys[i]
}

// Block is a block of the table as an SMP carries it.
func (t *PKeyTable) Block(block int) (b smp.PKeyTable) {
	for i := range smp.PKeysPerBlock {
		b.SetPKey(i, t.Key(block*smp.PKeysPerBlock+i))
	}
	return b
}

// Find is the entry that has the base of k, the full member's where there are both; ok
// is false when the port is not in that partition.
func (t *PKeyTable) Find(k mad.PKey) (entry mad.PKey, ok bool) {
	if t == nil {
		return 0, false
	}
	i, _ := slices.BinarySearchFunc(t.sorted, k.Base()|mad.FullMember, byBase)
	if i == len(t.sorted) || t.sorted[i].Base() != k.Base() {
		return 0, false
	}
	return t.sorted[i], true
}

// Has reports whether the table has exactly the entry k.
func (t *PKeyTable) Has(k mad.PKey) bool {
	if t == nil {
		return false
	}
	_, found := slices.BinarySearchFunc(t.sorted, k, byBase)
	return found
}

// Common is the entry by which a port with this table may talk to one with o (IBA
// 10.9.3): of the lowest base that both have and at least one as a full member. Neither
// may be nil.
func (t *PKeyTable) Common(o *PKeyTable) (entry mad.PKey, ok bool) {
	if t == o {
		return t.full, t.full != 0
	}
	for i, j := 0, 0; i < len(t.sorted) && j < len(o.sorted); {
		a, b := t.sorted[i], o.sorted[j]
		switch {
		case a.Matches(b):
			return a, true
		case a.Base() < b.Base():
			i++
		case a.Base() > b.Base():
			j++
		default: // both limited
			i++
			j++
		}
	}
	return 0, false
}

// LetsIn reports whether a switch port with this table that checks inbound packets lets in one with a P_Key. It asks
// whether the sender behind the port may use the key: a limited key passes an entry of its base, a full key that of a
// full member. This is not the check of an end port (IBA 1.2 o18-14): OpenSM has only limited keys in front of limited
// members. The nil table stops nothing.
func (t *PKeyTable) LetsIn(k mad.PKey) bool { return t == nil || t.Has(k) || t.Has(k|mad.FullMember) }

// LetsOut reports whether a switch port with this table that checks outbound packets lets out one with a P_Key: whether
// an end port with this table takes it (IBA 10.9.3). The nil table stops nothing.
func (t *PKeyTable) LetsOut(k mad.PKey) bool {
	entry, ok := t.Find(k)
	return t == nil || ok && entry.Matches(k)
}

// Equal reports whether two tables have the same entries. Neither may be nil.
func (t *PKeyTable) Equal(o *PKeyTable) bool { return t == o || slices.Equal(t.keys, o.keys) }

// maxPKeys is the most entries of a partition table that are read and written. It is as many as adapters in use
// can have (log_max_pkey of mlx5); a node may say that it has 65,535.
const maxPKeys = 4096

// vendorIBM is the VendorID of IBM's logical switches, the firmware of its eHCA adapters.
const vendorIBM = 0x005076

// PKeyTableSize is the number of entries of a port's partition table: PartitionCap of
// the node for ports that own a LID, PartitionEnforcementCap for external ports of a
// switch, which may be 0; no more than 4,096. IBM's logical switch reports a
// PartitionEnforcementCap that means nothing: OpenSM does not read such tables of it (osm_port_info_rcv.c).
func (n *Node) PKeyTableSize(num uint8) int {
	if n.Type == mad.Switch && num != 0 {
		if n.Info.VendorID() == vendorIBM {
			return 0
		}
		return min(int(n.SwitchInfo.PartitionEnforcementCap()), maxPKeys)
	}
	return min(max(int(n.Info.PartitionCap()), 1), maxPKeys)
}

// PKeyBlocks is the number of blocks in which a table of so many entries is read and
// written.
func PKeyBlocks(size int) int { return (size + smp.PKeysPerBlock - 1) / smp.PKeysPerBlock }

// MayTalk reports whether two ends share a P_Key, at least one of them as a full member
// (IBA 10.9.3). A port may talk to itself. For external ports of a switch its port 0
// counts. A table that is not known hides nothing.
func (t *Topo) MayTalk(a, b EndIdx) bool {
	a, b = t.EndPort(a), t.EndPort(b)
	x, y := t.EndPKeys(a), t.EndPKeys(b)
	if a == b || x == nil || y == nil {
		return true
	}
	_, ok := x.Common(y)
	return ok
}

// EndPort is the end that a port belongs to: of a switch port 0, else the port itself. A vPort is an end.
func (t *Topo) EndPort(p EndIdx) EndIdx {
	if t.VPortOf(p) == None && t.IsSwitchPort(p) {
		return t.Nodes[t.Ports[p].Node].First
	}
	return p
}

// PKeyTables makes partition tables, the same one where they are equal. It is owned by
// one goroutine.
type PKeyTables struct {
	made map[string]*PKeyTable
	same map[*PKeyTable]*PKeyTable
	key  []byte
}

// Same is the one table that is equal to was, which may be was itself.
func (m *PKeyTables) Same(was *PKeyTable) *PKeyTable {
	t := m.same[was]
	if t == nil {
		if m.same == nil {
			m.same = map[*PKeyTable]*PKeyTable{}
		}
		t = m.Of(was.keys, was)
		m.same[was] = t
	}
	return t
}

// Of is the table with the entries, was if that has them. It does not keep the slice.
func (m *PKeyTables) Of(keys []mad.PKey, was *PKeyTable) *PKeyTable {
	for len(keys) > 0 && !keys[len(keys)-1].Valid() {
		keys = keys[:len(keys)-1]
	}
	if m.made == nil {
		m.made = map[string]*PKeyTable{}
	}
	m.key = m.key[:0]
	for _, k := range keys {
		m.key = binary.BigEndian.AppendUint16(m.key, uint16(k))
	}
	t := m.made[string(m.key)]
	if t == nil {
		if t = was; was == nil || !slices.Equal(was.keys, keys) {
			t = NewPKeyTable(slices.Clone(keys))
		}
		m.made[string(m.key)] = t
	}
	return t
}
