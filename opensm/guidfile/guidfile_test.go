package guidfile

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
)

// TestGUIDs: GUIDs are read as OpenSM's parse_node_map reads them, by strtoull with base 0.
func TestGUIDs(t *testing.T) {
	for _, c := range []struct {
		name, text       string
		want             []mad.GUID
		warnings, errors string
	}{
		{"empty", "", nil, "", ""},
		{"comments", "# roots\n\n  # more\n\t\n", nil, "", ""},
		{"bases", "0x10\n0X1f\n16\n020\n0\n", []mad.GUID{0x10, 0x1f, 16, 16, 0}, "f:3:1: GUID 0x0000000000000010 is on line 1, too\nf:4:1: GUID 0x0000000000000010 is on line 3, too\nf:5:1: GUID 0 is that of no node", ""},
		{"what follows", "0x1 spine\n0x2#spine\n\t 0x3 \n", []mad.GUID{1, 2, 3}, "", ""},
		{"Windows, no end", "0x1\r\n\r\n0x2", []mad.GUID{1, 2}, "", ""},
		{"largest", "0xffffffffffffffff\n", []mad.GUID{0xffffffffffffffff}, "", ""},
		{"too large", "0x10000000000000000\n", nil, "", "f:1:1: expected a GUID"},
		{"no GUID", "0x1\n  spine1\n0x2\n", []mad.GUID{1, 2}, "", "f:2:3: expected a GUID"},
		{"no prefix", "b83fd20300404000\n", nil, "", "f:1:1: expected a GUID"},
		{"joined", "0x1,0x2\n0x3:4\n089\n-1\n", nil, "", "f:1:1: expected a GUID, with 0x before its digits: OpenSM ignores the rest of the file\nf:2:1: e"},
		{"binary", "\x00\x01\xff\n", nil, "", "f:1:1: expected a GUID"},
		{"many errors", strings.Repeat("x\n", 1000), nil, "", "f:101: too many errors"},
		{"too long", strings.Repeat("#\n", MaxFile/2+1), nil, "", "f: the file is longer than"},
	} {
		got, warnings, errors := GUIDs("f", []byte(c.text))
		if !slices.Equal(got, c.want) || warnings.Error() != c.warnings || !strings.Contains(errors.Error(), c.errors) || (len(errors) > 0) != (c.errors != "") {
			t.Errorf("%s: %v, warnings %v, errors %v", c.name, got, warnings, errors)
		}
	}
}

func TestIDs(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[mad.GUID]uint64
		errors     string
	}{
		{"IDs", "0x1 5\n0x2\t0x10 comment\n0x3\n0x4 010 # eight\n", map[mad.GUID]uint64{1: 5, 2: 16, 3: 0, 4: 8}, ""},
		{"the last applies", "0x1 5\n0x1 6\r\n", map[mad.GUID]uint64{1: 6}, ""},
		{"no ID", "0x1  five\n", nil, "f:1:6: expected an ID"},
		{"a comment in its place", "0x1 # five\n", nil, "f:1:5: expected an ID"},
		{"joined", "0x1 5#\n", nil, "f:1:5: expected an ID"},
	} {
		got, _, errors := IDs("f", []byte(c.text))
		if !maps.Equal(got, c.want) || !strings.Contains(errors.Error(), c.errors) || (len(errors) > 0) != (c.errors != "") {
			t.Errorf("%s: %v, errors %v", c.name, got, errors)
		}
	}
}

// FuzzParse: whatever a file has, it is read or refused.
func FuzzParse(f *testing.F) {
	f.Add([]byte("0x1 5\n# x\n020\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, warnings, errors := parse("f", text, len(text)%2 == 0)
		if lines := strings.Count(string(text), "\n") + 1; len(entries)+len(errors) > lines+1 || len(warnings) > 2*lines {
			t.Errorf("%d entries, %d warnings and %d errors of %d lines", len(entries), len(warnings), len(errors), lines)
		}
	})
}
