package fabric

import (
	"math/rand/v2"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// TestVPortsAtRandom: whatever is requested of an agent and done to its host, nothing panics, a Get changes nothing,
// and no vPort is in a state that it cannot be in.
func TestVPortsAtRandom(t *testing.T) {
	var seen [smp.PortActive + 1]int // functions in each state, by steps
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0xffb0))
		yes := func() bool { return r.IntN(2) == 0 }
		f, c := withVPorts(t, VPorts{Layout: smp.VPortLayouts[r.IntN(3)], AnyModifier: yes(), AnyReadOnly: yes(),
			OwnVPort0: yes(), OffUntilEnabled: yes(), TopOfUp: yes(), Remembers: yes(), OwnLIDs: yes(),
			ClearedByOne: yes(), Lag: time.Duration(r.IntN(2)) * time.Second})
		for step := range 600 {
			switch r.IntN(20) {
			case 0:
				disturb(f, r)
			case 1:
				c.raise(f)
			default:
				request(t, f, c, r)
			}
			f.Advance(f.Now() + time.Duration(r.IntN(100))*time.Millisecond)
			for buf := make([]mad.Datagram, 16); c.s.Recv(buf) > 0; { // traps
			}
			if what := impossible(f); what != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, what)
			}
			for i := 1; i <= f.NumFunctions(end(h2, 1)); i++ {
				info := f.VPortInfo(function(h2, uint16(i)))
				seen[info.VPortState()]++
			}
		}
	}
	if seen[smp.PortInit] == 0 || seen[smp.PortArmed] == 0 || seen[smp.PortActive] == 0 {
		t.Errorf("functions were in the states %v: some never", seen)
	}
	t.Logf("functions in the states from Down to Active: %v", seen[smp.PortDown:])
}

// raise brings the link of H2 up, if it is not.
func (c *client) raise(f *Fabric) {
	c.t.Helper()
	for at := f.PortInfo(end(h2, 1)); at.PortState() < smp.PortActive; at = f.PortInfo(end(h2, 1)) {
		next := at.PortState() + 1
		c.mustChange(2, func(pi *smp.PortInfo) { pi.SetPortState(next) }, paths[sw1]...)
		c.mustChange(0, func(pi *smp.PortInfo) { pi.SetPortState(next) }, paths[h2]...)
	}
}

// disturb does something to the host of H2, or to its link.
func disturb(f *Fabric, r *rand.Rand) {
	at := end(h2, 1)
	n := f.NumFunctions(at)
	if n == 0 || r.IntN(12) == 0 {
		if err := f.SetFunctions(at, 1+r.IntN(6)); err != nil {
			panic(err)
		}
		return
	}
	v := function(h2, uint16(1+r.IntN(n)))
	switch r.IntN(9) {
	case 0:
		f.SetFunctionGUID(v, mad.GUID(r.IntN(8)), mad.GUID(r.IntN(8)))
	case 1:
		f.MoveFunctionGUID(v, function(h3, 1))
	case 2:
		f.SetFunctionLoaded(v, r.IntN(3) > 0)
	case 3:
		f.SetFunctionPolicy(v, r.IntN(3) == 0)
	case 4:
		f.SetFunctionLID(v, r.IntN(2) == 0, uint16(r.IntN(n+1)))
	case 5:
		f.RebootFunction(v)
	case 6:
		f.LinkDown(at)
		f.LinkUp(at)
	case 7:
		f.ProbeVPort(v, lids[h3], f.VPortGID(function(h3, 1)), mad.DefaultPKey, 0, nil)
	case 8:
		f.BadQKey(v, end(h3, 1), 1)
	}
}

// request sends H2 a Get or Set of what it holds, with a change or without, or of anything.
func request(t *testing.T, f *Fabric, c *client, r *rand.Rand) {
	attr := mad.AttrID(attrVirtualization + r.IntN(7))
	has, _ := f.VPorts(h2)
	mod := has.Layout.Mod(attr, uint16(r.IntN(6)), 0)
	if r.IntN(4) == 0 {
		mod = []uint32{uint32(r.IntN(6)) << 16, uint32(r.IntN(6)), r.Uint32()}[r.IntN(3)]
	}
	before := f.VirtualizationInfo(end(h2, 1))
	got := c.request(mad.MethodGet, attr, mod, [64]byte{}, paths[h2]...)
	if after := f.VirtualizationInfo(end(h2, 1)); got == nil || after != before {
		t.Fatalf("Get %s %#x: %s; VirtualizationInfo %x before, %x after", smp.AttrName(attr), mod, describe(got),
			before[:8], after[:8])
	}
	if r.IntN(3) == 0 {
		return
	}
	data := *got.Data()
	switch r.IntN(4) {
	case 0, 1: // as a manager would
		switch attr {
		case attrVirtualization:
			data[4] = 0x80
		case attrVPort:
			next := data[0]>>4 + 1
			if r.IntN(4) == 0 {
				next = byte(r.IntN(6))
			}
			if data[0] = data[0]&0x0f | next<<4; data[0]&0x04 != 0 {
				data[9] = byte(r.IntN(64))
			}
		}
	case 2:
		data[r.IntN(64)] = byte(r.Uint32())
	}
	if p := c.request(mad.MethodSet, attr, mod, data, paths[h2]...); p == nil {
		t.Fatalf("Set %s %#x is not answered", smp.AttrName(attr), mod)
	}
}

// impossible says what is wrong with the vPorts of H2.
func impossible(f *Fabric) string {
	at := end(h2, 1)
	virtual, port := f.VirtualizationInfo(at), f.PortInfo(at)
	if int(virtual.VPortIndexTop()) > f.NumFunctions(at) {
		return "VPortIndexTop is above the last function"
	}
	for i := 1; i <= f.NumFunctions(at); i++ {
		info := f.VPortInfo(function(h2, uint16(i)))
		up := info.VPortState() > smp.PortDown
		switch {
		case info.VPortState() < smp.PortDown || info.VPortState() > smp.PortActive:
			return "a function is in no state"
		case up && !virtual.VirtualizationEnable():
			return "a function is up though virtualization is not enabled"
		case up && info.PortGUID() == 0:
			return "a function without GUID is up"
		case info.VPortState() > port.PortState():
			return "a function is above its port"
		case info.VPortState() > smp.PortInit && info.LIDRequired() && info.VPortLID() == 0:
			return "a function is Armed without the LID that it requires"
		}
	}
	return ""
}
