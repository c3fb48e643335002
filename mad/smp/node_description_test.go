package smp

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestNodeDescriptionString(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 4)
	for _, tt := range []struct{ name, raw, want string }{
		{"empty", "", ""},
		{"text", "MF0;sw-1:MQM8700/U1", "MF0;sw-1:MQM8700/U1"},
		{"all 64 bytes, no terminator", long, long},
		{"nothing after the first zero", "a\x00b", "a"},
		{"zero first", "\x00abc", ""},
		{"end of line and escape", "a\nb\r\x1b[2Jc\x7f", "a?b??[2Jc?"},
		{"letters beyond ASCII", "Zürich", "Zürich"},
		{"C1 control, line separator, bidi override", "a\u0085b\u2028c\u202ed", "a?b?c?d"},
		{"not UTF-8", "a\xff\xc3b", "a??b"},
		{"character cut at the end", long[:63] + "\xc3", long[:63] + "?"},
		{"spaces stay", " a b ", " a b "},
	} {
		var d NodeDescription
		copy(d[:], tt.raw)
		if got := d.String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNodeDescriptionSet(t *testing.T) {
	long := strings.Repeat("x", 63)
	for _, tt := range []struct{ name, text, want string }{
		{"short", "node1 HCA-1", "node1 HCA-1"},
		{"empty", "", ""},
		{"64 bytes", long + "y", long + "y"},
		{"65 bytes", long + "yz", long + "y"},
		{"no half character", long + "ü", long},
		{"not UTF-8 at all", strings.Repeat("\x80", 70), ""},
	} {
		d := NodeDescription{5, 6, 7, 63: 9}
		d.Set(tt.text)
		if got := string(d[:len(tt.want)]); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		for _, b := range d[len(tt.want):] {
			if b != 0 {
				t.Errorf("%s: not padded with zeros: %x", tt.name, d)
				break
			}
		}
	}
}

func FuzzNodeDescription(f *testing.F) {
	f.Add("node1 HCA-1")
	f.Add("a\x00\xff\u202e\n")
	f.Add(strings.Repeat("ü", 40))
	f.Fuzz(func(t *testing.T, text string) {
		var d NodeDescription
		d.Set(text)
		got := d.String()
		if !utf8.ValidString(got) || len(got) > len(d) {
			t.Errorf("%q: %q", text, got)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Errorf("%q: %q has %q", text, got, r)
			}
		}
		again := d
		if again.Set(got); again.String() != got {
			t.Errorf("%q: %q becomes %q", text, got, again.String())
		}
	})
}
