// Package keystest searches output for keys. It is for tests.
package keystest

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"ibsm/keys"
)

// Search is what must not be shown, in the forms in which a program might show it. The zero value finds nothing.
type Search struct {
	forms map[[least]byte][]form // by how they begin
}

// least is the length of the shortest form in bytes.
const least = 8

type form struct {
	what string
	text []byte
}

func (s *Search) add(what string, text []byte) {
	if len(text) < least {
		return // so short that any output has it
	}
	if s.forms == nil {
		s.forms = map[[least]byte][]form{}
	}
	begin := [least]byte(text)
	s.forms[begin] = append(s.forms[begin], form{what, bytes.Clone(text)})
}

// AddKey adds a key of 64 bits: as an integer in decimal and hexadecimal, and as bytes of both orders, see AddBytes.
func (s *Search) AddKey(what string, key uint64) {
	for _, format := range []string{"%d", "%x", "%X"} {
		s.add(what, fmt.Appendf(nil, format, key))
	}
	s.add(what, fmt.Appendf(nil, "%d", int64(key)))
	b := binary.BigEndian.AppendUint64(nil, key)
	s.AddBytes(what, b)
	slices.Reverse(b)
	s.AddBytes(what, b)
	s.add(what, fmt.Appendf(nil, "%d", binary.BigEndian.Uint64(b)))
}

// AddBytes adds bytes as they are, in hexadecimal, with separators, as a list of decimal numbers, and in base64
// wherever they begin in what is encoded.
func (s *Search) AddBytes(what string, value []byte) {
	s.add(what, value)
	digits := hex.EncodeToString(value)
	for _, text := range []string{digits, fmt.Sprintf("% x", value),
		strings.ReplaceAll(fmt.Sprintf("% x", value), " ", ":")} {
		s.add(what, []byte(text))
		s.add(what, []byte(strings.ToUpper(text)))
	}
	list := strings.Trim(fmt.Sprint(value), "[]")
	s.add(what, []byte(list))
	s.add(what, []byte(strings.ReplaceAll(list, " ", ", ")))
	s.add(what, []byte(strings.ReplaceAll(list, " ", ",")))
	for before := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := encoding.EncodeToString(append(make([]byte, before), value...))
			// The first and the last character have bits of what is around the value.
			s.add(what, []byte(text[(before*8+5)/6:(before+len(value))*8/6]))
		}
	}
}

// AddSecret adds a secret and all that follows from it: the keys of the subnet, the seed of the M_Keys of ports, and
// those of the given ports with a number, the one before it and the next.
func (s *Search) AddSecret(secret keys.Secret, number uint32, ports []uint64) error {
	_, digits, _ := strings.Cut(strings.TrimSpace(string(secret.Text())), "\nsecret ")
	value, err := hex.DecodeString(digits)
	if err != nil {
		return err
	}
	seed, err := hkdf.Key(sha256.New, value, nil, "ibsm m_key of ports", sha256.Size)
	if err != nil {
		return err
	}
	s.AddBytes("the secret", value)
	s.AddBytes("the seed of M_Keys", seed)
	own := secret.Ports(number)
	mirror := secret.Mirror()
	s.AddBytes("the key of the mirror", mirror.Bytes())
	election := secret.Election(secret.SMKey())
	s.AddBytes("the key of proofs in elections", election.Bytes())
	s.AddKey("m_key", secret.MKey())
	s.AddKey("sm_key", secret.SMKey())
	s.AddKey("sa_key", secret.SAKey())
	s.AddKey("the key of a manager that asks to be let in", own.Knock())
	for _, port := range ports {
		for n := number - 1; n <= number+1; n++ {
			s.AddKey(fmt.Sprintf("the M_Key of port %#016x, number %d", port, n), own.With(n, port))
		}
	}
	return nil
}

// Find names what a text shows, each once.
func (s *Search) Find(text []byte) (shown []string) {
	for i := 0; i+least <= len(text); i++ {
		for _, f := range s.forms[[least]byte(text[i:])] {
			if bytes.HasPrefix(text[i:], f.text) && !slices.Contains(shown, f.what) {
				shown = append(shown, f.what)
			}
		}
	}
	return shown
}
