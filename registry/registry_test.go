package registry

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"ibsm/mad"
)

// fallible makes Changes what Restore reads.
func fallible(changes iter.Seq[Change]) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for c := range changes {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func apply(t *testing.T, r *Registry, changes ...Change) {
	t.Helper()
	for _, c := range changes {
		if err := r.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
}

// model is the registry as plain maps.
type model struct {
	groups   map[mad.GID]Group
	members  map[[2]mad.GID]Member
	services map[ServiceKey]Service
	subs     map[SubscriptionKey]Subscription
	aliases  map[Slot]mad.GUID
	grh      map[mad.GUID]bool
	near     map[End]End

	partitions   map[mad.PKey]Partition
	inPartitions map[MemberKey]PartitionMember
	former       map[mad.PKey]FormerPartition
	terms        map[uint64]PartitionTerm
	edits        map[uint64]PartitionEdit
}

func newModel() *model {
	return &model{map[mad.GID]Group{}, map[[2]mad.GID]Member{}, map[ServiceKey]Service{},
		map[SubscriptionKey]Subscription{}, map[Slot]mad.GUID{}, map[mad.GUID]bool{}, map[End]End{},
		map[mad.PKey]Partition{}, map[MemberKey]PartitionMember{}, map[mad.PKey]FormerPartition{},
		map[uint64]PartitionTerm{}, map[uint64]PartitionEdit{}}
}

// apply makes a Change and reports whether it can be made.
func (w *model) apply(c Change) bool {
	switch c := c.(type) {
	case PutGroup:
		for _, g := range w.groups {
			if g.MGID != c.MGID && g.MLID == c.MLID && (g.PKey != c.PKey || g.SL != c.SL || g.MTU != c.MTU ||
				g.Rate != c.Rate) {
				return false
			}
		}
		w.groups[c.MGID] = c.Group
	case DeleteGroup:
		if _, was := w.groups[c.MGID]; !was {
			return false
		}
		delete(w.groups, c.MGID)
		for k := range w.members {
			if k[0] == c.MGID {
				delete(w.members, k)
			}
		}
	case PutMember:
		if _, was := w.groups[c.MGID]; !was {
			return false
		}
		w.members[[2]mad.GID{c.MGID, c.Port}] = c.Member
	case DeleteMember:
		k := [2]mad.GID{c.MGID, c.Port}
		_, was := w.members[k]
		delete(w.members, k)
		return was
	case PutService:
		w.services[c.ServiceKey] = c.Service
	case DeleteService:
		_, was := w.services[c.ServiceKey]
		delete(w.services, c.ServiceKey)
		return was
	case PutSubscription:
		w.subs[c.SubscriptionKey] = c.Subscription
	case DeleteSubscription:
		_, was := w.subs[c.SubscriptionKey]
		delete(w.subs, c.SubscriptionKey)
		return was
	case PutAlias:
		for at, guid := range w.aliases {
			if guid == c.GUID && at != c.Slot {
				return false
			}
		}
		w.aliases[c.Slot] = c.GUID
	case DeleteAlias:
		_, was := w.aliases[c.Slot]
		delete(w.aliases, c.Slot)
		return was
	case PutGRHPort:
		w.grh[c.Port] = true
	case DeleteGRHPort:
		was := w.grh[c.Port]
		delete(w.grh, c.Port)
		return was
	case PutNeighbor:
		w.near[c.At] = c.Far
	case DeleteNeighbor:
		_, was := w.near[c.At]
		delete(w.near, c.At)
		return was
	case PutPartition:
		for key, p := range w.partitions {
			if p.Name == c.Name && key != c.Key {
				return false
			}
		}
		w.partitions[c.Key] = c.Partition
		delete(w.former, c.Key)
	case DeletePartition:
		_, was := w.partitions[c.Key]
		if !was {
			return false
		}
		delete(w.partitions, c.Key)
		w.former[c.Key] = c.FormerPartition
		maps.DeleteFunc(w.inPartitions, func(k MemberKey, _ PartitionMember) bool { return k.Key == c.Key })
	case PutPartitionMember:
		if _, is := w.partitions[c.Key]; !is {
			return false
		}
		w.inPartitions[c.MemberKey] = c.PartitionMember
	case PutPartitionTerm:
		w.terms[c.First] = c.PartitionTerm
	case PutPartitionEdit:
		w.edits[c.Number] = c.PartitionEdit
	case DeletePartitionEdit:
		_, was := w.edits[c.Number]
		delete(w.edits, c.Number)
		return was
	case DeletePartitionTerm:
		_, was := w.terms[c.First]
		delete(w.terms, c.First)
		return was
	case PutFormerPartition:
		w.former[c.Key] = c.FormerPartition
	case DeleteFormerPartition:
		_, was := w.former[c.Key]
		delete(w.former, c.Key)
		return was
	case DeletePartitionMember:
		_, was := w.inPartitions[c.MemberKey]
		delete(w.inPartitions, c.MemberKey)
		return was
	}
	return true
}

// randomChange is one of a small world, so that it often meets what is there.
func randomChange(rng *rand.Rand) Change {
	n := func(max int) int { return rng.IntN(max) }
	group, member := mgid(uint32(n(20))), port(1+n(20))
	key := ServiceKey{ID: uint64(n(5)), GID: port(1 + n(3)), PKey: mad.PKey(n(2))}
	sub := SubscriptionKey{member, uint32(n(2)), Filter{Generic: n(2) == 0, Type: AnyType, Trap: uint16(64 + n(3)),
		Producer: uint32(n(2)), LIDBegin: AnyLID}}
	slot := Slot{mad.GUID(1 + n(3)), uint8(1 + n(4))}
	at := End{mad.GUID(1 + n(3)), uint8(1 + n(4))}
	pkey := mad.PKey(1 + n(3))
	in := MemberKey{Key: pkey, Port: mad.GUID(1 + n(3))}
	if n(3) == 0 {
		in.Port, in.Host = 0, string(rune('a'+n(2)))
	}
	switch n(36) {
	case 0, 1:
		return PutGroup{Group{MGID: group, MLID: 0xc000 + mad.LID(n(12)), PKey: mad.PKey(1 + n(2)), MTU: mad.MTU2048,
			Rate: 3, WellKnown: n(2) == 0}}
	case 2:
		return DeleteGroup{group}
	case 3, 4, 5, 6, 7, 8:
		return PutMember{Member{group, member, JoinState(1 + n(15)), n(2) == 0}}
	case 9, 10:
		return DeleteMember{group, member}
	case 11, 12:
		return PutService{Service{ServiceKey: key, Lease: 9, Expires: int64(1 + n(100))}}
	case 13:
		return DeleteService{key}
	case 14, 15:
		return PutSubscription{
			Subscription{sub, Destination{Addr: mad.Addr{LID: mad.LID(1 + n(9)), QPN: sub.QPN}, PKey: mad.PKey(n(3))}},
		}
	case 16:
		return DeleteSubscription{sub}
	case 17, 18:
		return PutAlias{Alias{slot, mad.GUID(100 + n(15))}}
	case 19:
		return PutGRHPort{mad.GUID(1 + n(9))}
	case 20:
		return DeleteGRHPort{mad.GUID(1 + n(9))}
	case 21, 22:
		return PutNeighbor{at, End{mad.GUID(1 + n(9)), uint8(n(3))}}
	case 23:
		return DeleteNeighbor{at}
	case 24:
		return PutPartition{Partition{Key: pkey, Name: string(rune('a' + n(3))), Number: uint64(1 + n(50))}}
	case 25:
		return DeletePartition{FormerPartition{pkey, uint64(1 + n(50)), int64(n(9))}}
	case 26, 27, 28:
		return PutPartitionMember{PartitionMember{in, Membership(1 + n(3)), n(2) == 0, uint64(1 + n(50)), 0}}
	case 29:
		return DeletePartitionMember{in}
	case 30:
		return DeleteFormerPartition{pkey}
	case 31:
		return PutPartitionTerm{PartitionTerm{uint64(1 + n(9)), mad.GUID(n(2)), uint64(n(3))}}
	case 32:
		return DeletePartitionTerm{uint64(1 + n(9))}
	case 33:
		return PutPartitionEdit{PartitionEdit{Number: uint64(1 + n(9)), Key: pkey, Name: "a", Kind: EditKind(1 + n(3)),
			Undo: string(make([]byte, n(3)))}}
	case 34:
		return DeletePartitionEdit{uint64(1 + n(9))}
	}
	return DeleteAlias{slot}
}

// checkPartitions compares the queries about partitions with the model.
func (w *model) checkPartitions(t *testing.T, s *State) {
	t.Helper()
	for key := mad.PKey(1); key <= 3; key++ {
		p, is := s.Partition(key | mad.FullMember)
		if want, has := w.partitions[key]; p != want || is != has {
			t.Fatalf("partition %+v, want %+v", p, want)
		}
		if named, _ := s.PartitionNamed(p.Name); is && named != p {
			t.Fatalf("%q is %+v, want %+v", p.Name, named, p)
		}
		members := 0
		for m := range s.PartitionMembers(key) {
			if one, _ := s.PartitionMember(m.MemberKey); m != w.inPartitions[m.MemberKey] || one != m || m.Key != key {
				t.Fatalf("member %+v of %s, want %+v", m, key, w.inPartitions[m.MemberKey])
			}
			members++
		}
		for k := range w.inPartitions {
			if k.Key == key {
				members--
			}
		}
		if former, was := s.FormerPartition(key); members != 0 || former != w.former[key] || was && is {
			t.Fatalf("%d members of %s too many, before %+v, want %+v", members, key, former, w.former[key])
		}
	}
	terms := slices.Collect(s.PartitionTerms())
	for _, term := range terms {
		if w.terms[term.First] != term || len(terms) != len(w.terms) {
			t.Fatalf("terms %+v, want %+v", terms, w.terms)
		}
	}
	edits := slices.Collect(s.PartitionEdits())
	for _, e := range edits {
		got, is := s.PartitionEdit(e.Number)
		if w.edits[e.Number] != e || got != e || !is || len(edits) != len(w.edits) {
			t.Fatalf("edits %+v, want %+v", edits, w.edits)
		}
	}
	if got := len(slices.Collect(s.Partitions())); got != len(w.partitions) {
		t.Fatalf("%d partitions, want %d", got, len(w.partitions))
	}
	if got := len(slices.Collect(s.FormerPartitions())); got != len(w.former) {
		t.Fatalf("%d former partitions, want %d", got, len(w.former))
	}
}

// check compares every query with the model.
func (w *model) check(t *testing.T, s *State) {
	t.Helper()
	if want := (Counts{len(w.groups), len(w.members), len(w.services), len(w.subs), len(w.aliases), len(w.grh),
		len(w.near), len(w.partitions), len(w.inPartitions)}); s.Counts() != want {
		t.Fatalf("holds %+v, want %+v", s.Counts(), want)
	}
	w.checkPartitions(t, s)
	joined := 0
	for n := range 20 {
		id := mgid(uint32(n))
		if g, found := s.Group(id); g != w.groups[id] || found != (g != Group{}) {
			t.Fatalf("group %s is %+v, want %+v", id, g, w.groups[id])
		}
		full := 0
		for m := range s.Members(id) {
			if want := w.members[[2]mad.GID{id, m.Port}]; m != want {
				t.Fatalf("member %+v, want %+v", m, want)
			}
			if m.JoinState&9 != 0 {
				full++
			}
		}
		if s.FullMembers(id) != full {
			t.Fatalf("group %s has %d full members, counted %d", id, full, s.FullMembers(id))
		}
		for m := range s.MembershipsOf(port(1 + n)) {
			if want := w.members[[2]mad.GID{m.MGID, port(1 + n)}]; m != want {
				t.Fatalf("membership %+v, want %+v", m, want)
			}
			joined++
		}
	}
	if joined != len(w.members) {
		t.Fatalf("%d memberships by port, want %d", joined, len(w.members))
	}
	for mlid := mad.LID(0xc000); mlid < 0xc00c; mlid++ {
		for g := range s.OnMLID(mlid) {
			if g != w.groups[g.MGID] || g.MLID != mlid {
				t.Fatalf("on MLID 0x%x: %+v", uint16(mlid), g)
			}
		}
	}
	for v := range s.Services() {
		if *v != w.services[v.ServiceKey] {
			t.Fatalf("service %+v, want %+v", *v, w.services[v.ServiceKey])
		}
	}
	for sub := range s.Subscriptions() {
		if sub != w.subs[sub.SubscriptionKey] {
			t.Fatalf("subscription %+v, want %+v", sub, w.subs[sub.SubscriptionKey])
		}
	}
	for n := range mad.GUID(11) {
		if s.DemandsGRH(n) != w.grh[n] || slices.Contains(slices.Collect(s.GRHPorts()), n) != w.grh[n] {
			t.Fatalf("port %v demands a GRH: %t, want %t", n, s.DemandsGRH(n), w.grh[n])
		}
	}
	for at, far := range s.Neighbors() {
		if got, known := s.NeighborOf(at); far != w.near[at] || got != far || !known {
			t.Fatalf("behind %v is %v, want %v", at, far, w.near[at])
		}
	}
	for a := range s.Aliases() {
		if at, found := s.Alias(a.GUID); a.GUID != w.aliases[a.Slot] || at != a.Slot || !found ||
			s.AliasAt(at) != a.GUID {
			t.Fatalf("alias %+v, found at %+v, want %s", a, at, w.aliases[a.Slot])
		}
	}
}

// Any Changes in any order do what they do to plain maps; frozen States stay; and what
// a State says of itself makes it anew.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		r, w := New(), newModel()
		seq := uint64(0)
		frozen := map[*State]*model{}
		for step := range 3000 {
			c := randomChange(rng)
			err := r.Apply(c)
			if done := w.apply(c); done != (err == nil) {
				t.Fatalf("seed %d: %T %+v: %v", seed, c, c, err)
			} else if done {
				seq++
			}
			if r.Seq() != seq {
				t.Fatalf("seed %d: number %d, want %d", seed, r.Seq(), seq)
			}
			if step%500 == 0 {
				was := newModel()
				for c := range r.Changes() {
					was.apply(c)
				}
				frozen[r.Freeze()] = was
			}
		}
		w.check(t, &r.State)
		for s, was := range frozen {
			was.check(t, s)
		}
		again, err := Restore(seq, fallible(r.Changes()))
		if err != nil {
			t.Fatal(err)
		}
		w.check(t, &again.State)
		if again.Seq() != seq || !slices.Equal(slices.Collect(again.Changes()), slices.Collect(r.Changes())) {
			t.Errorf("seed %d: restored as another", seed)
		}
		// Nothing is left when all is deleted: no MLID, no index.
		for c := range r.Freeze().Changes() {
			switch c := c.(type) {
			case PutGroup:
				apply(t, r, DeleteGroup{c.MGID})
			case PutService:
				apply(t, r, DeleteService{c.ServiceKey})
			case PutSubscription:
				apply(t, r, DeleteSubscription{c.SubscriptionKey})
			case PutAlias:
				apply(t, r, DeleteAlias{c.Slot})
			case PutGRHPort:
				apply(t, r, DeleteGRHPort(c))
			case PutNeighbor:
				apply(t, r, DeleteNeighbor{c.At})
			case PutPartition:
				former := FormerPartition{c.Key, c.Number, c.Since}
				apply(t, r, DeletePartition{former}, DeleteFormerPartition{c.Key})
			case PutFormerPartition:
				apply(t, r, DeleteFormerPartition{c.Key})
			case PutPartitionTerm:
				apply(t, r, DeletePartitionTerm{c.First})
			case PutPartitionEdit:
				apply(t, r, DeletePartitionEdit{c.Number})
			}
		}
		newModel().check(t, &r.State)
		if r.use.groups != New().use.groups || r.mlids.count != 0 || r.joined.count != 0 || r.slots.count != 0 ||
			r.partitionNames.count != 0 {
			t.Errorf("seed %d: an index or MLID is left behind", seed)
		}
	}
}

// large has the size of the largest subnets that are planned for.
func large(groups, members int) *Registry {
	r := New()
	for i := range groups {
		g := Group{MGID: mgid(uint32(i)), PKey: 0xffff, MTU: mad.MTU2048, Rate: 3}
		g.MLID, _ = r.AllotMLID(&g, MLIDPolicy{})
		if err := r.Apply(PutGroup{g}); err != nil {
			panic(err)
		}
	}
	for i := range members {
		if err := r.Apply(
			PutMember{Member{mgid(uint32(i % groups)), port(1 + i*7919%members), FullMember, false}}); err != nil {
			panic(err)
		}
	}
	return r
}

func BenchmarkRestore(b *testing.B) {
	r := large(10000, 100000)
	var encoded []byte
	for c := range r.Changes() {
		encoded = c.AppendTo(encoded)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Restore(0, decodeAll(encoded)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(encoded)), "bytes")
}

func decodeAll(b []byte) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for len(b) > 0 {
			c, rest, err := Decode(b)
			if !yield(c, err) || err != nil {
				return
			}
			b = rest
		}
	}
}

// BenchmarkJoin is a member that comes and goes, with a State for each batch of joins.
func BenchmarkJoin(b *testing.B) {
	for _, batch := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch-%d", batch), func(b *testing.B) {
			r := large(10000, 100000)
			rng := rand.New(rand.NewPCG(1, 1))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if n++; n%batch == 0 {
					r.Freeze()
				}
				m := Member{mgid(uint32(rng.IntN(10000))), port(200000), FullMember, false}
				if c := r.Join(m); c == nil {
					_ = r.Apply(DeleteMember{m.MGID, m.Port})
				} else if err := r.Apply(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestLargestValues: each field of a group holds all the values that fit into it.
func TestLargestValues(t *testing.T) {
	r := New()
	g := plainGroup(1, 0xc000)
	g.Rate, g.PacketLifeTime, g.SL, g.FlowLabel, g.Scope = 63, 63, 15, 1<<20-1, 15
	apply(t, r, PutGroup{g})
	for name, spoil := range map[string]func(*Group){
		"rate": func(g *Group) { g.Rate++ }, "packet lifetime": func(g *Group) {
			g.PacketLifeTime++
		}, "SL": func(g *Group) { g.SL++ },
		"flow label": func(g *Group) { g.FlowLabel++ }, "scope": func(g *Group) { g.Scope++ },
	} {
		spoiled := g
		if spoil(&spoiled); r.Apply(PutGroup{spoiled}) == nil {
			t.Errorf("a %s beyond its field is taken", name)
		}
	}
}
