package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       names
		err        string
	}{
		{"quoted", `0x0002c902004c1e20 "spine 1"`, names{"0x0002c902004c1e20": "spine 1"}, ""},
		{"bare", "\t 0x100000 host1 \n", names{"0x0000000000100000": "host1"}, ""},
		{"comments", "# all of them\n\n0x1 a # the first\n0x2 \"b # c\" d", names{"0x0000000000000001": "a", "0x0000000000000002": "b # c"}, ""},
		{"decimal", "16 a", names{"0x0000000000000010": "a"}, ""},
		{"twice", "0x1 a\n0x1 b", names{"0x0000000000000001": "a"}, ""},
		{"empty", "", names{}, ""},
		{"no number", "0x1 a\nspine 0x2", nil, ":2: want a GUID"},
		{"hexadecimal without 0x", "0002c902004c1e20 a", nil, "with 0x"},
		{"no name", "0x1", nil, ":1: the name is missing"},
		{"quote left open", `0x1 "a`, nil, "second quote"},
		{"long line", "0x1 " + strings.Repeat("x", 300), nil, ":1: "},
	} {
		file := filepath.Join(t.TempDir(), "names")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readNames(file)
		if (err != nil) != (c.err != "") || err != nil && (!strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), file)) || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v, %q", c.name, got, err, c.want, c.err)
		}
	}
	n := names{"0x0000000000000001": "a"}
	if n.of("0x0000000000000001", "x") != "a" || n.of("0x0000000000000002", "x") != "x" || n.resolve("a") != "0x0000000000000001" || n.resolve("b") != "b" || names(nil).of("0x1", "x") != "x" {
		t.Error("names are not found")
	}
}

// FuzzNames: what is read from a line can be written as one and read again.
func FuzzNames(f *testing.F) {
	for _, line := range []string{`0x0002c902004c1e20 "spine 1"`, "0x1 a # b", "# x", "", "1e5 x", `0x1 "`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		guid, name, err := parseName(line)
		if err != nil || guid == "" || strings.Contains(name, `"`) {
			return
		}
		guid2, name2, err := parseName(guid + ` "` + name + `"`)
		if err != nil || guid2 != guid || name2 != name {
			t.Errorf("%q: %s %q, then %s %q, %v", line, guid, name, guid2, name2, err)
		}
	})
}
