package registry

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"ibsm/mad"
)

func mgid(n uint32) mad.GID {
	return mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8),
		15: byte(n)}
}

func port(n int) mad.GID { return mad.MakeGID(mad.DefaultPrefix, mad.GUID(n)) }

func exampleGroup() Group {
	return Group{
		MGID: mgid(0xffffffff), MLID: 0xc001, PKey: 0xffff, QKey: 0x0b1b, MTU: mad.MTU2048, Rate: 3,
		PacketLifeTime: 18, SL: 5, FlowLabel: 0xabcde, TClass: 7, HopLimit: 9, Scope: 2, WellKnown: true,
	}
}

func exampleService() Service {
	return Service{
		ServiceKey: ServiceKey{ID: 0x0102030405060708, GID: port(0x11), PKey: 0x8001}, Lease: 60, Expires: 0x6553f13c,
		Key: [16]byte{1}, Name: [64]byte{0: 'a', 63: 'z'}, Data: [64]byte{0: 2, 63: 3},
	}
}

func exampleSubscription() Subscription {
	return Subscription{
		SubscriptionKey{port(0x12), 0x123456, Filter{LIDBegin: AnyLID, Generic: true, Type: AnyType, Trap: 64,
			Producer: 4}},
		Destination{PKey: 0x8102, Addr: mad.Addr{LID: 0x21, QPN: 0x123456, SL: 3, PathBits: 1,
			GRH: mad.GRH{Present: true, GID: port(0x12), FlowLabel: 0xabcde, TrafficClass: 7, HopLimit: 0xff}}},
	}
}

func withoutGRH(s Subscription) Subscription {
	s.Addr.GRH = mad.GRH{}
	return s
}

// Fields of exampleSubscription.
const (
	exampleKey = "fe800000000000000000000000000012" + "00123456" + "00000000000000000000000000000000" + "ffff" +
		"0000" + "01" + "ffff" + "0040" + "00000004"
	exampleGRH = "fe800000000000000000000000000012" + "000abcde" + "07" + "ff"
)

// encodings are the layouts that files and peers rely on: they do not change any more.
var encodings = []struct {
	change Change
	hex    string
}{
	{PutGroup{exampleGroup()}, "01" + "ff12401bffff000000000000ffffffff" + "c001" + "ffff" + "00000b1b" + "04" + "03" +
		"12" + "05" + "000abcde" + "07" + "09" + "02" + "01"},
	{DeleteGroup{mgid(1)}, "02" + "ff12401bffff00000000000000000001"},
	{PutMember{Member{mgid(1), port(0x13), FullMember | NonMember, true}}, "03" + "ff12401bffff00000000000000000001" +
		"fe800000000000000000000000000013" + "03" + "01"},
	{DeleteMember{mgid(1), port(0x13)}, "04" + "ff12401bffff00000000000000000001" + "fe800000000000000000000000000013"},
	{PutService{exampleService()}, "05" + "0102030405060708" + "fe800000000000000000000000000011" + "8001" +
		"0000003c" + "000000006553f13c" +
		"01000000000000000000000000000000" + "61" + zeros(62) + "7a" + "02" + zeros(62) + "03"},
	{DeleteService{exampleService().ServiceKey}, "06" + "0102030405060708" + "fe800000000000000000000000000011" +
		"8001"},
	{PutSubscription{withoutGRH(exampleSubscription())}, "07" + exampleKey + "0021" + "03" + "01" + "8102"},
	{PutSubscription{exampleSubscription()}, "08" + exampleKey + "0021" + "03" + "01" + "8102" + exampleGRH},
	{DeleteSubscription{exampleSubscription().SubscriptionKey}, "09" + exampleKey},
	{PutAlias{Alias{Slot{0x0a, 9}, 0x0b}}, "0a" + "000000000000000a" + "09" + "000000000000000b"},
	{DeleteAlias{Slot{0x0a, 9}}, "0b" + "000000000000000a" + "09"},
	{PutGRHPort{0x0b}, "0c" + "000000000000000b"},
	{DeleteGRHPort{0x0b}, "0d" + "000000000000000b"},
	{PutNeighbor{End{0x0b, 3}, End{0x0c, 1}}, "0e" + "000000000000000b" + "03" + "000000000000000c" + "01"},
	{DeleteNeighbor{End{0x0b, 3}}, "0f" + "000000000000000b" + "03"},
	{PutPartition{examplePartition()}, "10" + "02fb" + "6162" + zeros(62) + "63" + zeros(127) + "01" + "04" + "07" +
		"05" + "02" + "00000b1b" + "01" + exampleNumber},
	{DeletePartition{exampleFormer()}, "11" + "02fb" + exampleNumber},
	{PutPartitionMember{PartitionMember{MemberKey{Key: 0x2fb, Port: 0x0b}, 2, true, 9, 0x6553f13c}}, "12" + "02fb" +
		"000000000000000b" + "02" + "01" + exampleNumber},
	{DeletePartitionMember{MemberKey{Key: 0x2fb, Port: 0x0b}}, "13" + "02fb" + "000000000000000b"},
	{PutPartitionMember{PartitionMember{MemberKey{Key: 0x2fb, Host: "h1"}, 1, false, 9, 0x6553f13c}}, "14" + "02fb" +
		"6831" + zeros(62) + "01" + "00" + exampleNumber},
	{DeletePartitionMember{MemberKey{Key: 0x2fb, Host: "h1"}}, "15" + "02fb" + "6831" + zeros(62)},
	{PutFormerPartition{exampleFormer()}, "16" + "02fb" + exampleNumber},
	{DeleteFormerPartition{0x2fb}, "17" + "02fb"},
	{PutPartitionTerm{PartitionTerm{9, 0x0b, 0x6553f13c}}, "18" + "0000000000000009" + "000000000000000b" +
		"000000006553f13c"},
	{DeletePartitionTerm{9}, "19" + "0000000000000009"},
	{PutPartitionEdit{PartitionEdit{9, 0x6553f13c, 0x2fb, "ab", PartitionChanged, 3, 4, "xyz"}}, "1a" + exampleNumber +
		"02fb" + "6162" + zeros(62) + "02" + "00000003" + "00000004" + "0003" + "78797a"},
	{DeletePartitionEdit{9}, "1b" + "0000000000000009"},
}

const exampleNumber = "0000000000000009" + "000000006553f13c"

func examplePartition() Partition {
	return Partition{Key: 0x2fb, Name: "ab", Note: "c", IPoIB: true, MTU: mad.MTU2048, Rate: 7, SL: 5, Scope: 2,
		QKey: 0x0b1b, DeleteWhenEmpty: true, Number: 9, Since: 0x6553f13c}
}

func exampleFormer() FormerPartition { return FormerPartition{0x2fb, 9, 0x6553f13c} }

func zeros(n int) string { return hex.EncodeToString(make([]byte, n)) }

func TestEncodings(t *testing.T) {
	for i, e := range encodings {
		got := e.change.AppendTo(nil)
		if hex.EncodeToString(got) != e.hex {
			t.Errorf("%T is\n%x, want\n%s", e.change, got, e.hex)
		}
		if Kind(got[0]) != e.change.Kind() || i > 0 && e.change.Kind() <= encodings[i-1].change.Kind() {
			t.Errorf("%T is of kind %d, encoded %d", e.change, e.change.Kind(), got[0])
		}
		decoded, rest, err := Decode(append(got, 0xee))
		if err != nil || decoded != e.change || !bytes.Equal(rest, []byte{0xee}) {
			t.Errorf("%T reads back as %+v, rest %x, %v", e.change, decoded, rest, err)
		}
		for n := range got {
			if _, _, err := Decode(got[:n]); !errors.Is(err, ErrTruncated) {
				t.Errorf("%T cut to %d bytes: %v", e.change, n, err)
			}
		}
	}
	if len(encodings) != len(codecs)-1 { // kind 0 is none
		t.Errorf("%d encodings for %d kinds", len(encodings), len(codecs)-1)
	}
	for _, kind := range []byte{0, byte(len(codecs)), 255} {
		if _, _, err := Decode(append([]byte{kind}, make([]byte, 300)...)); !errors.Is(err, ErrUnknownKind) {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

// Values that no registration can have are refused, encoded or not.
func TestRefusedValues(t *testing.T) {
	group := func(f func(*Group)) Change { g := exampleGroup(); f(&g); return PutGroup{g} }
	member := func(f func(*Member)) Change {
		m := Member{mgid(1), port(1), FullMember, false}
		f(&m)
		return PutMember{m}
	}
	partition := func(f func(*Partition)) Change { p := examplePartition(); f(&p); return PutPartition{p} }
	subscription := func(f func(*Subscription)) Change { s := exampleSubscription(); f(&s); return PutSubscription{s} }
	for name, c := range map[string]Change{
		"unicast MGID":       group(func(g *Group) { g.MGID = port(1) }),
		"unicast MLID":       group(func(g *Group) { g.MLID = 0xbfff }),
		"permissive MLID":    group(func(g *Group) { g.MLID = 0xffff }),
		"no P_Key":           group(func(g *Group) { g.PKey = 0x8000 }),
		"no MTU":             group(func(g *Group) { g.MTU = 6 }),
		"long rate":          group(func(g *Group) { g.Rate = 64 }),
		"long lifetime":      group(func(g *Group) { g.PacketLifeTime = 64 }),
		"long SL":            group(func(g *Group) { g.SL = 16 }),
		"long flow label":    group(func(g *Group) { g.FlowLabel = 1 << 20 }),
		"long scope":         group(func(g *Group) { g.Scope = 16 }),
		"no JoinState":       member(func(m *Member) { m.JoinState = 0 }),
		"long JoinState":     member(func(m *Member) { m.JoinState = 16 }),
		"multicast member":   member(func(m *Member) { m.Port = mgid(3) }),
		"member without GID": member(func(m *Member) { m.Port = mad.GID{} }),
		"lease without end":  PutService{Service{Lease: 3}},
		"end without lease":  PutService{Service{Lease: InfiniteLease, Expires: 3}},
		"end before 1970":    PutService{Service{Lease: 3, Expires: -1}},
		"nobody subscribes":  subscription(func(s *Subscription) { s.Subscriber = mad.GID{} }),
		"no LID":             subscription(func(s *Subscription) { s.Addr.LID = 0 }),
		"long path bits":     subscription(func(s *Subscription) { s.Addr.PathBits = 128 }),
		"index of a P_Key":   subscription(func(s *Subscription) { s.Addr.PKeyIndex = 1 }),
		"index of a GID":     subscription(func(s *Subscription) { s.Addr.GRH.GIDIndex = 1 }),
		"half a GRH":         subscription(func(s *Subscription) { s.Addr.GRH.Present = false }),
		"flow label of GRH":  subscription(func(s *Subscription) { s.Addr.GRH.FlowLabel = 1 << 20 }),
		"another QPN":        subscription(func(s *Subscription) { s.Addr.QPN++ }),
		"long QPN":           subscription(func(s *Subscription) { s.QPN, s.Addr.QPN = 1<<24, 1<<24 }),
		"long producer":      subscription(func(s *Subscription) { s.Producer = 1 << 24 }),
		"no port":            PutGRHPort{},
		"no neighbor":        PutNeighbor{At: End{1, 1}},
		"neighbor of none":   PutNeighbor{Far: End{1, 1}},
		"own GUID":           PutAlias{Alias{Slot{1, 0}, 2}},
		"no alias":           PutAlias{Alias{Slot{1, 1}, 0}},

		"partition of full members":  partition(func(p *Partition) { p.Key = 0x82fb }),
		"partition without a P_Key":  partition(func(p *Partition) { p.Key = 0 }),
		"partition without a name":   partition(func(p *Partition) { p.Name = "" }),
		"name with a zero":           partition(func(p *Partition) { p.Name = "a\x00b" }),
		"note with a zero":           partition(func(p *Partition) { p.Note = "a\x00" }),
		"SL of a partition":          partition(func(p *Partition) { p.SL = 16 }),
		"scope of a partition":       partition(func(p *Partition) { p.Scope = 16 }),
		"partition without a number": partition(func(p *Partition) { p.Number = 0 }),
		"deletion without a number":  DeletePartition{FormerPartition{Key: 1}},
		"former without a number":    PutFormerPartition{FormerPartition{Key: 1}},
		"member of nothing":          PutPartitionMember{PartitionMember{MemberKey{Port: 1}, 1, false, 1, 1}},
		"member that is nobody":      PutPartitionMember{PartitionMember{MemberKey{Key: 1}, 1, false, 1, 1}},
		"host and port":              PutPartitionMember{PartitionMember{MemberKey{1, 1, "h"}, 1, false, 1, 1}},
		"no membership":              PutPartitionMember{PartitionMember{MemberKey{Key: 1, Port: 1}, 0, false, 1, 1}},
		"long membership":            PutPartitionMember{PartitionMember{MemberKey{Key: 1, Port: 1}, 4, false, 1, 1}},
		"member without a number":    PutPartitionMember{PartitionMember{MemberKey{Key: 1, Port: 1}, 1, false, 0, 1}},
		"host with a zero":           PutPartitionMember{PartitionMember{MemberKey{Key: 1, Host: "a\x00"}, 1, false, 1, 1}},
		"edit without a number":      PutPartitionEdit{PartitionEdit{Key: 1, Name: "a", Kind: 1}},
		"edit of nothing":            PutPartitionEdit{PartitionEdit{Number: 1, Key: 1, Kind: 1}},
		"edit of no kind":            PutPartitionEdit{PartitionEdit{Number: 1, Key: 1, Name: "a"}},
		"long edit": PutPartitionEdit{PartitionEdit{Number: 1, Key: 1, Name: "a", Kind: 1,
			Undo: string(make([]byte, MaxUndo+1))}},
		"term without a change": PutPartitionTerm{},
		"nobody is taken out":   DeletePartitionMember{MemberKey{Key: 1}},
	} {
		r := New()
		if err := r.Apply(PutGroup{Group{MGID: mgid(1), MLID: 0xc000, PKey: 1, MTU: 1}}); err != nil {
			t.Fatal(err)
		}
		if err := r.Apply(c); err == nil || r.Seq() != 1 {
			t.Errorf("%s: applied", name)
		}
		if got, _, err := Decode(c.AppendTo(nil)); err == nil && got == c {
			t.Errorf("%s: decoded", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, e := range encodings {
		f.Add(e.change.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, rest, err := Decode(b)
		if err != nil {
			return
		}
		if again := c.AppendTo(nil); !bytes.Equal(again, b[:len(b)-len(rest)]) {
			t.Errorf("%x reads as %+v and writes as %x", b, c, again)
		}
	})
}
