package sa

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/registry"
	"ibsm/view"
)

// needed is what NVIDIA documents as the requests that its enhanced trust model answers to anybody, and
// the SM's record. GUIDInfoRecords depend on a setting.
const needed = `PathRecord Get, PathRecord GetTable, MCMemberRecord Get, MCMemberRecord Set, MCMemberRecord Delete,
	ServiceRecord Get, ServiceRecord Set, ServiceRecord Delete, ClassPortInfo Get, InformInfo Set, SMInfoRecord Get, SMInfoRecord GetTable`

// trusting is newView with a trust.
func trusting(t testing.TB, trust view.Trust) *Responder {
	v := newView(t)
	v.Subnet.Trust = trust
	return New(v, nil)
}

// harmless is a request of H3 about itself.
func harmless(attr mad.AttrID, m mad.Method) *mad.Datagram {
	d := get(attr, 0, nil)
	d.Packet.SetMethod(m)
	own := mad.MakeGID(mad.DefaultPrefix, h3)
	switch data := d.Packet.SAData(); attr {
	case sarec.AttrPathRecord:
		rec := (*sarec.PathRecord)(data[:])
		rec.SetSGID(own)
		rec.SetDLID(4)
		d.Packet.SetComponentMask(sarec.PathSGID | sarec.PathDLID)
	case sarec.AttrMCMemberRecord:
		(*sarec.MCMemberRecord)(data[:]).SetPortGID(own)
	case sarec.AttrServiceRecord:
		(*sarec.ServiceRecord)(data[:]).SetServiceGID(own)
	case sarec.AttrGUIDInfoRecord:
		(*sarec.GUIDInfoRecord)(data[:]).SetLID(5)
	}
	return d
}

// dropOf is why a request gets no answer, answered if it does.
func dropOf(a *Responder, in *mad.Datagram) Drop {
	var out mad.Datagram
	stats := new(Stats)
	if a.open(in, &out, stats) {
		return answered
	}
	for d, n := range stats.Drops() {
		if n == 1 {
			return d
		}
	}
	return 255
}

// Every record with every method: without the SA_Key only what a host needs is answered, with it all are,
// and without the enhanced trust model all are.
func TestNeeds(t *testing.T) {
	var allowed []string
	for _, s := range strings.Split(needed, ",") {
		allowed = append(allowed, strings.TrimSpace(s))
	}
	methods := []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodGetTable, mad.MethodGetTraceTable,
		mad.MethodGetMulti, mad.MethodDelete}
	pairs, tried := 0, map[Need]bool{}
	for _, trust := range []view.Trust{{}, {Enhanced: true}, {Enhanced: true, GUIDs: true},
		{Enhanced: true, Proxies: true}} {
		a := trusting(t, trust)
		for _, attr := range append(slices.Clone(attrs[1:]), 0x77, sarec.AttrTraceRecord) {
			for _, m := range methods {
				pair := fmt.Sprintf("%s %v", sarec.AttrName(attr), m)
				want := answered
				if changes := m == mad.MethodSet || m == mad.MethodDelete; trust.Enhanced &&
					!slices.Contains(allowed, pair) &&
					!(trust.GUIDs && attr == sarec.AttrGUIDInfoRecord && changes) {
					want = DropUntrusted
				}
				in := harmless(attr, m)
				if got := dropOf(a, in); got != want {
					t.Errorf("%+v: %s: %v, want %v", trust, pair, got, want)
				}
				in.Packet.SetSMKey(saKey)
				if got := dropOf(a, in); got != answered {
					t.Errorf("%+v: %s with the key: %v", trust, pair, got)
				}
				in.Packet.SetSMKey(saKey + 1)
				if got := dropOf(a, in); got != DropBadKey {
					t.Errorf("%+v: %s with another key: %v", trust, pair, got)
				}
				pairs++
				tried[Need{Attr: attr, Method: m}] = true
			}
		}
	}
	if pairs < 400 {
		t.Errorf("%d pairs", pairs)
	}
	for _, need := range Needs {
		if !tried[Need{Attr: need.Attr, Method: need.Method}] {
			t.Errorf("%s %v is in the table, and was not tried", sarec.AttrName(need.Attr), need.Method)
		}
	}
}

// The condition of each request: it is about the requester's own port, by any of its GIDs.
func TestConditions(t *testing.T) {
	reg := registry.New()
	reg.Apply(registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: h3, Index: 1}, GUID: 0xa1}})
	v := newView(t)
	v.Subnet.Prefix = sitePrefix
	gid := func(prefix mad.Prefix, guid mad.GUID) []byte { g := mad.MakeGID(prefix, guid); return g[:] }
	path := func(comps mad.ComponentMask, fill func(*sarec.PathRecord)) *mad.Datagram {
		var rec sarec.PathRecord
		fill(&rec)
		return get(sarec.AttrPathRecord, comps, rec[:])
	}
	table := func(d *mad.Datagram) *mad.Datagram { d.Packet.SetMethod(mad.MethodGetTable); return d }
	of := func(attr mad.AttrID, m mad.Method, at int, what []byte) *mad.Datagram {
		d := get(attr, 0, nil)
		d.Packet.SetMethod(m)
		copy(d.Packet.SAData()[at:], what)
		return d
	}
	const portGID, serviceGID = 16, 8 // in the records (IBA 15.2.5.17, 15.2.5.14)
	byGUIDs := view.Trust{Enhanced: true, GUIDs: true}
	for _, c := range []struct {
		what  string
		in    *mad.Datagram
		trust view.Trust
		yes   bool
	}{
		{"a path without a source", path(sarec.PathDLID, func(r *sarec.PathRecord) {
			r.SetDLID(4)
		}), view.Trust{}, false},
		{"a path from its LID", path(sarec.PathSLID|sarec.PathDLID, func(r *sarec.PathRecord) {
			r.SetSLID(5)
		}), view.Trust{}, true},
		{"a path from another LID", path(sarec.PathSLID|sarec.PathDLID, func(r *sarec.PathRecord) {
			r.SetSLID(4)
		}), view.Trust{}, false},
		{"a path from no LID", path(sarec.PathSLID, func(r *sarec.PathRecord) { r.SetSLID(77) }), view.Trust{}, false},
		{"a path from its GID", path(sarec.PathSGID, func(r *sarec.PathRecord) {
			r.SetSGID(mad.MakeGID(sitePrefix, h3))
		}), view.Trust{}, true},
		{"a path from its GID after power-up", path(sarec.PathSGID, func(r *sarec.PathRecord) {
			r.SetSGID(mad.MakeGID(mad.DefaultPrefix, h3))
		}), view.Trust{}, true},
		{"a path from its alias GID", path(sarec.PathSGID, func(r *sarec.PathRecord) {
			r.SetSGID(mad.MakeGID(sitePrefix, 0xa1))
		}), view.Trust{}, true},
		{"a path from its GUID on another subnet", path(sarec.PathSGID, func(r *sarec.PathRecord) {
			r.SetSGID(mad.MakeGID(sitePrefix+1, h3))
		}), view.Trust{}, false},
		{"a path from another GID", path(sarec.PathSGID, func(r *sarec.PathRecord) {
			r.SetSGID(mad.MakeGID(sitePrefix, h2))
		}), view.Trust{}, false},
		{"its GID and another LID", path(sarec.PathSGID|sarec.PathSLID, func(r *sarec.PathRecord) {
			r.SetSGID(mad.MakeGID(sitePrefix, h3))
			r.SetSLID(4)
		}), view.Trust{}, false},
		{"all paths from it", table(path(sarec.PathSLID, func(r *sarec.PathRecord) {
			r.SetSLID(5)
		})), view.Trust{}, false},
		{"all paths to a LID", table(path(sarec.PathDLID, func(r *sarec.PathRecord) {
			r.SetDLID(4)
		})), view.Trust{}, false},
		{"all paths", table(path(0, func(*sarec.PathRecord) {})), view.Trust{}, false},
		{"paths from it to a GID", table(path(sarec.PathSLID|sarec.PathDGID, func(r *sarec.PathRecord) {
			r.SetSLID(5)
		})), view.Trust{}, true},
		{"paths from another", table(path(sarec.PathSLID|sarec.PathDLID, func(r *sarec.PathRecord) {
			r.SetSLID(4)
		})), view.Trust{}, false},
		{"its join", of(sarec.AttrMCMemberRecord, mad.MethodSet, portGID, gid(sitePrefix, h3)), view.Trust{}, true},
		{"a join of its alias", of(sarec.AttrMCMemberRecord, mad.MethodSet, portGID, gid(sitePrefix, 0xa1)),
			view.Trust{}, true},
		{"another's join", of(sarec.AttrMCMemberRecord, mad.MethodSet, portGID, gid(sitePrefix, h2)), view.Trust{},
			false},
		{"nobody's join", of(sarec.AttrMCMemberRecord, mad.MethodSet, portGID, gid(sitePrefix, 0x999)), view.Trust{},
			false},
		{"another's join by proxy", of(sarec.AttrMCMemberRecord, mad.MethodSet, portGID, gid(sitePrefix, h2)),
			view.Trust{Proxies: true}, true},
		{"another's leave", of(sarec.AttrMCMemberRecord, mad.MethodDelete, portGID, gid(sitePrefix, h2)), view.Trust{},
			false},
		{"its service", of(sarec.AttrServiceRecord, mad.MethodSet, serviceGID, gid(sitePrefix, h3)), view.Trust{},
			true},
		{"another's service", of(sarec.AttrServiceRecord, mad.MethodSet, serviceGID, gid(sitePrefix, h2)), view.Trust{},
			false},
		{"another's service to delete", of(sarec.AttrServiceRecord, mad.MethodDelete, serviceGID, gid(sitePrefix, h2)),
			view.Trust{}, false},
		{"its GUIDs", of(sarec.AttrGUIDInfoRecord, mad.MethodSet, 0, []byte{0, 5}), byGUIDs, true},
		{"its GUIDs, not allowed", of(sarec.AttrGUIDInfoRecord, mad.MethodSet, 0, []byte{0, 5}), view.Trust{}, false},
		{"another's GUIDs", of(sarec.AttrGUIDInfoRecord, mad.MethodSet, 0, []byte{0, 4}), byGUIDs, false},
		{"nobody's GUIDs", of(sarec.AttrGUIDInfoRecord, mad.MethodDelete, 0, []byte{0, 99}), byGUIDs, false},
	} {
		c.trust.Enhanced = true
		w := *v
		w.Subnet.Trust = c.trust
		want := DropUntrusted
		if c.yes {
			want = answered
		}
		if got := dropOf(New(&w, reg.Freeze()), c.in); got != want {
			t.Errorf("%s: %v, want %v", c.what, got, want)
		}
	}
}

// A GRH with another port's SGID is dropped, with or without the enhanced trust model, and with the key.
func TestSpoofedSGID(t *testing.T) {
	for guid, want := range map[mad.GUID]Drop{h3: answered, h2: DropSpoofed, 0x999: DropSpoofed} {
		for _, key := range []uint64{0, saKey} {
			in := get(sarec.AttrClassPortInfo, 0, nil)
			in.GRH = mad.GRH{Present: true, GID: mad.MakeGID(mad.DefaultPrefix, guid)}
			in.Packet.SetSMKey(key)
			if got := dropOf(trusting(t, view.Trust{CheckSGID: true}), in); got != want {
				t.Errorf("SGID of %v, SM_Key %#x: %v, want %v", guid, key, got, want)
			}
			if got := dropOf(trusting(t, view.Trust{Enhanced: true}), in); got != answered {
				t.Errorf("SGID of %v without the check: %v", guid, got)
			}
			if in.GRH.Present = false; dropOf(trusting(t, view.Trust{CheckSGID: true}), in) != answered {
				t.Error("a packet without a GRH is dropped")
			}
		}
	}
}

// The limits of a port hold for what it registers without the key.
func TestTrustLimits(t *testing.T) {
	for _, c := range []struct {
		what string
		one  func(d *harness, n int) mad.Datagram
	}{
		{"services", func(d *harness, n int) mad.Datagram {
			rec := service(uint64(n), mad.MakeGID(mad.DefaultPrefix, h3))
			return d.request(h3, mad.MethodSet, sarec.AttrServiceRecord, serviceComps, rec[:])
		}},
		{"subscriptions", func(d *harness, n int) mad.Datagram {
			var info sarec.InformInfo
			info.SetLIDRangeBegin(registry.AnyLID)
			info.SetIsGeneric(1)
			info.SetSubscribe(1)
			info.SetType(0xffff)
			info.SetProducerType(0xffffff)
			info.SetTrapNumber(uint16(64 + n))
			return d.request(h3, mad.MethodSet, sarec.AttrInformInfo, 0, info[:])
		}},
		{"groups", func(d *harness, n int) mad.Datagram {
			mgid := registry.BroadcastMGID(0xffff, 2)
			mgid[15] = byte(n)
			j := newJoining(h3, mgid, 1)
			return d.request(h3, mad.MethodSet, sarec.AttrMCMemberRecord, j.comps, j.rec[:])
		}},
	} {
		d := newHarness(t)
		v := *d.view
		v.Subnet.Trust = view.Trust{Enhanced: true, Groups: 3, Services: 3, Subscriptions: 3}
		d.step(ViewPublished{&v})
		got := ""
		for n := range 5 {
			got += fmt.Sprintf("%v ", d.ask(c.one(d, n+1)).Status() == mad.StatusOK)
		}
		in := c.one(d, 9)
		in.Packet.SetSMKey(saKey)
		if got += fmt.Sprint(d.ask(in).Status() == mad.StatusOK); got != "true true true false false true" {
			t.Errorf("%s: %s", c.what, got)
		}
	}
}

// With the enhanced trust model a service of no partition is shown only to ports that share a P_Key with
// the one that it is at.
func TestServicesOfOthers(t *testing.T) {
	for _, enhanced := range []bool{false, true} {
		d := newHarness(t)
		v := *d.view
		v.Subnet.Trust.Enhanced = enhanced
		d.step(ViewPublished{&v})
		rec := service(7, mad.MakeGID(mad.DefaultPrefix, h2)) // a limited member of the default partition
		if st := d.ask(
			d.request(h2, mad.MethodSet, sarec.AttrServiceRecord, sarec.ServiceServiceID|sarec.ServiceServiceGID,
				rec[:])).Status(); st != mad.StatusOK {
			t.Fatal(st)
		}
		a := New(&v, d.reg.Freeze())
		for from, shown := range map[mad.GUID]bool{h1: true, h3: true, h4: !enhanced} { // H4 is another limited member
			in := d.request(from, mad.MethodGet, sarec.AttrServiceRecord, sarec.ServiceServiceID, rec[:])
			if st := ask(t, a, &in).Status(); (st == mad.StatusOK) != shown {
				t.Errorf("enhanced %v: to %v: %v", enhanced, from, st)
			}
			in.Packet.SetSMKey(saKey)
			if st := ask(t, a, &in).Status(); st != mad.StatusOK {
				t.Errorf("to %v with the key: %v", from, st)
			}
		}
	}
}

// Offenders are counted by sender and reason, and bounded; each is logged once.
func TestOffenders(t *testing.T) {
	a := trusting(t, view.Trust{Enhanced: true})
	stats := new(Stats)
	var out mad.Datagram
	for range 3 {
		a.Answer(get(sarec.AttrNodeRecord, 0, nil), &out, stats)
	}
	guess := get(sarec.AttrClassPortInfo, 0, nil)
	guess.Packet.SetSMKey(99)
	a.Answer(guess, &out, stats)
	rows, more := stats.Offenders.All()
	if len(rows) != 2 || more != 0 || rows[0].Why != DropBadKey || rows[0].Count != 1 || rows[1].Why != DropUntrusted ||
		rows[1].Count != 3 ||
		rows[1].Port != h3 || rows[1].LID != 5 || rows[1].Attr != sarec.AttrNodeRecord ||
		rows[1].Method != mad.MethodGet {
		t.Errorf("%+v, %d more", rows, more)
	}
	for lid := range mad.LID(2 * maxOffenders) { // no port has these
		guess.LID = 100 + lid
		a.Answer(guess, &out, stats)
	}
	if rows, more = stats.Offenders.All(); len(rows) != maxOffenders || more != maxOffenders+4 ||
		rows[0].LID != 99+2*maxOffenders {
		t.Errorf("%d rows, the latest of LID %v, %d more", len(rows), rows[0].LID, more)
	}
}

// The table in docs/security.md is that of the code.
func TestNeedsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text),
		"| request without the SA_Key | method | answered |\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	want := ""
	for _, n := range Needs {
		want += fmt.Sprintf("| %s | %v | %v |\n", sarec.AttrName(n.Attr), n.Method, n.If)
	}
	if got := table + "\n"; got != want {
		t.Errorf("the table is\n%s, want\n%s", got, want)
	}
}
