package manager

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// TestSetsText: the line of a sweep names each attribute that the plan can write.
func TestSetsText(t *testing.T) {
	for attr, want := range map[mad.AttrID]string{
		smp.AttrPortInfo: "PortInfo 7", smp.AttrSLtoVLMappingTable: "SLtoVLMappingTable 7", smp.AttrVLArbitrationTable: "VLArbitrationTable 7",
		smp.AttrSwitchInfo: "SwitchInfo 7", smp.AttrExtendedPortInfo: "ExtendedPortInfo 7", smp.AttrPKeyTable: "P_KeyTable 7",
	} {
		if got := (&Summary{Sets: map[mad.AttrID]int{attr: 7}}).SetsText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
