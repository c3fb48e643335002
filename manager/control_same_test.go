package manager

import (
	"testing"

	"ibsm/mad"
)

// TestSameControl: a control packet is a repetition of another one only if nothing in it differs.
func TestSameControl(t *testing.T) {
	var d mad.Datagram
	route := mad.MakeRoute(1, 2)
	d.Packet.SetDirected(&route, mad.MethodSet, 0x20, 1)
	c := control{request: d}
	again := d
	again.Packet.SetTID(7)
	if !c.same(&again) {
		t.Error("another attempt is not the same")
	}
	for what, change := range map[string]func(p *mad.Packet){
		"modifier": func(p *mad.Packet) { p.SetAttrMod(2) }, "data": func(p *mad.Packet) { p.Data()[63]++ },
		"return path": func(p *mad.Packet) { p.ReturnPath()[1]++ }, "hops": func(p *mad.Packet) { p[7]++ },
	} {
		other := d
		if change(&other.Packet); c.same(&other) {
			t.Errorf("with another %s it is the same", what)
		}
	}
}
