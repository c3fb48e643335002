package manager

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// TestSetsText: the line of a sweep names each attribute of which there were Sets, in ascending order.
func TestSetsText(t *testing.T) {
	for want, sets := range map[string]map[mad.AttrID]int{
		"none": nil, "MulticastForwardingTable 7": {smp.AttrMulticastForwardingTable: 7},
		"SwitchInfo 2, PortInfo 66, LinearForwardingTable 4": {smp.AttrLinearForwardingTable: 4, smp.AttrPortInfo: 66,
			smp.AttrSwitchInfo: 2},
	} {
		if got := (&Summary{Sets: sets}).SetsText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
