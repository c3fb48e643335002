package device

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// TestOptional: an attribute is given up after two sweeps in a row in which it was not taken: at a port, if another
// port of the node has ever taken it, and else at all ports. A sweep in which it is taken, and a restart, begin the
// count anew.
func TestOptional(t *testing.T) {
	at := func(port uint8) Place { return Place{smp.AttrVLArbitrationTable, 1, port} }
	other := Place{smp.AttrSLtoVLMappingTable, 1, 1}
	bad := map[Place]Trial{at(1): NotTaken}
	for _, c := range []struct {
		name  string
		sweep []map[Place]Trial
		want  []Place // given up
	}{
		{"one sweep", []map[Place]Trial{bad}, nil},
		{"two sweeps", []map[Place]Trial{bad, bad}, []Place{at(AllPorts)}},
		{"nothing was sent between", []map[Place]Trial{bad, {}, bad}, []Place{at(AllPorts)}},
		{"taken between", []map[Place]Trial{bad, {at(1): Taken}, bad}, nil},
		{"another port takes it", []map[Place]Trial{{at(1): NotTaken, at(2): Taken}, bad}, []Place{at(1)}},
		{"another port has taken it", []map[Place]Trial{{at(2): Taken}, bad, bad}, []Place{at(1)}},
		{"one block is taken", []map[Place]Trial{{at(1): Taken | NotTaken}, {at(1): Taken | NotTaken}}, []Place{at(1)}},
		{"different ports", []map[Place]Trial{{at(2): NotTaken}, {at(3): NotTaken}}, []Place{at(AllPorts)}},
	} {
		o := NewOptional()
		for _, trials := range c.sweep {
			o.SweepEnds(trials)
		}
		if got := o.All(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.name, got)
		}
		wholly := len(c.want) > 0 && c.want[0].Port == AllPorts
		if o.GivenUp(at(1)) != (c.want != nil) || o.GivenUp(at(9)) != wholly || o.GivenUp(other) {
			t.Errorf("%s: port 1 %v, port 9 %v, another attribute %v", c.name, o.GivenUp(at(1)), o.GivenUp(at(9)),
				o.GivenUp(other))
		}
		o.Forget(func(node mad.GUID) bool { return node == 1 })
		if o.GivenUp(at(1)) || len(o.All()) > 0 {
			t.Errorf("%s: %v after a restart", c.name, o.All())
		}
	}
}
