package topo

import (
	"slices"
	"testing"

	"ibsm/mad"
)

func keys(k ...mad.PKey) *PKeyTable { return NewPKeyTable(k) }

// TestCommon holds the table against IBA 10.9.3: entries match when their bases are
// equal and at least one is a full member's.
func TestCommon(t *testing.T) {
	tables := []*PKeyTable{
		keys(), keys(0), keys(0xffff), keys(0x7fff), keys(0x7fff, 0x8010), keys(0xffff, 0x0010), keys(0x0010, 0x8010),
		keys(0x8010, 0x0010, 0),
		keys(0, 0x8000, 0x0010), keys(0x8003, 0x8001, 0x8002), keys(0x0001, 0x0002, 0x8004),
		keys(0x0001, 0x0002, 0x0003),
		keys(0x8001, 0x8001), keys(0x8010, 0xffff),
	}
	for _, a := range tables {
		for _, b := range tables {
			want := mad.PKey(0)
			for _, k := range a.Keys() {
				for _, l := range b.Keys() {
					if k.Matches(l) && (want == 0 || k.Base() < want.Base() || k.Base() == want.Base() && k > want) {
						want = k
					}
				}
			}
			if got, ok := a.Common(b); got != want || ok != (want != 0) {
				t.Errorf("%v with %v: %v, %v; want %v", a.Keys(), b.Keys(), got, ok, want)
			}
		}
	}
}

func TestPKeyTable(t *testing.T) {
	table := keys(0xffff, 0, 0x0010, 0x8010, 0x8000, 0x0005, 0, 0x8000)
	if want := []mad.PKey{0xffff, 0, 0x0010, 0x8010, 0x8000, 0x0005}; !slices.Equal(table.Keys(), want) {
		t.Errorf("keys %v, want %v", table.Keys(), want)
	}
	for _, tt := range []struct{ ask, entry mad.PKey }{
		{0xffff, 0xffff}, {0x7fff, 0xffff}, {0x0010, 0x8010}, {0x8010, 0x8010}, {0x8005, 0x0005}, {0x0006, 0}, {0, 0},
		{0x8000, 0}, {0x0001, 0},
	} {
		if got, ok := table.Find(tt.ask); got != tt.entry || ok != (tt.entry != 0) {
			t.Errorf("Find(%v): %v, %v", tt.ask, got, ok)
		}
		if exact := slices.Contains(table.Keys(), tt.ask) && tt.ask.Valid(); table.Has(tt.ask) != exact {
			t.Errorf("Has(%v): %v", tt.ask, !exact)
		}
	}
	if table.Key(2) != 0x0010 || table.Key(99) != 0 || (*PKeyTable)(nil).Key(0) != 0 {
		t.Error("entries by index")
	}
}

func TestPKeyTables(t *testing.T) {
	var m PKeyTables
	a := m.Of([]mad.PKey{0xffff, 0}, nil)
	if m.Of([]mad.PKey{0xffff}, nil) != a || m.Of([]mad.PKey{0xffff, 5}, a) == a {
		t.Error("equal tables are one, others are not")
	}
	was := keys(0x8001)
	if m.Of([]mad.PKey{0x8001}, was) != was || m.Of([]mad.PKey{0x8001}, nil) != was {
		t.Error("a table made before is used again")
	}
}

func BenchmarkCommon(b *testing.B) {
	x, y := make([]mad.PKey, 64), make([]mad.PKey, 64)
	for i := range x {
		x[i], y[i] = mad.PKey(2*i+1)|mad.FullMember, mad.PKey(2*i+2)|mad.FullMember
	}
	y[63] = x[63]
	many, other := keys(x...), keys(y...)
	for _, bb := range []struct {
		name string
		a, b *PKeyTable
	}{{"same", many, many}, {"64 keys", many, other}} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				if _, ok := bb.a.Common(bb.b); !ok {
					b.Fatal("nothing in common")
				}
			}
		})
	}
}

// TestNoKeys: a table without a valid key is one without entries.
func TestNoKeys(t *testing.T) {
	for _, entries := range [][]mad.PKey{nil, {0}, {0x8000}, {0, 0x8000, 0}} {
		if left := keys(entries...).Keys(); len(left) > 0 {
			t.Errorf("%v: keys %v", entries, left)
		}
	}
}
