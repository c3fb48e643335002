package sweep

import (
	"ibsm/mad"
	"ibsm/routing"
)

// InForce are the tables that the subnet runs by: those computed, or where routes
// are left alone, those that the switches hold.
func (c *SweepPlan) InForce() *routing.Tables {
	if c.Tables != nil {
		return c.Tables
	}
	switches := c.delta.switches
	t := &routing.Tables{LFT: make([][]uint8, len(switches)), Top: c.LIDs.Top}
	for i, n := range c.Topo.Switches {
		if switches[i].LFT != nil {
			t.Top = max(t.Top, min(c.Topo.Nodes[n].SwitchInfo.LinearFDBTop(), mad.MaxUnicastLID))
		}
	}
	size := routing.RowLen(t.Top)
	for i := range switches {
		t.LFT[i] = resized(switches[i].LFT.Row(), size)
	}
	return t
}
