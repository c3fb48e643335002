package cc

// The accessors of fields that no program needs so far: with them the table of fields_test.go covers the layout whole.

// CongestionInfo is the field of that name, a sum of bits.
func (c *CongestionInfo) CongestionInfo() uint16 { return get16(c[0:]) }

// ControlTableCap is how many blocks of 64 entries CongestionControlTable has; 0 on a switch.
func (c *CongestionInfo) ControlTableCap() uint8 { return c[2] }
