package conf

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLarge has files as large as are read, made to be slow.
func TestLarge(t *testing.T) {
	for _, c := range []struct{ name, file, begin, repeat, end string }{
		{"unknown keys", "f.conf", "", "abcdefghijklmnopqrstuvwxyz 1\n", ""},
		{"wrong values", "f.conf", "", "lmc x\n", ""},
		{"one key", "f.conf", "", "lmc 1\n", ""},
		{"one line", "f.conf", "lmc ", "1", ""},
		{"lines of one byte", "f.conf", "", "x\n", ""},
		{"imposed", "f.conf", "impose ", "lmc,x,", ""},
		{"nested arrays", "f.toml", "x = ", "[", ""},
		{"nested arrays, closed", "f.toml", "x = ", "[]", ""},
		{"nested tables", "f.toml", "x = ", "{a = ", ""},
		{"a long path", "f.toml", "", "a.", "a = 1"},
		{"long paths", "f.toml", "", strings.Repeat("a.", 100) + "a = 1\n", ""},
		{"paths that differ", "f.toml", "", "$" + strings.Repeat("a.", 99) + "a = 1\n", ""},
		{"groups", "f.toml", "", "[[a]]\n", ""},
		{"elements", "f.toml", "[routing]\nengines = [", "\"minhop\",", "]"},
		{"text", "f.toml", "[log]\nprefix = \"\"\"", "a\n", "\"\"\""},
	} {
		start := time.Now()
		largest := MaxFile
		if IsTOML(c.file) {
			largest = MaxTOML
		}
		n := (largest - len(c.begin) - len(c.end)) / len(c.repeat)
		f := ReadFile(c.file, []byte(c.begin+numbered(strings.Repeat(c.repeat, n))+c.end))
		if f.Report.Err(Start) == nil && c.name != "one key" && c.name != "elements" && c.name != "lines of one byte" &&
			c.name != "one line" && c.name != "text" {
			t.Errorf("%s: not refused", c.name)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s: %v", c.name, d)
		} else {
			t.Logf("%s: %v, %d findings", c.name, d, len(f.Report))
		}
	}
	if MaxFile != 1_048_576 || MaxTOML != 65_536 {
		t.Errorf("files of %d and %d bytes are read", MaxFile, MaxTOML)
	}
	if f := ReadFile("f.toml", make([]byte, MaxTOML+1)); f.Report.Err(Start) == nil {
		t.Error("a larger TOML file is not refused")
	}
	if f := ReadFile("f.conf", make([]byte, MaxFile+1)); f.Report.Err(Start) == nil {
		t.Error("a file larger than that is not refused")
	}
}

// numbered puts numbers in the place of dollars.
func numbered(src string) string {
	parts := strings.Split(src, "$")
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString("k" + strconv.Itoa(i) + ".")
		}
		b.WriteString(p)
	}
	return b.String()[:min(b.Len(), max(MaxTOML, len(src)))]
}
