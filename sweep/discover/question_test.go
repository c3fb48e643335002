package discover

import (
	"slices"
	"testing"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/sweep/proof"
	"ibsm/topo"
	"ibsm/topo/net"
)

// TestQuestions: with a nonce, other managers are asked Questions with our port and their place: at an adapter, at a
// switch, and where our own GUID answers again. Without one they are asked for no proof.
func TestQuestions(t *testing.T) {
	p, self, _, b := two()
	p.cable(b, 3, p.add(mad.CA, 0x10, 1), 1) // our own GUID again
	for _, nonce := range []proof.Nonce{{}, {1, 2}} {
		w := newWalker(t, &p.Net, self, fabric.Config{})
		for _, at := range []net.End{{Node: 3, Port: 1}, {Node: b}} {
			other, err := w.fabric.Attach(at)
			if err != nil {
				t.Fatal(err)
			}
			other.SetIsSM(true)
		}
		asked := map[string]proof.Question{}
		w.meddle = func(req *txn.Request, o *txn.Outcome) {
			if req.Attr != smp.AttrSMInfo {
				return
			}
			q, asks := proof.In((*smp.SMInfo)(&req.Data))
			if asks != (nonce != proof.Nonce{}) || !asks && req.Data != [mad.DataSize]byte{} {
				t.Errorf("nonce %x: %v is asked %x", nonce, req.Route, req.Data)
			}
			asked[req.Route.String()] = q
			var info smp.SMInfo
			info.SetGUID(map[string]mad.GUID{"0,1,2": 0x2000, "0,1,2,1": 0x21}[req.Route.String()])
			o.Result, o.Data = txn.Replied, info
		}
		r := w.walk(New(Config{Nonce: nonce}))
		want := map[string]proof.Place{"0,1,2": {Node: 0x1000, Port: 2}, "0,1,2,1": {Node: 0x2000, Port: 1},
			"0,1,2,3": {Node: 0x2000, Port: 3}}
		found := slices.Concat(r.SMs, r.Duplicates)
		if len(asked) != len(want) || len(found) != len(want) {
			t.Fatalf("asked %v, found %+v", asked, found)
		}
		for i := range found {
			sm := &found[i]
			if q := sm.Asked; q != (proof.Question{Asker: 0x11, Nonce: nonce, Place: want[sm.Route.String()]}) {
				t.Errorf("%v was asked %+v", sm.Route, q)
			}
			if q := asked[sm.Route.String()]; nonce != (proof.Nonce{}) && q != sm.Asked {
				t.Errorf("%v was asked %+v, which is stored as %+v", sm.Route, q, sm.Asked)
			}
		}
		if got := PlacesOf(r.Builder); !slices.Equal(got, []proof.Place{{Node: 0x1000, Port: 1}}) {
			t.Errorf("our own port is at %+v", got)
		}
	}
	sw := newWalker(t, &p.Net, net.End{Node: b}, fabric.Config{})
	m := New(Config{})
	if places := m.Places(); places != nil {
		t.Errorf("before the walk our port is at %+v", places)
	}
	sw.walk(m)
	if got := m.Places(); !slices.Contains(got, proof.Place{Node: 0x1000, Port: 2}) || len(got) < 2 {
		t.Errorf("a switch is at %+v", got)
	}
}

// TestManyDuplicates: a GUID of our own node is asked for a manager there however many others were found twice before.
func TestManyDuplicates(t *testing.T) {
	m := New(Config{})
	m.b.SetSelf(topo.End{Node: m.b.AddNode(ownInfo(), mad.Route{}), Port: 1})
	for range 2 * MaxFindings {
		m.report(Finding{Kind: finding.DuplicateNodeGUID, GUID: 0x77})
	}
	route := mad.MakeRoute(1, 2, 3)
	m.report(Finding{Kind: finding.DuplicateNodeGUID, GUID: 0x10, Other: route})
	if len(m.res.Findings) != MaxFindings || !slices.Equal(m.duplicates, []mad.Route{route}) {
		t.Errorf("%d findings, asked at %v", len(m.res.Findings), m.duplicates)
	}
	for range 2 * MaxFindings {
		m.report(Finding{Kind: finding.DuplicateNodeGUID, GUID: 0x10, Other: route})
	}
	if len(m.duplicates) != MaxFindings {
		t.Errorf("%d are asked", len(m.duplicates))
	}
}

func ownInfo() *smp.NodeInfo {
	var info smp.NodeInfo
	info.SetNodeType(mad.CA)
	info.SetNumPorts(1)
	info.SetNodeGUID(0x10)
	info.SetPortGUID(0x11)
	info.SetLocalPortNum(1)
	return &info
}
