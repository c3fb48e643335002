package madtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []byte // nil: refused
	}{
		{"rows left out are zero", "# remark\n\n002: 0102 03 # a remark\n006:\n", []byte{0, 0, 1, 2, 3, 0}},
		{"nothing but a length", "2:", []byte{0, 0}},
		{"no length", "000: 01\n", nil},
		{"row after the length", "002:\n002: 01\n", nil},
		{"rows that overlap", "000: 0102\n001: 03\n003:\n", nil},
		{"length below the bytes", "000: 0102\n001:\n", nil},
		{"no colon", "000 0102\n", nil},
		{"half a byte", "000: 012\n002:\n", nil},
		{"no offset", ": 01\n001:\n", nil},
		{"an offset beyond all sense", "fff0: 01\nfff1:\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.text)
			if (err != nil) != (tt.want == nil) || !bytes.Equal(got, tt.want) {
				t.Errorf("parse(%q) = %x, %v; want %x", tt.text, got, err, tt.want)
			}
		})
	}
}

// Every file can be read, has a packet's length and is named by its kind.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root(t), "testdata", "mad", "*.hex"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".hex")
		limit := 256
		if strings.HasPrefix(name, "umad-") {
			limit += umadHeader
		}
		if n := len(Bytes(t, name)); n < 92 || n > limit {
			t.Errorf("%s: %d bytes", name, n)
		}
		p := Packet(t, name)
		if p.BaseVersion() != 1 {
			t.Errorf("%s: BaseVersion %d", name, p.BaseVersion())
		}
		if text, _ := os.ReadFile(file); !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s: does not say what it is", name)
		}
	}
}
