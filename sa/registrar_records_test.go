package sa

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/registry"
)

// service is a ServiceRecord of H3 that a test's client sends.
func service(id uint64, gid mad.GID) (rec sarec.ServiceRecord) {
	rec.SetServiceID(id)
	rec.SetServiceGID(gid)
	rec.SetServiceKey([16]byte{1})
	rec.SetServiceName([64]byte{'a'})
	rec.SetServiceData([64]byte{63: 9})
	return rec
}

const serviceComps = sarec.ServiceServiceID | sarec.ServiceServiceGID | sarec.ServiceServiceKey |
	sarec.ServiceServiceName |
	sarec.ServiceAllServiceData

// What OpenSM was seen to answer to H3, and what it should have refused.
func TestServices(t *testing.T) {
	d := newHarness(t)
	own, nobody := mad.MakeGID(mad.DefaultPrefix, h3), mad.MakeGID(mad.DefaultPrefix, 0x999)
	const pkeyComps = serviceComps | sarec.ServiceServicePKey
	with := func(rec sarec.ServiceRecord, change func(*sarec.ServiceRecord)) sarec.ServiceRecord {
		change(&rec)
		return rec
	}
	key := func(k mad.PKey) func(*sarec.ServiceRecord) {
		return func(r *sarec.ServiceRecord) { r.SetServicePKey(k) }
	}
	for _, c := range []struct {
		name   string
		method mad.Method
		from   mad.GUID
		comps  mad.ComponentMask
		rec    sarec.ServiceRecord
		status mad.Status
	}{
		{"only an ID", mad.MethodSet, h3, sarec.ServiceServiceID, service(1, own), mad.StatusReqInvalid},
		{"set", mad.MethodSet, h3, serviceComps, service(1, own), mad.StatusOK},
		{"P_Key held", mad.MethodSet, h3, pkeyComps, with(service(2, own), key(0x8001)), mad.StatusOK},
		{"P_Key not held", mad.MethodSet, h3, pkeyComps, with(service(2, own), key(0x8009)), mad.StatusReqInvalid},
		{"P_Key 0", mad.MethodSet, h3, pkeyComps, service(2, own), mad.StatusReqInvalid},
		{"GID of nobody in a partition", mad.MethodSet, h3, pkeyComps, with(service(3, nobody), key(0x8001)),
			mad.StatusReqInvalid},
		{"GID of nobody", mad.MethodSet, h3, serviceComps, service(3, nobody), mad.StatusOK},
		{"of a group", mad.MethodSet, h3, pkeyComps, with(service(4, broadcast), key(0xffff)), mad.StatusOK},
		{"of a port out of reach", mad.MethodSet, h2, serviceComps, service(5, mad.MakeGID(mad.DefaultPrefix, h4)),
			mad.StatusReqInvalid},
		{"another key, not its port", mad.MethodSet, h1, serviceComps,
			with(service(1, own), func(r *sarec.ServiceRecord) {
				r.SetServiceKey([16]byte{2})
			}), mad.StatusReqDenied},
		{"another name", mad.MethodSet, h3, serviceComps, with(service(1, own), func(r *sarec.ServiceRecord) {
			r.SetServiceName([64]byte{'b'})
		}), mad.StatusOK},
		{"delete by GID 0", mad.MethodDelete, h3, 0, service(1, mad.GID{}), mad.StatusNoRecords},
		{"delete without the key, not its port", mad.MethodDelete, h1, 0,
			with(service(1, own), func(r *sarec.ServiceRecord) {
				r.SetServiceKey([16]byte{})
			}), mad.StatusReqDenied},
		{"delete without the key", mad.MethodDelete, h3, 0, with(service(1, own), func(r *sarec.ServiceRecord) {
			r.SetServiceKey([16]byte{})
		}), mad.StatusOK},
		{"delete again", mad.MethodDelete, h3, 0, service(1, own), mad.StatusNoRecords},
	} {
		p := d.ask(d.request(c.from, c.method, sarec.AttrServiceRecord, c.comps, c.rec[:]))
		if p.Status() != c.status {
			t.Errorf("%s: %v, want %v", c.name, p.Status(), c.status)
		}
		if c.name != "set" {
			continue
		}
		want := c.rec
		want.SetServicePKey(0xffff)
		want.SetServiceLease(registry.InfiniteLease)
		want.SetServiceKey([16]byte{})
		if sarec.ServiceRecord(p.SAData()[:176]) != want || p.AttributeOffset() != 22 {
			t.Errorf("reply\n%x, want\n%x", p.SAData()[:176], want)
		}
	}
	if n := d.State().Counts().Services; n != 3 {
		t.Errorf("%d services, want 3", n)
	}
}

// A lease that another manager has given ends by the clock of the one that goes on with it:
// earlier by as much as that is ahead.
func TestLeasesByOtherClocks(t *testing.T) {
	for ahead, want := range map[int64]int{-3600: 1, 0: 1, 3600: 0} {
		d := newHarness(t)
		rec := service(1, mad.MakeGID(mad.DefaultPrefix, h3))
		rec.SetServiceLease(100)
		if p := d.ask(d.request(h3, mad.MethodSet, sarec.AttrServiceRecord, serviceComps|sarec.ServiceServiceLease,
			rec[:])); p.Status() != mad.StatusOK {
			t.Fatal(p.Status())
		}
		reg, err := registry.Restore(d.State().Seq(), func(yield func(registry.Change, error) bool) {
			for c := range d.State().Changes() {
				if !yield(c, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		r := NewRegistrar(RegistrarConfig{Groups: DefaultGroups(), Began: 1_000_000 + ahead}, reg, new(Stats))
		r.Step(0, ViewPublished{d.view})
		r.Step(time.Second, TimePassed{})
		if n := r.State().Counts().Services; n != want {
			t.Errorf("%d s ahead: %d services, want %d", ahead, n, want)
		}
	}
}

// A lease ends to the second, and a further Set renews it.
func TestLeases(t *testing.T) {
	d := newHarness(t)
	own := mad.MakeGID(mad.DefaultPrefix, h3)
	set := func(id uint64, lease uint32) {
		rec := service(id, own)
		rec.SetServiceLease(lease)
		if p := d.ask(d.request(h3, mad.MethodSet, sarec.AttrServiceRecord, serviceComps|sarec.ServiceServiceLease,
			rec[:])); p.Status() != mad.StatusOK {
			t.Fatal(p.Status())
		}
	}
	count := func(want int) {
		t.Helper()
		if n := d.State().Counts().Services; n != want {
			t.Errorf("at %v: %d services, want %d", d.at, n, want)
		}
	}
	set(1, 4)
	set(2, 10)
	set(3, registry.InfiniteLease)
	d.wait(3 * time.Second)
	count(3)
	d.wait(time.Second)
	count(2)
	set(2, 10)
	d.wait(9 * time.Second)
	count(2)
	d.wait(time.Second)
	count(1)
	set(4, 0)
	d.wait(time.Second)
	count(1)
}

// everything is the InformInfo that asks for all generic notices.
func everything(subscribe uint8) (info sarec.InformInfo) {
	info.SetLIDRangeBegin(registry.AnyLID)
	info.SetIsGeneric(1)
	info.SetSubscribe(subscribe)
	info.SetType(registry.AnyType)
	info.SetTrapNumber(registry.AnyTrap)
	info.SetProducerType(registry.AnyProducer)
	return info
}

// inform sends an InformInfo.
func (d *harness) inform(from mad.GUID, info sarec.InformInfo, trusted bool) *mad.Packet {
	d.Helper()
	in := d.request(from, mad.MethodSet, sarec.AttrInformInfo, 0, info[:])
	if trusted {
		in.Packet.SetSMKey(saKey)
	}
	return d.ask(in)
}

func TestSubscriptions(t *testing.T) {
	d := newHarness(t)
	with := func(info sarec.InformInfo, change func(*sarec.InformInfo)) sarec.InformInfo {
		change(&info)
		return info
	}
	trap := func(n uint16) func(*sarec.InformInfo) {
		return func(i *sarec.InformInfo) { i.SetTrapNumber(n) }
	}
	qpn := func(n uint32) func(*sarec.InformInfo) {
		return func(i *sarec.InformInfo) { i.SetTrapNumber(64); i.SetQPN(n) }
	}
	source := func(guid mad.GUID) func(*sarec.InformInfo) {
		return func(i *sarec.InformInfo) { i.SetGID(mad.MakeGID(mad.DefaultPrefix, guid)) }
	}
	lids := func(first, last mad.LID) func(*sarec.InformInfo) {
		return func(i *sarec.InformInfo) { i.SetLIDRangeBegin(first); i.SetLIDRangeEnd(last) }
	}
	for _, c := range []struct {
		name    string
		from    mad.GUID
		info    sarec.InformInfo
		trusted bool
		status  mad.Status
	}{
		{"end of what there is not", h3, with(everything(0), qpn(1)), false, mad.StatusReqInvalid},
		{"neither begin nor end", h3, everything(2), false, mad.StatusReqInvalid},
		{"neither generic nor a vendor's", h3, with(everything(1), func(i *sarec.InformInfo) {
			i.SetIsGeneric(2)
		}), false, mad.StatusReqInvalid},
		{"unknown GID", h3, with(everything(1), source(0x999)), false, mad.StatusReqInvalid},
		{"LIDs that there are not", h3, with(everything(1), lids(900, 0)), false, mad.StatusReqInvalid},
		{"security trap", h3, with(everything(1), trap(257)), false, mad.StatusReqInvalid},
		{"security trap, trusted", h3, with(everything(1), trap(257)), true, mad.StatusOK},
		{"begin", h3, with(everything(1), trap(64)), false, mad.StatusOK},
		{"again", h3, with(everything(1), trap(64)), false, mad.StatusOK},
		{"all", h3, everything(1), false, mad.StatusOK},
		{"GID of another", h3, with(everything(1), source(h1)), false, mad.StatusOK},
		{"all LIDs", h3, with(everything(1), lids(1, 6)), false, mad.StatusOK},
		{"all LIDs, some out of reach", h4, with(everything(1), lids(1, 6)), false, mad.StatusReqInvalid},
		{"GID out of reach", h4, with(everything(1), source(h2)), false, mad.StatusReqInvalid},
		{"end with QPN 0", h3, with(everything(0), qpn(0)), false, mad.StatusReqInvalid},
		{"end", h3, with(everything(0), qpn(1)), false, mad.StatusOK},
		{"end of another's", h1, with(everything(0), func(i *sarec.InformInfo) {
			i.SetQPN(1)
		}), false, mad.StatusReqInvalid},
	} {
		p := d.inform(c.from, c.info, c.trusted)
		info := (*sarec.InformInfo)(p.SAData()[:])
		if p.Status() != c.status {
			t.Errorf("%s: %v, want %v", c.name, p.Status(), c.status)
		}
		if p.Status() != mad.StatusOK && info.Subscribe() != 0 {
			t.Errorf("%s: refused with Subscribe %d", c.name, info.Subscribe())
		}
	}
	if n := d.State().Counts().Subscriptions; n != 4 {
		t.Errorf("%d subscriptions, want 4", n)
	}
}

// aliases sends a GUIDInfoRecord about a port.
func (d *harness) aliases(from mad.GUID, m mad.Method, lid mad.LID, block uint8, comps mad.ComponentMask,
	guids map[int]mad.GUID) (smp.GUIDInfo, mad.Status) {
	d.Helper()
	var rec sarec.GUIDInfoRecord
	rec.SetLID(lid)
	rec.SetBlockNum(block)
	for i, guid := range guids {
		comps |= sarec.GUIDInfoGUID0 << i
		rec.GUIDInfo().SetGUID(i, guid)
	}
	p := d.ask(d.request(from, m, sarec.AttrGUIDInfoRecord, comps, rec[:]))
	return *(*sarec.GUIDInfoRecord)(p.SAData()[:]).GUIDInfo(), p.Status()
}

func TestAliasGUIDs(t *testing.T) {
	d := newHarness(t)
	const both = sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum
	type guids = map[int]mad.GUID
	for _, c := range []struct {
		name   string
		from   mad.GUID
		method mad.Method
		lid    mad.LID
		block  uint8
		comps  mad.ComponentMask
		guids  guids
		status mad.Status
		want   guids // of the reply's block, with StatusOK
	}{
		{"first", h3, mad.MethodSet, 5, 0, both, guids{1: 0x1234}, mad.StatusOK, guids{0: h3, 1: 0x1234}},
		{"the port's own", h3, mad.MethodSet, 5, 0, both, guids{0: 0x1235}, mad.StatusReqInvalid, nil},
		{"the port's own taken away", h3, mad.MethodDelete, 5, 0, both, guids{0: 0}, mad.StatusReqInvalid, nil},
		{"of the SA's choice", h3, mad.MethodSet, 5, 0, both, guids{2: 0}, mad.StatusOK,
			guids{0: h3, 1: 0x1234, 2: 0x0014050000000001}},
		{"of the SA's choice again", h3, mad.MethodSet, 5, 0, both, guids{2: 0}, mad.StatusOK,
			guids{0: h3, 1: 0x1234, 2: 0x0014050000000001}},
		{"an alias of another", h1, mad.MethodSet, 1, 0, both, guids{1: 0x1234, 3: 0x5555}, mad.StatusOK,
			guids{0: h1, 3: 0x5555}},
		{"a port's", h1, mad.MethodSet, 1, 0, both, guids{1: h4}, mad.StatusOK, guids{0: h1, 3: 0x5555}},
		{"twice in one request", h1, mad.MethodSet, 1, 1, both, guids{0: 0x77, 1: 0x77}, mad.StatusOK, guids{0: 0x77}},
		{"last slot", h1, mad.MethodSet, 1, 3, both, guids{7: 0x88}, mad.StatusOK, guids{7: 0x88}},
		{"unknown LID", h3, mad.MethodSet, 99, 0, both, guids{1: 1}, mad.StatusNoRecords, nil},
		{"unknown block", h3, mad.MethodSet, 5, 99, both, guids{1: 1}, mad.StatusNoRecords, nil},
		{"block beyond GUIDCap", h3, mad.MethodSet, 5, 4, both, guids{1: 1}, mad.StatusNoRecords, nil},
		{"no block", h3, mad.MethodSet, 5, 0, sarec.GUIDInfoLID, guids{1: 1}, mad.StatusReqInsufficient, nil},
		{"another node's", h3, mad.MethodSet, 6, 0, both, guids{1: 0x99}, mad.StatusReqDenied, nil},
		{"taken away", h3, mad.MethodDelete, 5, 0, both, guids{1: 0}, mad.StatusOK,
			guids{0: h3, 2: 0x0014050000000001}},
	} {
		got, st := d.aliases(c.from, c.method, c.lid, c.block, c.comps, c.guids)
		if st != c.status {
			t.Errorf("%s: %v, want %v", c.name, st, c.status)
			continue
		}
		var want smp.GUIDInfo
		for i, guid := range c.want {
			want.SetGUID(i, guid)
		}
		if st == mad.StatusOK && got != want {
			t.Errorf("%s: %x, want %x", c.name, got, want)
		}
	}
	if n := d.State().Counts().Aliases; n != 4 {
		t.Errorf("%d aliases, want 4", n)
	}
}

// A port that is not there keeps its aliases as long as it may come back.
func TestAliasOfAbsent(t *testing.T) {
	d := newHarness(t)
	const both = sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum
	if _, st := d.aliases(h2, mad.MethodSet, 4, 0, both, map[int]mad.GUID{1: 0x1234}); st != mad.StatusOK {
		t.Fatal(st)
	}
	d.step(ViewPublished{without(d.view, h2)})
	var lines []string
	d.stats.Refusals.Log = func(_ slog.Level, text string) { lines = append(lines, text) }
	got, st := d.aliases(h3, mad.MethodSet, 5, 0, both, map[int]mad.GUID{1: 0x1234})
	if st != mad.StatusOK || got.GUID(1) != 0 || d.Stats().Refused != 0 {
		t.Errorf("%v, GUID %v, %+v", st, got.GUID(1), d.Stats())
	}
	said := fmt.Sprintf(
		"set_guidinfo: ERR 5108: Duplicate alias port GUID 0x1234 index 1 base port GUID 0x%x, alias GUID already assigned to base port GUID 0x%x", uint64(h3), uint64(h2))
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, said) }) {
		t.Errorf("logged %q, without %q", lines, said)
	}
}

// An alias joins groups as its port's, stays while it is in one, and goes with the port.
func TestAliasJoins(t *testing.T) {
	d := newHarness(t)
	const both = sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum
	if _, st := d.aliases(h3, mad.MethodSet, 5, 0, both, map[int]mad.GUID{1: 0x1234}); st != mad.StatusOK {
		t.Fatal(st)
	}
	j := newJoining(h3, broadcast, 1)
	j.rec.SetPortGID(mad.MakeGID(mad.DefaultPrefix, 0x1234))
	if _, st := d.member(mad.MethodSet, j); st != mad.StatusOK {
		t.Fatal(st)
	}
	if m, _ := d.State().Member(broadcast, j.rec.PortGID()); m.Proxy {
		t.Error("a port is held to be the proxy of its alias")
	}
	for _, m := range []mad.Method{mad.MethodDelete, mad.MethodSet} {
		if _, st := d.aliases(h3, m, 5, 0, both, map[int]mad.GUID{1: 0x4321}); st != mad.StatusReqDenied {
			t.Errorf("%v of an alias that is a member: %v", m, st)
		}
	}
	d.step(PortsReset{Ports: []mad.GUID{h3}})
	if c := d.State().Counts(); c.Aliases != 0 || c.Members != 0 {
		t.Errorf("after its port was reset: %+v", c)
	}
	d.step(PortsReset{Ports: []mad.GUID{h3}})
	if n := d.Stats().Reset; n != 1 {
		t.Errorf("%d ports lost registrations, want 1: the second time it had none", n)
	}
}

// The reply waits for the port, and says so when it did not take its GUIDs.
func TestGUIDsRefused(t *testing.T) {
	d := newHarness(t)
	d.slow = true
	var rec sarec.GUIDInfoRecord
	rec.SetLID(5)
	rec.GUIDInfo().SetGUID(1, 0x1234)
	in := d.request(h3, mad.MethodSet, sarec.AttrGUIDInfoRecord, sarec.GUIDInfoLID|sarec.GUIDInfoBlockNum|
		sarec.GUIDInfoGUID0<<1, rec[:])
	d.step(Received{Datagrams: []mad.Datagram{in, in}})
	want := smp.GUIDInfo{}
	want.SetGUID(0, h3)
	want.SetGUID(1, 0x1234)
	if len(d.guids) != 1 || d.guids[0] != (GUIDBlock{h3, 0, want}) || len(d.sent) != 0 {
		t.Fatalf("writes %v, sends %d", d.guids, len(d.sent))
	}
	d.step(Durable{d.reg.Seq()})
	if len(d.sent) != 0 {
		t.Fatal("replied before the port had its GUIDs")
	}
	d.step(GUIDsWritten{GUIDBlock: d.guids[0], Outcome: HoldsUnknown})
	if len(d.sent) != 1 || d.sent[0].Packet.Status() != mad.StatusNoResources || d.Stats().Pending != 0 {
		t.Errorf("%d sent, %+v", len(d.sent), d.Stats())
	}
}

// TestGUIDsUnknown: a block that a port is not known to hold is written again until it is; what the port does not take
// the SA does not say that it has, and what the port keeps is taken away again.
func TestGUIDsUnknown(t *testing.T) {
	const both = sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum
	d := newHarness(t)
	d.slow = true
	order := func(m mad.Method, guid mad.GUID) GUIDBlock {
		t.Helper()
		var rec sarec.GUIDInfoRecord
		rec.SetLID(5)
		rec.GUIDInfo().SetGUID(1, guid)
		d.guids, d.sent = nil, nil
		d.step(Received{
			Datagrams: []mad.Datagram{d.request(h3, m, sarec.AttrGUIDInfoRecord, both|sarec.GUIDInfoGUID0<<1, rec[:])},
		})
		d.step(Durable{d.reg.Seq()})
		if len(d.guids) != 1 {
			t.Fatalf("ordered %v", d.guids)
		}
		return d.guids[0]
	}
	again := func(name string, want ...GUIDBlock) {
		t.Helper()
		d.guids = nil
		if d.wait(rewriteAfter - 1); len(d.guids) > 0 {
			t.Errorf("%s: too early %v", name, d.guids)
		}
		if d.wait(1); !slices.Equal(d.guids, want) {
			t.Errorf("%s: written again %v, want %v", name, d.guids, want)
		}
	}
	written := func(b GUIDBlock, how GUIDOutcome, held smp.GUIDInfo, status ...mad.Status) {
		t.Helper()
		d.sent = nil
		d.step(GUIDsWritten{b, how, held})
		d.step(Durable{d.reg.Seq()})
		var got []mad.Status
		for i := range d.sent {
			got = append(got, d.sent[i].Packet.Status())
		}
		if !slices.Equal(got, status) {
			t.Errorf("%v: replies %v, want %v", how, got, status)
		}
	}
	var none smp.GUIDInfo
	alias := func() mad.GUID { return d.State().AliasAt(registry.Slot{Port: h3, Index: 1}) }

	one := order(mad.MethodSet, 0x1234)
	written(one, HoldsUnknown, none, mad.StatusNoResources)
	again("no answer", one)
	again("nor to that", one)
	written(one, HoldsForNow, none)
	again("a copy may be on its way", one)
	written(one, HoldsBlock, none)
	again("known")

	gone := order(mad.MethodDelete, 0)
	written(gone, HoldsOthers, one.GUIDs, mad.StatusNoResources)
	if alias() != 0 {
		t.Error("a GUID that was taken away is there again")
	}
	again("the port keeps it", gone)
	written(gone, HoldsBlock, none)

	one = order(mad.MethodSet, 0x1234)
	written(one, HoldsOthers, gone.GUIDs, mad.StatusNoResources)
	if alias() != 0 {
		t.Error("the SA says that the port has a GUID that it has not taken")
	}
	again("the port does not take it")

	one = order(mad.MethodSet, 0x1234)
	two := order(mad.MethodSet, 0x4321)
	written(one, HoldsOthers, gone.GUIDs)
	if alias() != 0x4321 {
		t.Error("an answer about an earlier order takes a GUID away")
	}
	written(two, HoldsBlock, none, mad.StatusOK, mad.StatusOK)

	two = order(mad.MethodSet, 0x1234)
	written(two, HoldsUnknown, none, mad.StatusNoResources)
	d.step(ViewPublished{without(d.view, h3)})
	again("the port is gone")
	d.step(ViewPublished{d.view})
	order(mad.MethodSet, 0x1234)
	d.step(ViewWithdrawn{})
	again("the term is over")
}
