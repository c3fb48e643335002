package cc

// SLs is the number of service levels, each of which has values of its own.
const SLs = 16

// CACongestionSetting is attribute 0x0016: how a port of an adapter reacts to marked packets.
type CACongestionSetting [4 + 8*SLs]byte

// PortControl has bit 0 where congestion control is per SL; otherwise it is per queue pair.
func (c *CACongestionSetting) PortControl() uint16 { return get16(c[0:]) }

// SetPortControl replaces Port_Control.
func (c *CACongestionSetting) SetPortControl(v uint16) { put16(c[0:], v) }

// ControlMap has a bit for each SL whose values a Set changes.
func (c *CACongestionSetting) ControlMap() uint16 { return get16(c[2:]) }

// SetControlMap replaces Control_Map.
func (c *CACongestionSetting) SetControlMap(v uint16) { put16(c[2:], v) }

// SL are the values of a service level; beyond 15 those of sl mod 16.
func (c *CACongestionSetting) SL(sl uint8) *CACongestionEntry {
	at := 4 + int(sl%SLs)*8
	return (*CACongestionEntry)(c[at : at+8])
}

// CACongestionEntry are the values of a service level.
type CACongestionEntry [8]byte

// CCTITimer is after how long the index into the table decreases by one, in 1.024 us.
func (e *CACongestionEntry) CCTITimer() uint16 { return get16(e[0:]) }

// SetCCTITimer replaces CCTI_Timer.
func (e *CACongestionEntry) SetCCTITimer(v uint16) { put16(e[0:], v) }

// CCTIIncrease is by how much a marked packet increases the index.
func (e *CACongestionEntry) CCTIIncrease() uint8 { return e[2] }

// SetCCTIIncrease replaces CCTI_Increase.
func (e *CACongestionEntry) SetCCTIIncrease(v uint8) { e[2] = v }

// TriggerThreshold is the index at which an event is logged; 0 for none.
func (e *CACongestionEntry) TriggerThreshold() uint8 { return e[3] }

// SetTriggerThreshold replaces Trigger_Threshold.
func (e *CACongestionEntry) SetTriggerThreshold(v uint8) { e[3] = v }

// CCTIMin is the lowest index.
func (e *CACongestionEntry) CCTIMin() uint8 { return e[4] }

// SetCCTIMin replaces CCTI_Min.
func (e *CACongestionEntry) SetCCTIMin(v uint8) { e[4] = v }

// Entry is an entry of a congestion control table, a delay between packets: a multiplier of 14
// bits is shifted right by a shift of 2 bits.
type Entry uint16

// EntryOf is the entry of a shift of 0 to 3 and a multiplier of 0 to 16383; what does not fit
// is cut.
func EntryOf(shift uint8, multiplier uint16) Entry {
	return Entry(uint16(shift)<<14 | multiplier&0x3fff)
}

// Shift is CCT_Shift.
func (e Entry) Shift() uint8 { return uint8(e >> 14) }

// Multiplier is CCT_Multiplier.
func (e Entry) Multiplier() uint16 { return uint16(e & 0x3fff) }

// EntriesPerBlock is how many entries a CongestionControlTable has.
const EntriesPerBlock = 64

// CongestionControlTable is attribute 0x0017: a block of the table of delays. AttributeModifier
// is the block.
type CongestionControlTable [4 + 2*EntriesPerBlock]byte

// CCTILimit is the highest index in the whole table.
func (c *CongestionControlTable) CCTILimit() uint16 { return get16(c[0:]) }

// SetCCTILimit replaces CCTI_Limit.
func (c *CongestionControlTable) SetCCTILimit(v uint16) { put16(c[0:], v) }

// Entry is entry i of the block, 0 to 63; others are that of i mod 64.
func (c *CongestionControlTable) Entry(i int) Entry {
	return Entry(get16(c[4+2*(i&(EntriesPerBlock-1)):]))
}

// SetEntry replaces entry i.
func (c *CongestionControlTable) SetEntry(i int, e Entry) {
	put16(c[4+2*(i&(EntriesPerBlock-1)):], uint16(e))
}
