package smp

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ibsm/mad"
)

// NodeDescription is attribute 0x0010: a text of up to 64 bytes, padded with
// zeros; a text of 64 bytes has no terminator (IBA 14.2.5.2). It can be written
// where CapMask2 has IsSetNodeDescriptionSupported.
type NodeDescription [mad.DataSize]byte

// String is the text up to the first zero byte. It comes from an untrusted device and goes
// to logs and terminals, so a question mark stands for each control character and
// for each byte that is not UTF-8.
func (d NodeDescription) String() string {
	text := d[:]
	if i := bytes.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	if !slices.ContainsFunc(text, func(c byte) bool { return c < ' ' || c > '~' }) {
		return string(text) // as nearly all
	}
	var b strings.Builder
	b.Grow(len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
		text = text[size:]
	}
	return b.String()
}

// Set replaces the text; what is longer than 64 bytes is cut before the
// character that does not fit.
func (d *NodeDescription) Set(text string) {
	*d = NodeDescription{}
	n := len(text)
	if n > len(d) {
		n = len(d)
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
	}
	copy(d[:], text[:n])
}
