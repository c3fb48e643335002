package registry

import (
	"slices"
	"testing"

	"ibsm/mad"
)

func plainGroup(n uint32, mlid mad.LID) Group {
	return Group{MGID: mgid(n), MLID: mlid, PKey: 0xffff, MTU: mad.MTU2048, Rate: 3}
}

// Leaving, by the rules of MCMemberRecord: bits go, a group dies with its last full
// member and takes the others with it, a well-known group stays.
func TestLeave(t *testing.T) {
	id, a, b := mgid(1), port(1), port(2)
	for _, c := range []struct {
		name      string
		wellKnown bool
		a, b      JoinState // 0 for no member
		bits      JoinState // a leaves
		want      []Change
	}{
		{"one of two bits", false, FullMember | NonMember, 0, NonMember,
			[]Change{PutMember{Member{id, a, FullMember, false}}}},
		{"not held", false, FullMember, 0, NonMember, nil},
		{"no member", false, 0, FullMember, FullMember, nil},
		{"last full member", false, FullMember, 0, FullMember, []Change{DeleteGroup{id}}},
		{"others stay full", false, FullMember, FullMember, FullMember, []Change{DeleteMember{id, a}}},
		{"others do not keep it alive", false, FullMember, NonMember, FullMember, []Change{DeleteGroup{id}}},
		{"send-only full keeps it alive", false, FullMember, SendOnlyFullMember, FullMember,
			[]Change{DeleteMember{id, a}}},
		{"both ways of full, one goes", false, FullMember | SendOnlyFullMember, 0, FullMember,
			[]Change{PutMember{Member{id, a, SendOnlyFullMember, false}}}},
		{"own other bits do not keep it alive", false, FullMember | NonMember, 0, FullMember,
			[]Change{DeleteGroup{id}}},
		{"other bits stay with another full member", false, FullMember | NonMember, FullMember, FullMember,
			[]Change{PutMember{Member{id, a, NonMember, false}}}},
		{"non-member goes", false, NonMember, FullMember, NonMember, []Change{DeleteMember{id, a}}},
		{"well known stays", true, FullMember, 0, FullMember, []Change{DeleteMember{id, a}}},
		{"well known keeps non-members", true, FullMember | NonMember, NonMember, FullMember,
			[]Change{PutMember{Member{id, a, NonMember, false}}}},
	} {
		r := New()
		g := plainGroup(1, 0xc000)
		g.WellKnown = c.wellKnown
		apply(t, r, PutGroup{g})
		for p, state := range map[mad.GID]JoinState{a: c.a, b: c.b} {
			if state != 0 {
				apply(t, r, PutMember{Member{id, p, state, false}})
			}
		}
		got := r.Leave(id, a, c.bits)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		apply(t, r, got...)
	}
}

func TestJoin(t *testing.T) {
	r := New()
	apply(t, r, PutGroup{plainGroup(1, 0xc000)})
	for _, c := range []struct {
		state JoinState
		proxy bool
		want  Change
	}{
		{NonMember, true, PutMember{Member{mgid(1), port(1), NonMember, true}}},
		{FullMember, false, PutMember{Member{mgid(1), port(1), FullMember | NonMember, true}}},
		{NonMember, false, nil},
	} {
		got := r.Join(Member{mgid(1), port(1), c.state, c.proxy})
		if got != c.want {
			t.Errorf("join with %d: %+v, want %+v", c.state, got, c.want)
		}
		if got != nil {
			apply(t, r, got)
		}
	}
}

func TestLeaveAll(t *testing.T) {
	r := New()
	sub := exampleSubscription()
	sub.Subscriber = port(1)
	apply(t, r, PutGroup{plainGroup(1, 0xc000)}, PutGroup{plainGroup(2, 0xc001)},
		PutMember{Member{mgid(1), port(1), FullMember, false}}, PutMember{Member{mgid(1), port(2), FullMember, false}},
		PutMember{Member{mgid(2), port(1), FullMember | NonMember, false}}, PutSubscription{sub})
	want := []Change{DeleteMember{mgid(1), port(1)}, DeleteGroup{mgid(2)}, DeleteSubscription{sub.SubscriptionKey}}
	if got := r.LeaveAll(port(1)); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestAllotMLID(t *testing.T) {
	r := New()
	allot := func(g Group, p MLIDPolicy) mad.LID {
		t.Helper()
		mlid, _ := r.AllotMLID(&g, p)
		return mlid
	}
	for last, want := range map[mad.LID]int{0: 0x3fff, 0xbfff: 0x3fff, 0xc000: 1, 0xc0ff: 0x100, 0xfffe: 0x3fff,
		0xffff: 0x3fff} {
		if free := r.FreeMLIDs(MLIDPolicy{Last: last}); free != want {
			t.Errorf("%d free MLIDs up to %#x, want %d", free, uint16(last), want)
		}
	}
	small := MLIDPolicy{Last: 0xc002}
	for n := range uint32(3) {
		g := plainGroup(n, 0)
		if g.MLID = allot(g, small); g.MLID != 0xc000+mad.LID(n) {
			t.Fatalf("group %d on 0x%x", n, uint16(g.MLID))
		}
		if n == 2 {
			g.SL = 1
		}
		apply(t, r, PutGroup{g})
	}
	// The space is full: shared with those that agree, evenly.
	for n, want := range []mad.LID{0xc000, 0xc001, 0xc000} {
		g := plainGroup(uint32(10+n), 0)
		if g.MLID = allot(g, small); g.MLID != want {
			t.Errorf("shared: 0x%x, want 0x%x", uint16(g.MLID), uint16(want))
		}
		apply(t, r, PutGroup{g})
	}
	for name, change := range map[string]func(*Group){
		"P_Key": func(g *Group) { g.PKey = 1 }, "MTU": func(g *Group) { g.MTU = mad.MTU4096 },
		"rate": func(g *Group) { g.Rate = 4 }, "SL": func(g *Group) { g.SL = 2 },
	} {
		g := plainGroup(20, 0)
		change(&g)
		if mlid, found := r.AllotMLID(&g, small); found {
			t.Errorf("another %s: shares 0x%x", name, uint16(mlid))
		}
		g.MLID = 0xc001
		if r.Apply(PutGroup{g}) == nil {
			t.Errorf("another %s: shared by force", name)
		}
	}
	// 0xc001 has two groups: free when the last is gone, and the lowest comes first.
	apply(t, r, DeleteGroup{mgid(1)})
	if mlid, found := r.AllotMLID(&Group{PKey: 7}, small); found {
		t.Errorf("0x%x is free with a group on it", uint16(mlid))
	}
	apply(t, r, DeleteGroup{mgid(11)})
	if got := allot(plainGroup(30, 0), MLIDPolicy{}); got != 0xc001 {
		t.Errorf("0x%x, want 0xc001 again", uint16(got))
	}
	// A group that moves to another MLID frees its own.
	moved := plainGroup(2, 0xc005)
	apply(t, r, PutGroup{moved}, PutGroup{plainGroup(40, 0xc001)})
	if got := allot(plainGroup(30, 0), MLIDPolicy{}); got != 0xc002 {
		t.Errorf("0x%x, want 0xc002 after its group moved", uint16(got))
	}
}

// The whole space: 16,383 groups have MLIDs of their own, the next shares.
func TestAllotAll(t *testing.T) {
	r := New()
	for n := range uint32(16383) {
		g := plainGroup(n, 0)
		g.PKey = mad.PKey(1 + n%2)
		mlid, found := r.AllotMLID(&g, MLIDPolicy{})
		if want := 0xc000 + mad.LID(n); !found || mlid != want {
			t.Fatalf("group %d on 0x%x, want 0x%x", n, uint16(mlid), uint16(want))
		}
		g.MLID = mlid
		apply(t, r, PutGroup{g})
	}
	g := plainGroup(20000, 0)
	g.PKey = 2
	if mlid, found := r.AllotMLID(&g, MLIDPolicy{}); !found || mlid != 0xc001 {
		t.Errorf("shares 0x%x, %t, want 0xc001", uint16(mlid), found)
	}
}

func TestSolicitedNode(t *testing.T) {
	snm := func(scope byte, pkey mad.PKey, address uint32) Group {
		return Group{PKey: pkey, MTU: mad.MTU2048, Rate: 3,
			MGID: mad.GID{0xff, 0x10 | scope, 0x60, 0x1b, byte(pkey >> 8), byte(pkey),
				11: 1, 12: 0xff, 13: byte(address >> 16), 14: byte(address >> 8), 15: byte(address)}}
	}
	policy := MLIDPolicy{ShareSolicitedNode: true}
	r := New()
	slow := snm(2, 0x8001, 4)
	slow.Rate = 2
	for i, c := range []struct {
		group Group
		want  mad.LID
	}{
		{snm(2, 0x8001, 1), 0xc000},
		{snm(2, 0x8001, 0xffffff), 0xc000},
		{snm(2, 0x8002, 1), 0xc001},
		{snm(5, 0x8001, 1), 0xc002},
		{plainGroup(1, 0), 0xc003},
		{slow, 0xc004}, // would break the rule of sharing
	} {
		mlid, found := r.AllotMLID(&c.group, policy)
		if !found || mlid != c.want {
			t.Errorf("group %d on 0x%x, want 0x%x", i, uint16(mlid), uint16(c.want))
		}
		c.group.MLID = mlid
		apply(t, r, PutGroup{c.group})
	}
	g := snm(2, 0x8001, 7)
	if mlid, _ := r.AllotMLID(&g, MLIDPolicy{}); mlid != 0xc005 {
		t.Errorf("shares 0x%x unasked", uint16(mlid))
	}
}

func TestExpired(t *testing.T) {
	r := New()
	for id, expires := range []int64{0, 100, 200, 150} {
		lease := uint32(10)
		if expires == 0 {
			lease = InfiniteLease
		}
		apply(t, r, PutService{Service{ServiceKey: ServiceKey{ID: uint64(id)}, Lease: lease, Expires: expires}})
	}
	for _, c := range []struct {
		now, next int64
		want      []uint64
	}{{99, 100, nil}, {100, 150, []uint64{1}}, {199, 200, []uint64{1, 3}}, {1000, 0, []uint64{1, 2, 3}}} {
		changes, next := r.Expired(c.now)
		var got []uint64
		for _, change := range changes {
			got = append(got, change.(DeleteService).ID)
		}
		if !slices.Equal(got, c.want) || next != c.next {
			t.Errorf("at %d: %v, next %d; want %v, next %d", c.now, got, next, c.want, c.next)
		}
	}
	ids := []uint64{}
	for v := range r.ServicesWithID(2) {
		ids = append(ids, v.ID)
	}
	if !slices.Equal(ids, []uint64{2}) {
		t.Errorf("with ID 2: %v", ids)
	}
}

func TestMatches(t *testing.T) {
	event := Event{IssuerGID: port(5), IssuerLID: 20, Generic: true, Type: 3, Trap: 64, Producer: 4}
	all := Filter{LIDBegin: AnyLID, Generic: true, Type: AnyType, Trap: AnyTrap, Producer: AnyProducer}
	for _, c := range []struct {
		name   string
		change func(*Filter)
		want   bool
	}{
		{"all", func(f *Filter) {}, true},
		{"this issuer, LIDs do not count", func(f *Filter) { f.GID, f.LIDBegin = port(5), 1 }, true},
		{"another issuer", func(f *Filter) { f.GID = port(6) }, false},
		{"its LID", func(f *Filter) { f.LIDBegin = 20 }, true},
		{"another LID", func(f *Filter) { f.LIDBegin = 19 }, false},
		{"range around", func(f *Filter) { f.LIDBegin, f.LIDEnd = 10, 20 }, true},
		{"range above", func(f *Filter) { f.LIDBegin, f.LIDEnd = 21, 30 }, false},
		{"range below", func(f *Filter) { f.LIDBegin, f.LIDEnd = 10, 19 }, false},
		{"vendor's", func(f *Filter) { f.Generic = false }, false},
		{"its type", func(f *Filter) { f.Type = 3 }, true},
		{"another type", func(f *Filter) { f.Type = 1 }, false},
		{"its trap", func(f *Filter) { f.Trap = 64 }, true},
		{"another trap", func(f *Filter) { f.Trap = 65 }, false},
		{"its producer", func(f *Filter) { f.Producer = 4 }, true},
		{"another producer", func(f *Filter) { f.Producer = 2 }, false},
	} {
		r := New()
		f := all
		c.change(&f)
		sub := Subscription{SubscriptionKey{port(1), 1, f}, Destination{Addr: mad.Addr{LID: 3, QPN: 1}}}
		apply(t, r, PutSubscription{sub})
		got := slices.Collect(r.Freeze().Matching(&event))
		if (len(got) == 1 && got[0] == sub) != c.want {
			t.Errorf("%s: %v, want %t", c.name, got, c.want)
		}
	}
}
