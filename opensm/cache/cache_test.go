package cache

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// lines are where the warnings are.
func lines(l diag.List) (at []int) {
	for _, e := range l {
		at = append(at, e.Line)
	}
	return at
}

// Records that OpenSM 3.3.23 skips, as its log says for the same text, but for the
// missing empty line.
func TestParseLIDs(t *testing.T) {
	for _, c := range []struct {
		name  string
		lmc   uint8
		text  string
		want  map[mad.GUID]LIDRange
		warns []int
		fails string
	}{
		{"as written", 0, "0x0000000000100003 0x0004 0x0004\n\n0x0000000000100006 0x0007 0x0007\n\n",
			map[mad.GUID]LIDRange{0x100003: {4, 4}, 0x100006: {7, 7}}, nil, ""},
		{"no end", 0, "0x0000000000100003 0x0004 0x0004", map[mad.GUID]LIDRange{0x100003: {4, 4}}, nil, ""},
		{"decimal, octal, tabs, more words", 0, "0x0000000000100003\t10 \t012 0x99\n\n",
			map[mad.GUID]LIDRange{0x100003: {10, 10}}, nil, ""},
		{"value goes on", 0, "0x0000000000100003 4\n 4\n\n", map[mad.GUID]LIDRange{0x100003: {4, 4}}, nil, ""},
		{"no empty line", 0, "0x0000000000100003 4 4\n0x0000000000100006 7 7\n\n",
			map[mad.GUID]LIDRange{0x100003: {4, 4}, 0x100006: {7, 7}}, []int{2}, ""},
		{"twice", 0, "0x0000000000100003 4 4\n\n0x0000000000100003 5 5\n", map[mad.GUID]LIDRange{0x100003: {4, 4}},
			[]int{3}, ""},
		{"one LID", 0, "0x0000000000100003 4\n", map[mad.GUID]LIDRange{}, []int{1}, ""},
		{"no LID", 0, "0x0000000000100003\n", map[mad.GUID]LIDRange{}, []int{1}, ""},
		{"no number", 0, "0x0000000000100003 four four\n", map[mad.GUID]LIDRange{}, []int{1}, ""},
		{"too long a number", 0, "0x0000000000100003 0x10004 0x10004\n", map[mad.GUID]LIDRange{}, []int{1}, ""},
		{"key in short", 0, "0x100003 4 4\n", map[mad.GUID]LIDRange{}, []int{1}, ""},
		{"no GUID", 0, "# remark\n\n0x0000000000000000 4 4\n\ngarbage 5 5\n", map[mad.GUID]LIDRange{}, []int{1, 3, 5},
			""},
		{"no range", 0, "0x0000000000000001 0 0\n\n0x0000000000000002 5 4\n\n0x0000000000000003 0xc000 0xc000\n\n0x0000000000000004 0xbfff 0xbfff\n",
			map[mad.GUID]LIDRange{4: {0xbfff, 0xbfff}}, []int{1, 3, 5}, ""},
		{"taken", 0, "0x0000000000000001 9 9\n\n0x0000000000000002 9 9\n", map[mad.GUID]LIDRange{1: {9, 9}}, []int{3},
			""},
		{"not aligned", 2, "0x0000000000000001 4 7\n\n0x0000000000000002 9 12\n\n0x0000000000000003 1 1\n",
			map[mad.GUID]LIDRange{1: {4, 7}, 3: {1, 1}}, []int{3}, ""},
		{"overlap under the LMC", 2, "0x0000000000000001 4 7\n\n0x0000000000000002 6 6\n",
			map[mad.GUID]LIDRange{1: {4, 7}}, []int{3}, ""},
		{"of a larger LMC before", 0, "0x0000000000000001 4 7\n\n0x0000000000000002 6 6\n",
			map[mad.GUID]LIDRange{1: {4, 7}, 2: {6, 6}}, nil, ""},
		{"blank before a key", 0, "0x0000000000000001 4 4\n\n 0x0000000000000002 5 5\n\n0x0000000000000003 6 6\n",
			map[mad.GUID]LIDRange{1: {4, 4}}, nil, "f:3:1: a blank"},
		{"long key", 0, "0x0000000000000001 4 4\n\n" + strings.Repeat("k", 33) + " 5 5\n",
			map[mad.GUID]LIDRange{1: {4, 4}}, nil, "f:3:1: a key of 33 bytes"},
		{"empty", 0, "", map[mad.GUID]LIDRange{}, nil, ""},
	} {
		got, warned, err := parseLIDs("f", []byte(c.text), c.lmc)
		if !maps.Equal(got, c.want) || !slices.Equal(lines(warned), c.warns) {
			t.Errorf("%s: %v, warned %v", c.name, got, warned)
		}
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
	if _, warned, _ := parseLIDs("f", []byte(strings.Repeat("x\n\n", 1000)), 0); len(warned) != maxWarnings+1 ||
		!strings.HasSuffix(warned.Error(), "and 900 more") {
		t.Errorf("%d warnings, the last %v", len(warned), warned[len(warned)-1])
	}
}

func TestParseMKeys(t *testing.T) {
	got, warned, err := parseMKeys("f",
		[]byte("0x0000000000100003 0x00000000deadbeef\n\n0x0000000000100004 0\n\n0x0000000000100003 1\n\n"+
			"0x0000000000000000 1\n\n0x0000000000100005 secret\n\n0x0000000000100006\n"))
	want := map[mad.GUID]mad.MKey{0x100003: 0xdeadbeef, 0x100004: 0}
	if !maps.Equal(got, want) || !slices.Equal(lines(warned), []int{5, 7, 9, 11}) || err != nil {
		t.Errorf("%v, warned %v, %v", got, warned, err)
	}
	if strings.Contains(warned.Error(), "secret") {
		t.Error("a warning shows an M_Key")
	}
}

func TestParseNeighbors(t *testing.T) {
	got, warned, err := parseNeighbors("f",
		[]byte("0x0000000000200001:5 0x0000000000200000:5\n\n0x0000000000200000:5 0x0000000000200001:5\n\n"+
			"0x0000000000200001:6 0x0000000000300000:1\n\n"+ // one-sided
			"0x0000000000200001:7 0x0000000000200001:8\n\n0x0000000000200001:8 0x0000000000200001:7\n\n"+ // a loop
			"0x0000000000200001:0 0x0000000000200000:5\n\n0x0000000000200001:256 0x0000000000200000:5\n\n0x0000000000200001 0x0000000000200000:5\n\n"+
			"0x0000000000200001:9 200000:5\n\n0x0000000000200001:5 0x0000000000200009:5\n"))
	want := map[End]End{{0x200001, 5}: {0x200000, 5}, {0x200000, 5}: {0x200001, 5}, {0x200001, 7}: {0x200001, 8},
		{0x200001, 8}: {0x200001, 7}}
	if !maps.Equal(got, want) || !slices.Equal(lines(warned), []int{11, 13, 15, 17, 19, 5}) || err != nil {
		t.Errorf("%v, warned %v, %v", got, warned, err)
	}
}

// What is written reads back, in OpenSM's form and with OpenSM's names; and nothing is
// written that is there already.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "opensm")
	f := Files{Dir: dir, Sync: true}
	lids := map[mad.GUID]LIDRange{0x100003: {4, 7}, 0x20: {0xbfff, 0xbfff}}
	keys := map[mad.GUID]mad.MKey{0x100003: 0xdeadbeef}
	links := map[End]End{{0x200001, 5}: {0x200000, 12}, {0x200000, 12}: {0x200001, 5}}
	writeAll := func() {
		t.Helper()
		for _, err := range []error{f.WriteLIDs(lids), f.WriteMKeys(keys), f.WriteNeighbors(linksOf(links))} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, warned, err := f.ReadLIDs(0); got != nil || warned != nil || err != nil {
		t.Errorf("of no file: %v, %v, %v", got, warned, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// left behind, for all to read
	if err := os.WriteFile(filepath.Join(dir, "guid2mkey.tmp"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	writeAll()
	for name, want := range map[string]string{
		"guid2lid":  "0x0000000000000020 0xbfff 0xbfff\n\n0x0000000000100003 0x0004 0x0007\n\n",
		"guid2mkey": "0x0000000000100003 0x00000000deadbeef\n\n",
		"neighbors": "0x0000000000200000:12 0x0000000000200001:5\n\n0x0000000000200001:5 0x0000000000200000:12\n\n",
	} {
		path := filepath.Join(dir, name)
		if got, err := os.ReadFile(path); string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
		mode := os.FileMode(0o644)
		if name == "guid2mkey" {
			mode = 0o600
		}
		if info, _ := os.Stat(path); info.Mode()&^0o022 != mode {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	writeAll()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("written again: %v", left)
	}
	lids[0x21], keys[0x21], links[End{1, 1}], links[End{2, 1}] = LIDRange{9, 9}, 1, End{2, 1}, End{1, 1}
	writeAll()
	again := Files{Dir: dir}
	gotLIDs, w1, err1 := again.ReadLIDs(2)
	gotKeys, w2, err2 := again.ReadMKeys()
	gotLinks, w3, err3 := again.ReadNeighbors()
	if !maps.Equal(gotLIDs, lids) || !maps.Equal(gotKeys, keys) || !maps.Equal(gotLinks, links) ||
		len(w1)+len(w2)+len(w3) > 0 || err1 != nil || err2 != nil || err3 != nil {
		t.Errorf("%v %v %v, warned %v %v %v, %v %v %v", gotLIDs, gotKeys, gotLinks, w1, w2, w3, err1, err2, err3)
	}
	f = again
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	writeAll()
	if _, err := os.Stat(dir); err == nil {
		t.Error("what was read is written again")
	}
}

// A write that fails is no write: the next one is not spared, and the old file stays.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	f := Files{Dir: dir}
	if err := f.WriteLIDs(map[mad.GUID]LIDRange{1: {1, 1}}); err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(dir, "guid2lid.tmp")
	if err := os.MkdirAll(filepath.Join(blocked, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if f.WriteLIDs(map[mad.GUID]LIDRange{2: {2, 2}}) == nil {
		t.Error("written over a directory")
	}
	if got, _, _ := f.ReadLIDs(0); !maps.Equal(got, map[mad.GUID]LIDRange{1: {1, 1}}) {
		t.Errorf("%v", got)
	}
	if err := os.RemoveAll(blocked); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteLIDs(map[mad.GUID]LIDRange{2: {2, 2}}); err != nil {
		t.Error(err)
	}
	if got, _, _ := f.ReadLIDs(0); !maps.Equal(got, map[mad.GUID]LIDRange{2: {2, 2}}) {
		t.Errorf("%v", got)
	}
}

// Any bytes are read; and what was read is written so that it reads the same, without
// a warning.
func FuzzParse(f *testing.F) {
	f.Add([]byte("0x0000000000100003 0x0004 0x0007\n\n0x0000000000100006 8 8\n"), uint8(2))
	f.Add([]byte("0x0000000000200001:5 0x0000000000200000:5\n\n0x0000000000200000:5 0x0000000000200001:5\n\n"),
		uint8(0))
	f.Add([]byte("0x0000000000100003 0xdeadbeef\n\tx\n 0x1\n"), uint8(7))
	f.Fuzz(func(t *testing.T, b []byte, lmc uint8) {
		dir := t.TempDir()
		lids, _, _ := parseLIDs("f", b, lmc%8)
		keys, _, _ := parseMKeys("f", b)
		links, _, _ := parseNeighbors("f", b)
		w := Files{Dir: dir}
		for _, err := range []error{w.WriteLIDs(lids), w.WriteMKeys(keys), w.WriteNeighbors(linksOf(links))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		r := Files{Dir: dir}
		lids2, w1, err1 := r.ReadLIDs(lmc % 8)
		keys2, w2, err2 := r.ReadMKeys()
		links2, w3, err3 := r.ReadNeighbors()
		if !maps.Equal(lids, lids2) || !maps.Equal(keys, keys2) || !maps.Equal(links, links2) {
			t.Errorf("%v %v %v became %v %v %v", lids, keys, links, lids2, keys2, links2)
		}
		if len(w1)+len(w2)+len(w3) > 0 || err1 != nil || err2 != nil || err3 != nil {
			t.Errorf("warned %v %v %v, %v %v %v", w1, w2, w3, err1, err2, err3)
		}
	})
}
