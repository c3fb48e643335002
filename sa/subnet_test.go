package sa

import (
	"context"
	"os"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

// fabric is the file of the one that the packets of testdata/mad were captured on.
const fabric = "../testdata/fabrics/captured.net"

// Port GUIDs of fabric.
const (
	h1  mad.GUID = 0x100001
	h2  mad.GUID = 0x100011
	h3  mad.GUID = 0x100021
	h4  mad.GUID = 0x100031
	sw1 mad.GUID = 0x200000
	sw2 mad.GUID = 0x200010
)

// saKey makes requests trusted.
const saKey = 0x1234

// lidsOfOpenSM are those that OpenSM gave.
var lidsOfOpenSM = map[mad.GUID]mad.LID{h1: 1, sw1: 2, sw2: 3, h2: 4, h3: 5, h4: 6}

// newView is fabric at 4x SDR with MTUs of 2048, as the answers of OpenSM were
// seen on.
// TestWithView: paths are found anew where anything that decides them differs.
func TestWithView(t *testing.T) {
	old := newView(t)
	a := New(old, registry.New().Freeze())
	for name, c := range map[string]struct {
		change func(v *view.View)
		anew   bool
	}{
		"nothing":            {func(v *view.View) {}, false},
		"Topo":               {func(v *view.View) { topo := *v.Topo; v.Topo = &topo }, true},
		"LIDs":               {func(v *view.View) { lids := *v.LIDs; v.LIDs = &lids }, true},
		"Tables":             {func(v *view.View) { tables := *v.Tables; v.Tables = &tables }, true},
		"Subnet":             {func(v *view.View) { v.Subnet.Prefix = sitePrefix }, true},
		"HopLimit of vPorts": {func(v *view.View) { v.VPorts.HopLimit = 9 }, true},
		"vPorts are read":    {func(v *view.View) { v.VPorts.Unread = true }, false},
		"prefix routes": {func(v *view.View) {
			v.PrefixRoutes = append(v.PrefixRoutes, view.PrefixRoute{Router: h1})
		}, true},
	} {
		v := *old
		c.change(&v)
		b := a.WithView(&v)
		if b.View() != &v || (b.paths != a.paths) != c.anew {
			t.Errorf("%s: paths are found anew: %t, want %t", name, b.paths != a.paths, c.anew)
		}
	}
}

func newView(t testing.TB) *view.View {
	t.Helper()
	src, err := os.ReadFile(fabric)
	if err != nil {
		t.Fatal(err)
	}
	n, err := net.Parse(fabric, src)
	if err != nil {
		t.Fatal(err)
	}
	tp, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	base := make([]mad.LID, len(tp.Ports))
	for g, lid := range lidsOfOpenSM {
		base[tp.FindPort(g)] = lid
	}
	for i := range tp.Ports {
		info := &tp.Ports[i].Info
		info.SetMKey(0xabcd)
		info.SetMTUCap(mad.MTU2048)
		info.SetLinkWidthActive(mad.Width4x)
		info.SetLinkSpeedActive(1)
	}
	return withTables(t, tp, topo.NewLIDs(base, make([]uint8, len(tp.Ports))))
}

func withTables(t testing.TB, tp *topo.Topo, lids *topo.LIDs) *view.View {
	t.Helper()
	tables, err := minhop.Route(context.Background(), routing.In{Topo: tp, LIDs: lids})
	if err != nil {
		t.Fatal(err)
	}
	return &view.View{
		Topo: tp, LIDs: lids, Tables: tables,
		Subnet: view.Subnet{Prefix: mad.DefaultPrefix, SubnetTimeOut: 18, SAKey: saKey, RespTimeValue: 16},
		SMs: []view.SM{
			{GUID: h1, LID: 1, Priority: 14, State: 3, ActCount: 77},
			{GUID: h4, LID: 6, Priority: 5, State: 2, ActCount: 88},
		},
	}
}

// get is a request from H3.
func get(a mad.AttrID, comps mad.ComponentMask, rec []byte) *mad.Datagram {
	d := &mad.Datagram{Addr: mad.Addr{LID: 5, QPN: 1, SL: 2, PathBits: 3, PKeyIndex: 4}}
	d.Packet.SetHeader(mad.ClassSA, mad.MethodGet, a, 0)
	d.Packet.SetTID(0x1122334455667788)
	d.Packet.SetComponentMask(comps)
	copy(d.Packet.SAData()[:], rec)
	return d
}

// ask is the answer to a request, which there must be.
func ask(t *testing.T, a *Responder, in *mad.Datagram) *mad.Packet {
	t.Helper()
	var out mad.Datagram
	if !a.Answer(in, &out, new(Stats)) {
		t.Fatalf("no answer to %s", sarec.AttrName(in.Packet.AttrID()))
	}
	return &out.Packet
}
