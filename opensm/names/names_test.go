package names

import (
	"maps"
	"strings"
	"testing"
)

// TestNames: a line with an error is left out, and the others are used. iblinkinfo does so with lines without a name;
// with the other errors it uses no line, or takes the comment for the name.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Map
		err        string
	}{
		{"quoted", `0x0002c902004c1e20 "spine 1"`, Map{0x2c902004c1e20: "spine 1"}, ""},
		{"bare", "\t 0x100000 host1 \n", Map{0x100000: "host1"}, ""},
		{"comments", "# all of them\n\n0x1 a # the first\n0x2 \"b # c\" d", Map{0x1: "a", 0x2: "b # c"}, ""},
		{"decimal", "16 a", Map{0x10: "a"}, ""},
		{"twice", "0x1 a\n0x1 b", Map{0x1: "a"}, ""},
		{"empty", "", Map{}, ""},
		{"no number", "0x1 a\nspine 0x2\n0x3 b", Map{1: "a", 3: "b"}, ":2: expected a GUID"},
		{"hexadecimal without 0x", "0002c902004c1e20 a", Map{}, "(0x and"},
		{"no name", "0x1 a\n0x2 # not named yet\n0x3\n0x4 \"\"\n0x5 b", Map{1: "a", 5: "b"},
			":2: the name is missing: the line is left out\nfile:3: "},
		{"quote left open", "0x1 \"a\n0x2 b", Map{2: "b"}, "second quote"},
		{"long line", "0x1 " + strings.Repeat("x", 300) + "\n0x2 b", Map{2: "b"}, ":1: a line of more than 256 bytes"},
		{"longer line", "0x1 " + strings.Repeat("x", 3000) + " 0x7 c\n0x2 b", Map{2: "b"},
			":1: a line of more than 256 bytes"},
		{"no names", strings.Repeat("x\n", 50) + "0x2 b", Map{}, "not read beyond the first 20 errors"},
	} {
		got, err := Read("file", strings.NewReader(c.text))
		if (err != nil) != (c.err != "") || err != nil &&
			(!strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), "file:")) ||
			!maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v, %q", c.name, got, err, c.want, c.err)
		}
	}
	m := Map{1: "a", 5: "b", 3: "b", 7: " b", 4: "spine 1 ", 6: "spine 1  "}
	if guid, ok := m.Find("spine 1"); guid != 4 || !ok { // as somebody types it
		t.Errorf("a name with blanks at its end: %v", guid)
	}
	if guid, ok := m.Find("spine 1  "); guid != 6 || !ok {
		t.Errorf("a name with its blanks: %v", guid)
	}
	guid, ok := m.Find("b")
	_, none := m.Find("c")
	if m.Of(1, "x") != "a" || m.Of(2, "x") != "x" || Map(nil).Of(1, "x") != "x" || guid != 3 || !ok || none {
		t.Error("names are not found")
	}
}

// FuzzNames: what is read from a line can be written as one and read again.
func FuzzNames(f *testing.F) {
	for _, line := range []string{`0x0002c902004c1e20 "spine 1"`, "0x1 a # b", "# x", "", "1e5 x", `0x1 "`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		guid, name, err := parse(line)
		if err != nil || name == "" || strings.Contains(name, `"`) {
			return
		}
		guid2, name2, err := parse(guid.String() + ` "` + name + `"`)
		if err != nil || guid2 != guid || name2 != name {
			t.Errorf("%q: %v %q, then %v %q, %v", line, guid, name, guid2, name2, err)
		}
	})
}
