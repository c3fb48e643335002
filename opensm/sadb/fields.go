package sadb

import (
	"encoding/binary"
	"strconv"
	"strings"

	"ibsm/mad"
)

// fields are what is left to read of a record.
type fields struct {
	text  string
	at    int    // in text; once something is wrong, where
	wrong string // why the record cannot be read; "" while it can
}

// after goes behind the next occurrence of a label, as OpenSM does: what is in between
// is passed over.
func (f *fields) after(label string) bool {
	if f.wrong != "" {
		return false
	}
	i := strings.Index(f.text[f.at:], label)
	if i < 0 {
		f.wrong = "no " + strconv.Quote(strings.TrimSpace(label)) + " follows here"
		return false
	}
	f.at += i + len(label)
	return true
}

// hex reads the digits behind a label, a number of so many bits; 0 when something is
// wrong.
func (f *fields) hex(label string, bits int) uint64 {
	if !f.after(label) {
		return 0
	}
	digits := f.text[f.at:]
	n := 0
	for n < len(digits) && isHex(digits[n]) {
		n++
	}
	v, err := strconv.ParseUint(digits[:n], 16, bits)
	if err != nil {
		f.wrong = "a hexadecimal number of up to " + strconv.Itoa(bits) + " bits belongs here"
		return 0
	}
	f.at += n
	return v
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func (f *fields) u8(label string) uint8   { return uint8(f.hex(label, 8)) }
func (f *fields) u16(label string) uint16 { return uint16(f.hex(label, 16)) }
func (f *fields) u32(label string) uint32 { return uint32(f.hex(label, 32)) }
func (f *fields) flag(label string) bool  { return f.hex(label, 8) != 0 }

// u128 reads two numbers of 64 bits with a colon between them.
func (f *fields) u128(label string) (b [16]byte) {
	binary.BigEndian.PutUint64(b[:], f.hex(label, 64))
	binary.BigEndian.PutUint64(b[8:], f.hex(":0x", 64))
	return b
}

func (f *fields) gid(label string) mad.GID { return f.u128(label) }

// quoted reads what stands between a label that ends with a quote and the next label,
// which begins with one: a name may have quotes of its own.
func (f *fields) quoted(label, next string) string {
	if !f.after(label) {
		return ""
	}
	i := strings.Index(f.text[f.at:], next)
	if i < 0 {
		f.wrong = "the name has no end on this line"
		return ""
	}
	text := f.text[f.at : f.at+i]
	f.at += i
	return text
}
