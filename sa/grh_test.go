package sa

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// withGRH is a request whose sender demands a GRH.
func withGRH(d *mad.Datagram) *mad.Datagram {
	d.GRH = mad.GRH{Present: true, GID: gidOf(h1), HopLimit: 64} // any port's, which is not looked at
	return d
}

// TestHeard: a request with a GRH says that the port with its SLID demands one, until that is registered, and is
// itself answered accordingly.
func TestHeard(t *testing.T) {
	a := New(newView(t), nil)
	var want sarec.PathRecord
	want.SetSGID(gidOf(h3))
	want.SetDGID(gidOf(h1))
	plain := get(sarec.AttrPathRecord, sarec.PathSGID|sarec.PathDGID, want[:]) // of h3
	demands := withGRH(get(sarec.AttrPathRecord, sarec.PathSGID|sarec.PathDGID, want[:]))
	if got := a.Heard([]mad.Datagram{*plain, *from(withGRH(get(sarec.AttrPathRecord, 0, nil)), 99)}); got != nil {
		t.Errorf("of requests without a GRH, and from a LID that nobody has: %v", got)
	}
	if got := a.Heard([]mad.Datagram{*plain, *demands}); !slices.Equal(got, []mad.GUID{h3}) {
		t.Errorf("heard of %v, want %v", got, h3)
	}
	hops := func(a *Responder, in *mad.Datagram) []uint8 {
		table := *in
		table.Packet.SetMethod(mad.MethodGetTable)
		_, records := askTable(t, a, &table)
		return []uint8{(*sarec.PathRecord)(ask(t, a, in).SAData()[:]).HopLimit(),
			(*sarec.PathRecord)(records[0]).HopLimit()}
	}
	for _, c := range []struct {
		in   *mad.Datagram
		want uint8
	}{{plain, 0}, {demands, 2}, {plain, 0}} {
		if got := hops(a, c.in); !slices.Equal(got, []uint8{c.want, c.want}) {
			t.Errorf("GRH %v: HopLimits %v, want %d", c.in.GRH.Present, got, c.want)
		}
	}
	reg := registry.New()
	if err := reg.Apply(registry.PutGRHPort{Port: h3}); err != nil {
		t.Fatal(err)
	}
	a = a.WithRegistry(reg.Freeze())
	if got := a.Heard([]mad.Datagram{*demands}); got != nil {
		t.Errorf("registered, and heard of again: %v", got)
	}
	another := *a.View()
	another.Topo = without(a.View(), h2).Topo
	for name, a := range map[string]*Responder{"registered": a, "of another view": a.WithView(&another),
		"from the start": New(newView(t), reg.Freeze())} {
		if got := hops(a, plain); !slices.Equal(got, []uint8{2, 2}) {
			t.Errorf("%s: HopLimits %v", name, got)
		}
	}
	if got := hops(a.WithRegistry(nil), plain); !slices.Equal(got, []uint8{0, 0}) {
		t.Errorf("not registered any more: HopLimits %v", got)
	}
	nameless := newView(t)
	nameless.Topo.Ports[nameless.Topo.FindPort(h3)].GUID = 0
	if got := New(nameless, nil).Heard([]mad.Datagram{*demands}); got != nil {
		t.Errorf("a port without a GUID was heard of: %v", got)
	}
	if got := (*Responder)(nil).Heard([]mad.Datagram{*demands}); got != nil {
		t.Errorf("a manager that is not master has heard of %v", got)
	}
}

// TestAddGRH: requests of our own have a GRH where the port demands one, and nowhere else.
func TestAddGRH(t *testing.T) {
	reg := registry.New()
	if err := reg.Apply(registry.PutGRHPort{Port: h2}); err != nil {
		t.Fatal(err)
	}
	v := *newView(t)
	v.Subnet.Prefix = sitePrefix
	a := New(&v, reg.Freeze())
	given := mad.GRH{Present: true, GID: gidOf(h1), HopLimit: 9}
	var ds []mad.Datagram
	for _, lid := range []mad.LID{lidsOfOpenSM[h1], lidsOfOpenSM[h2], 99, lidsOfOpenSM[h2]} {
		ds = append(ds, mad.Datagram{Addr: mad.Addr{LID: lid, QPN: 1}})
	}
	ds[3].GRH = given
	(*Responder)(nil).AddGRH(ds)
	if ds[1].GRH.Present {
		t.Error("a manager that knows no port has added a GRH")
	}
	a.AddGRH(ds)
	for i, want := range []mad.GRH{{}, {Present: true, GID: mad.MakeGID(sitePrefix, h2), HopLimit: 2}, {}, given} {
		if ds[i].GRH != want {
			t.Errorf("to LID %d: %+v, want %+v", ds[i].LID, ds[i].GRH, want)
		}
	}
}

// grhPorts are the ports that a Registrar has registered.
func (d *harness) grhPorts(what string, want ...mad.GUID) {
	d.Helper()
	slices.Sort(want)
	if got := slices.Collect(d.State().GRHPorts()); !slices.Equal(got, want) {
		d.Errorf("%s: ports %v demand a GRH, want %v", what, got, want)
	}
}

// TestGRHPorts: a port that demands a GRH is registered while it is there, and for the grace period; it is
// not any more when it was found in INIT.
func TestGRHPorts(t *testing.T) {
	d := newHarness(t)
	d.step(GRHDemanded{[]mad.GUID{h2, h3, 0x777}})
	d.grhPorts("of three, one that is not there", h2, h3)
	saved := len(d.saved)
	d.step(GRHDemanded{[]mad.GUID{h2}})
	if len(d.saved) != saved {
		t.Errorf("registered again: %v", d.saved[saved:])
	}
	d.step(PortsReset{Ports: []mad.GUID{h2}})
	d.grhPorts("one was found in INIT", h3)
	if d.Stats().Reset != 1 {
		t.Errorf("%+v", d.Stats())
	}
	d.step(GRHDemanded{[]mad.GUID{h2}})
	d.step(ViewPublished{without(d.view, h2)})
	d.wait(d.cfg.Grace - time.Second)
	d.grhPorts("one is absent", h2, h3)
	d.wait(2 * time.Second)
	d.grhPorts("one is gone", h3)
	d.step(ViewWithdrawn{})
	d.step(GRHDemanded{[]mad.GUID{h1}})
	d.step(Forget{})
	d.grhPorts("not master any more", h3)
	d.Step(d.at, Restored{registry.New()}) // of a file that does not have such ports
	d.grhPorts("restored", h3)
	d.step(ViewPublished{without(d.view, h3)})
	d.wait(d.cfg.Grace - time.Second)
	d.grhPorts("absent since this term began", h3)
	d.wait(2 * time.Second)
	d.grhPorts("gone")
}

// TestGRHPortsAtHandover: nothing is registered any more when the handover target has everything.
func TestGRHPortsAtHandover(t *testing.T) {
	s := newSuccession(t)
	s.do(GRHDemanded{[]mad.GUID{h1}})
	s.prepare(h2)
	s.pass(100 * time.Millisecond)
	if s.complete != 1 {
		t.Fatalf("complete %d times", s.complete)
	}
	s.do(GRHDemanded{[]mad.GUID{h3}})
	s.grhPorts("handed over", h1)
}

// TestGRHPortsOfStates: a Responder that is given one State after the other knows what one knows that is made
// with the last, and those made before know what they did.
func TestGRHPortsOfStates(t *testing.T) {
	n, err := net.Generate("fattree:k=8")
	if err != nil {
		t.Fatal(err)
	}
	tp, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	v := withTables(t, tp, topo.SequentialLIDs(tp, 0))
	rng := rand.New(rand.NewPCG(1, 3))
	reg := registry.New()
	a := New(v, nil)
	mustKnow := func(a *Responder, state *registry.State) {
		t.Helper()
		for _, p := range tp.EndPorts {
			if want := state.DemandsGRH(tp.Ports[p].GUID); a.paths.DemandsGRH(p) != want {
				t.Fatalf("port %v: %t, want %t", tp.Ports[p].GUID, !want, want)
			}
		}
	}
	for step := range 300 {
		for range rng.IntN(4) {
			port := mad.GUID(1 + rng.IntN(1000)) // one that is not there
			if rng.IntN(2) == 0 {
				port = tp.Ports[tp.EndPorts[rng.IntN(len(tp.EndPorts))]].GUID
			}
			var c registry.Change = registry.PutGRHPort{Port: port}
			if reg.DemandsGRH(port) && rng.IntN(3) > 0 {
				c = registry.DeleteGRHPort{Port: port}
			}
			if err := reg.Apply(c); err != nil {
				t.Fatal(err)
			}
		}
		state, before := reg.Freeze(), a
		a = a.WithRegistry(state)
		mustKnow(a, state)
		mustKnow(before, before.Registry())
		if step == 200 { // another manager's
			other, err := registry.Restore(7, func(yield func(registry.Change, error) bool) {
				for i, p := range tp.EndPorts {
					if i%3 == 0 && !yield(registry.PutGRHPort{Port: tp.Ports[p].GUID}, nil) {
						return
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			reg = other
		}
	}
	if n := reg.Counts().GRHPorts; n < 150 {
		t.Errorf("only %d ports: all in one leaf", n)
	}
}
