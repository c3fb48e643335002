package engines

import (
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing/lash"
	"ibsm/routing/tree"
	"ibsm/routing/updn"
)

// TestNew: the chain has the engines of the list in its order, and min-hop at the end unless the list
// names or forbids it (osm_opensm.c, osm_ucast_mgr.c). A list with other names, or with nothing to try, has
// none.
func TestNew(t *testing.T) {
	for _, c := range []struct{ list, chain string }{
		{"", "minhop"},
		{"minhop", "minhop"},
		{"updn", "updn,minhop"},
		{"lash updn", "lash,updn,minhop"},
		{"minhop lash", "minhop,lash"},
		{"lash no_fallback", "lash"},
		{"no_fallback lash minhop", "lash,minhop"},
	} {
		if chain, err := New(strings.Fields(c.list), &Settings{}); err != nil || chain.String() != c.chain {
			t.Errorf("%q: %v, %v", c.list, chain, err)
		}
	}
	for _, list := range []string{"no_fallback", "bogus", "updn bogus", "bogus no_fallback"} {
		if chain, err := New(strings.Fields(list), &Settings{}); err == nil {
			t.Errorf("%q: %v", list, chain)
		}
	}
}

// TestEqual: chains are compared by the values of their settings.
func TestEqual(t *testing.T) {
	list := []string{"updn", "lash"}
	with := func(s Settings, list ...string) Chain { c, _ := New(list, &s); return c }
	was := with(Settings{Updn: updn.Settings{Roots: []mad.GUID{1, 2}, IDs: map[mad.GUID]uint64{3: 4}}}, list...)
	same := with(Settings{Updn: updn.Settings{Roots: []mad.GUID{1, 2}, IDs: map[mad.GUID]uint64{3: 4}}}, list...)
	if !was.Equal(same) {
		t.Error("other memory is another chain")
	}
	for name, other := range map[string]Chain{
		"roots": with(Settings{Updn: updn.Settings{Roots: []mad.GUID{1}, IDs: map[mad.GUID]uint64{3: 4}}},
			list...),
		"IDs": with(Settings{Updn: updn.Settings{Roots: []mad.GUID{1, 2}, IDs: map[mad.GUID]uint64{3: 5}}},
			list...),
		"lane": with(Settings{Updn: updn.Settings{Roots: []mad.GUID{1, 2}, IDs: map[mad.GUID]uint64{3: 4}},
			Lash: lash.Settings{StartVL: 1}}, list...),
		"order": with(Settings{Updn: updn.Settings{Roots: []mad.GUID{1, 2}, IDs: map[mad.GUID]uint64{3: 4}}},
			"lash", "updn"),
		"no_fallback": with(Settings{Updn: updn.Settings{Roots: []mad.GUID{1, 2}, IDs: map[mad.GUID]uint64{3: 4}}},
			"updn", "lash", "no_fallback"),
	} {
		if was.Equal(other) {
			t.Errorf("%s: equal", name)
		}
	}
	if with(Settings{}, "tree").Equal(with(Settings{Tree: tree.Settings{IO: map[mad.GUID]bool{1: true}}}, "tree")) {
		t.Error("a file of I/O nodes is none for tree")
	}
	if with(Settings{}, list...).Equal(with(Settings{Updn: updn.Settings{Roots: []mad.GUID{}}}, list...)) {
		t.Error("a file without roots is no file")
	}
}
