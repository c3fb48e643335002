package mad_test

import (
	"bytes"
	"testing"

	"ibsm/mad"
)

func TestRouteString(t *testing.T) {
	for _, tt := range []struct {
		ports []uint8
		want  string
	}{
		{nil, "0"},
		{[]uint8{1}, "0,1"},
		{[]uint8{1, 7}, "0,1,7"},
		{[]uint8{9, 10, 99, 100, 254, 0}, "0,9,10,99,100,254,0"},
	} {
		r := mad.MakeRoute(tt.ports...)
		if r.String() != tt.want || r.Hops() != len(tt.ports) || !bytes.Equal(r.Ports(), tt.ports) {
			t.Errorf("%v: %q with %d hops %v", tt.ports, r, r.Hops(), r.Ports())
		}
	}
}

// A route grows to 63 hops, each one a value of its own.
func TestRouteThen(t *testing.T) {
	var r mad.Route
	var ports []uint8
	for i := range mad.MaxHops {
		longer, ok := r.Then(uint8(i + 1))
		if !ok || r.Hops() != i || longer == r {
			t.Fatalf("hop %d: ok %v, the shorter route has %d hops", i+1, ok, r.Hops())
		}
		ports = append(ports, uint8(i+1))
		if longer != mad.MakeRoute(ports...) {
			t.Fatalf("hop %d: %v", i+1, longer)
		}
		r = longer
	}
	if same, ok := r.Then(1); ok || same != r {
		t.Errorf("hop 64: ok %v, %v", ok, same)
	}
	if cut := mad.MakeRoute(append(ports, 64)...); cut != r {
		t.Errorf("a route of 64 ports is %v", cut)
	}
}

func TestSetDirected(t *testing.T) {
	for _, hops := range []int{0, 1, 2, 63} {
		ports := make([]uint8, hops)
		for i := range ports {
			ports[i] = uint8(200 - i)
		}
		r := mad.MakeRoute(ports...)
		var p, want mad.Packet
		for i := range p {
			p[i] = 0xee
		}
		p.SetDirected(&r, mad.MethodSet, 0x0015, 0x80000007)
		copy(want[:], []byte{1, 0x81, 1, 2, 0, 0, 0, byte(hops)})
		copy(want[16:], []byte{0, 0x15, 0, 0, 0x80, 0, 0, 7})
		copy(want[32:], []byte{0xff, 0xff, 0xff, 0xff})
		copy(want[129:], ports)
		if p != want {
			t.Errorf("%d hops:\n%x, want\n%x", hops, p, want)
		}
	}
}
