package fabric

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// TestQuirk: what an agent with a quirk answers to a Set of a block of its forwarding table, and what it has then; it
// is sound otherwise.
func TestQuirk(t *testing.T) {
	was := [mad.DataSize]byte{0, 1, 1, 2}
	sent := [mad.DataSize]byte{0, 5, 1, 6}
	for _, tt := range []struct {
		answer           string
		status           mad.Status
		answered, stored [mad.DataSize]byte
	}{
		{"0x1c", mad.StatusBadField, sent, was},
		{"acknowledges", mad.StatusOK, sent, was},
		{"ignores", mad.StatusOK, was, was},
		{"before", mad.StatusOK, was, sent},
	} {
		f := New(twoSwitches(), Config{})
		c := newClient(t, f, h1)
		c.request(mad.MethodSet, smp.AttrLinearForwardingTable, 5, was, 1)
		quirk, err := ParseQuirk("Set", "LinearForwardingTable", tt.answer)
		if err != nil || quirk.String() != "Set LinearForwardingTable "+tt.answer {
			t.Fatal(quirk, err)
		}
		f.SetDefect(sw1, quirk.Defect())
		p := c.request(mad.MethodSet, smp.AttrLinearForwardingTable, 5, sent, 1)
		q := c.request(mad.MethodGet, smp.AttrLinearForwardingTable, 5, [64]byte{}, 1)
		if p.Status() != tt.status || *p.Data() != tt.answered || *q.Data() != tt.stored {
			t.Errorf("%s: status %#x, % x, then % x", tt.answer, uint16(p.Status()), p.Data()[:4], q.Data()[:4])
		}
	}
	f := New(twoSwitches(), Config{})
	c := newClient(t, f, h1)
	for _, method := range []string{"Get", "Set"} {
		quirk, err := ParseQuirk(method, "NodeInfo", "none")
		if err != nil {
			t.Fatal(err)
		}
		f.SetDefect(sw1, quirk.Defect())
		if p := c.request(mad.MethodGet, smp.AttrNodeInfo, 0, [64]byte{}, 1); (p == nil) != (method == "Get") {
			t.Errorf("%s is not answered: %v", method, p)
		}
	}
	f.SetDefect(sw1, nil)
	if c.request(mad.MethodGet, smp.AttrNodeInfo, 0, [64]byte{}, 1) == nil {
		t.Error("a sound agent does not answer")
	}
}
