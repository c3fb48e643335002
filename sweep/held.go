package sweep

import (
	"ibsm/mad"
	"ibsm/routing"
)

// InForce are the tables that the subnet runs by: those computed, or where routes
// are left alone, those that the switches hold.
func (c *Computed) InForce() *routing.Tables {
	if c.Tables != nil {
		return c.Tables
	}
	t := &routing.Tables{LFT: make([][]uint8, len(c.held)), Top: c.LIDs.Top}
	for _, h := range c.held {
		if h != nil {
			t.Top = max(t.Top, min(h.Top, mad.MaxUnicastLID))
		}
	}
	size := routing.RowLen(t.Top)
	for s, h := range c.held {
		if h == nil {
			t.LFT[s] = resized(nil, size)
		} else {
			t.LFT[s] = resized(h.Row, size)
		}
	}
	return t
}
