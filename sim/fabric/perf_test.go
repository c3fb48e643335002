package fabric

import (
	"testing"

	"ibsm/mad"
)

// The performance agent answers across the fabric once ports are Active, and gives
// switches all their ports at once.
func TestPerf(t *testing.T) {
	sw, ca := &node{numPorts: 4, sw: &switchState{}}, &node{numPorts: 2}
	for _, tt := range []struct {
		name string
		n    *node
		set  bool
		attr mad.AttrID
		port uint8
		want mad.Status
	}{
		{"what it can", sw, false, attrClassPortInfo, 0, mad.StatusOK},
		{"what it can is not to be set", sw, true, attrClassPortInfo, 0, mad.StatusBadMethodAttr},
		{"a port", ca, false, attrPortCounters, 2, mad.StatusOK},
		{"reset", ca, true, attrPortCounters, 2, mad.StatusOK},
		{"64 bits", ca, false, attrPortCountersExtended, 1, mad.StatusOK},
		{"no such port", ca, false, attrPortCounters, 3, mad.StatusBadField},
		{"port 0 of an adapter", ca, false, attrPortCounters, 0, mad.StatusBadField},
		{"port 0 of a switch", sw, false, attrPortCounters, 0, mad.StatusOK},
		{"all of a switch", sw, false, attrPortCounters, allPorts, mad.StatusOK},
		{"all of an adapter", ca, false, attrPortCounters, allPorts, mad.StatusBadField},
		{"samples", sw, false, 0x0010, 1, mad.StatusBadMethodAttr},
	} {
		d := [mad.DataSize]byte{1: tt.port, 40: 7}
		if got := tt.n.perf(tt.set, tt.attr, &d); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if tt.want == mad.StatusOK && d[40] != 0 {
			t.Errorf("%s: a counter shows %d", tt.name, d[40])
		}
		if tt.attr != attrClassPortInfo && d[1] != tt.port {
			t.Errorf("%s: PortSelect %d became %d", tt.name, tt.port, d[1])
		}
	}
}
