package fabric

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// portTables are the tables of a port that were written since power-up; what was
// not has its power-up contents.
type portTables struct {
	pkeys []mad.PKey            // by index, in whole blocks
	sl2vl [][8]byte             // by input port; one entry on end nodes
	vlarb [4][mad.DataSize]byte // by block - 1
	guids []mad.GUID            // by index, in whole blocks
	ext   smp.PortInfoExtended  // enabled FEC modes
	fdr10 uint8                 // ExtendedPortInfo.LinkSpeedEnabled, and one; 0 as at power-up
}

func (p *port) written() *portTables {
	if p.tables == nil {
		p.tables = &portTables{}
	}
	return p.tables
}

// pkeyAt is an entry of the partition table; 0 where nothing is. At power-up entry
// 0 is the default partition.
func (p *port) pkeyAt(i int) mad.PKey {
	if p.tables == nil || p.tables.pkeys == nil {
		if i == 0 {
			return mad.DefaultPKey
		}
		return 0
	}
	if i >= len(p.tables.pkeys) {
		return 0
	}
	return p.tables.pkeys[i]
}

// setPKeys stores entries from an index on; the table then reaches to the end of a block.
func (p *port) setPKeys(from int, keys []mad.PKey) {
	w := p.written()
	if w.pkeys == nil {
		w.pkeys = append(w.pkeys, mad.DefaultPKey)
	}
	for len(w.pkeys) < from+len(keys) || len(w.pkeys)%smp.PKeysPerBlock != 0 {
		w.pkeys = append(w.pkeys, 0)
	}
	copy(w.pkeys[from:], keys)
}

// setGUIDs stores entries of GUIDInfo from an index on.
func (p *port) setGUIDs(from int, guids []mad.GUID) {
	w := p.written()
	if need := from + len(guids); len(w.guids) < need {
		w.guids = append(w.guids, make([]mad.GUID, need-len(w.guids))...)
	}
	copy(w.guids[from:], guids)
}

// pkey finds the first entry that matches k.
func (p *port) pkey(k mad.PKey) (index int, ok bool) {
	if p.tables == nil || p.tables.pkeys == nil {
		return 0, mad.DefaultPKey.Matches(k)
	}
	for i, e := range p.tables.pkeys {
		if e.Matches(k) {
			return i, true
		}
	}
	return 0, false
}

// mayUse reports whether the table permits a sender to use k: it has k, or the full key of k's partition.
func (p *port) mayUse(k mad.PKey) bool {
	if p.tables == nil || p.tables.pkeys == nil {
		return k.Base() == mad.DefaultPKey.Base()
	}
	return k.Valid() && (slices.Contains(p.tables.pkeys, k) || slices.Contains(p.tables.pkeys, k|mad.FullMember))
}

// vl is the lane that the port sends SL on when the packet came in by port in. At
// power-up the lanes are dealt out in turn.
func (p *port) vl(in, sl uint8) uint8 {
	if p.tables != nil && int(in) < len(p.tables.sl2vl) {
		return p.tables.sl2vl[in][sl/2] >> (4 - sl%2*4) & 15
	}
	return sl % uint8(max(smp.DataVLs(p.info.VLCap()), 1))
}

// tablePort is the port that a table's modifier names: one of the switch's, or on
// an end node the port that the request came in by, for which the number is 0.
func (f *Fabric) tablePort(at int32, num uint32) (i int32, ok bool) {
	n := f.nodeOf(at)
	if n.sw == nil {
		return f.mgmt(at), num == 0
	}
	if num > uint32(n.numPorts) {
		return 0, false
	}
	return n.first + int32(num), true
}

func (f *Fabric) pkeyTable(at int32, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	i, ok := f.tablePort(at, mod>>16)
	n := f.nodeOf(at)
	entries := n.caps.PartitionCap
	if ok && i != f.mgmt(i) {
		entries = n.caps.PartitionEnforcementCap
	}
	from := int(mod&0xffff) * smp.PKeysPerBlock
	if !ok || from >= int(entries) {
		return mad.StatusBadField
	}
	f.ports[i].blockOfPKeys(set, from, (*smp.PKeyTable)(d))
	return mad.StatusOK
}

// blockOfPKeys stores a block of the partition table, if that is asked for, and shows it.
func (p *port) blockOfPKeys(set bool, from int, t *smp.PKeyTable) {
	if set {
		var keys [smp.PKeysPerBlock]mad.PKey
		for k := range keys {
			keys[k] = t.PKey(k)
		}
		p.setPKeys(from, keys[:])
	}
	for k := range smp.PKeysPerBlock {
		t.SetPKey(k, p.pkeyAt(from+k))
	}
}

func (f *Fabric) slToVLTable(at int32, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	n := f.nodeOf(at)
	in, out := mod>>8&0xff, mod&0xff
	inEnd, outEnd := in, out // a range where a wildcard is used
	if n.sw == nil {
		if mod != 0 {
			return mad.StatusBadField
		}
		p := &f.ports[f.mgmt(at)]
		if set {
			p.setSLtoVL(0, 1, d)
		}
		p.readSLtoVL(0, d)
		return mad.StatusOK
	}
	wild := smp.SLtoVLAllIn | smp.SLtoVLAllOut
	if mod&^(wild|0xffff) != 0 || mod&wild != 0 && (!set || n.caps.OptimizedSLtoVL&1 == 0) {
		return mad.StatusBadField
	}
	if mod&smp.SLtoVLAllIn != 0 {
		in, inEnd = 0, uint32(n.numPorts)
	}
	if mod&smp.SLtoVLAllOut != 0 {
		out, outEnd = 1, uint32(n.numPorts)
	}
	if inEnd > uint32(n.numPorts) || outEnd > uint32(n.numPorts) {
		return mad.StatusBadField
	}
	if set {
		for o := out; o <= outEnd; o++ {
			for i := in; i <= inEnd; i++ {
				f.ports[n.first+int32(o)].setSLtoVL(uint8(i), int(n.numPorts)+1, d)
			}
		}
	}
	f.ports[n.first+int32(out)].readSLtoVL(uint8(in), d)
	return mad.StatusOK
}

// setSLtoVL stores one row; rows is how many the port has in all.
func (p *port) setSLtoVL(in uint8, rows int, d *[mad.DataSize]byte) {
	w := p.written()
	if w.sl2vl == nil {
		powerUp := make([][8]byte, rows)
		for r := range powerUp {
			for sl := range uint8(16) {
				powerUp[r][sl/2] |= p.vl(uint8(r), sl) << (4 - sl%2*4)
			}
		}
		w.sl2vl = powerUp
	}
	copy(w.sl2vl[in][:], d[:])
}

func (p *port) readSLtoVL(in uint8, d *[mad.DataSize]byte) {
	t := (*smp.SLtoVLMappingTable)(d)
	*d = [mad.DataSize]byte{}
	for sl := range uint8(16) {
		t.SetVL(sl, p.vl(in, sl))
	}
}

func (f *Fabric) vlArbTable(at int32, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	i, ok := f.tablePort(at, mod&0xffff)
	block := int(mod >> 16)
	if !ok || block < 1 || block > 4 {
		return mad.StatusBadField
	}
	p := &f.ports[i]
	entries := int(p.info.VLArbitrationLowCap())
	if block > 2 {
		entries = int(p.info.VLArbitrationHighCap())
	}
	if (block-1)%2*smp.VLArbBlockSize >= entries {
		return mad.StatusBadField
	}
	if set {
		p.written().vlarb[block-1] = *d
	}
	*d = [mad.DataSize]byte{}
	if p.tables != nil {
		*d = p.tables.vlarb[block-1]
	}
	return mad.StatusOK
}

// guidInfo answers for end port m. Entry 0 is the port's own GUID and cannot be
// changed.
func (f *Fabric) guidInfo(m int32, set bool, mod uint32, d *[mad.DataSize]byte) mad.Status {
	p := &f.ports[m]
	if mod > 0xff || int(mod)*smp.GUIDsPerBlock >= int(p.info.GUIDCap()) {
		return mad.StatusBadField
	}
	p.blockOfGUIDs(set, int(mod)*smp.GUIDsPerBlock, int(p.info.GUIDCap()), (*smp.GUIDInfo)(d))
	return mad.StatusOK
}

// blockOfGUIDs stores a block of a list of so many GUIDs, if that is asked for, and shows it.
func (p *port) blockOfGUIDs(set bool, from, most int, t *smp.GUIDInfo) {
	if set {
		var guids [smp.GUIDsPerBlock]mad.GUID
		for k := range guids {
			guids[k] = t.GUID(k)
		}
		p.setGUIDs(from, guids[:min(len(guids), most-from)])
	}
	for k := range smp.GUIDsPerBlock {
		t.SetGUID(k, p.guidAt(from+k))
	}
}

// guidAt is an entry of GUIDInfo; 0 where nothing is.
func (p *port) guidAt(i int) mad.GUID {
	switch {
	case i == 0:
		return p.guid
	case p.tables != nil && i < len(p.tables.guids):
		return p.tables.guids[i]
	}
	return 0
}
