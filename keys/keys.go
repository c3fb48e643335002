// Package keys holds the secret that the managers of a subnet share, derives the keys of the subnet from it, and
// seals it for the way from one manager to another. It does no I/O.
package keys

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"ibsm/conf/diag"
)

// size is that of a secret in bytes.
const size = 32

// Secret is what the managers of a subnet share: a program that knows it can manage the subnet. It never appears in
// text but that of its file. The zero value is none.
type Secret struct{ value [size]byte }

// New makes a secret of 32 bytes from a source of randomness. The error is the source's.
func New(random io.Reader) (s Secret, err error) {
	_, err = io.ReadFull(random, s.value[:])
	return s, err
}

// Format hides the secret from logs, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { io.WriteString(f, "hidden") }

// The lines of a file.
const (
	heading = "ibsm-keys 1"
	comment = "# The secret of a subnet's managers. A person who reads it can manage the subnet.\n"
	word    = "secret "
)

// MaxFile is the longest file that Parse takes, in bytes.
const MaxFile = 4096

// Text is the file of the secret.
func (s *Secret) Text() []byte {
	return []byte(comment + heading + "\n" + word + hex.EncodeToString(s.value[:]) + "\n")
}

// Parse reads a file. The error is a diag.Error, which repeats nothing of what might be a secret.
func Parse(file string, text []byte) (s Secret, err error) {
	fail := func(line, col int, text string) (Secret, error) {
		return Secret{}, diag.Error{Position: diag.Position{File: file, Line: line, Col: col}, Text: text}
	}
	if len(text) > MaxFile {
		return fail(1, 1, "the file is too long for one of keys; ibsmctl security new makes one")
	}
	headed, found := false, false
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
		case !headed && line == heading:
			headed = true
		case !headed:
			return fail(i+1, 1,
				"expected the line "+heading+": this is no file of keys; ibsmctl security new makes one")
		case found || !strings.HasPrefix(line, word):
			return fail(i+1, 1, "expected one line of "+strings.TrimSpace(word)+" and nothing else")
		default:
			value, bad := hex.DecodeString(line[len(word):])
			if bad != nil || len(value) != size {
				return fail(i+1, len(word)+1,
					"the secret has another form than 64 hexadecimal digits: the file is cut off or damaged")
			}
			copy(s.value[:], value)
			found = true
		}
	}
	if !found {
		return fail(1, 1, "the file has no secret: it is empty or cut off; ibsmctl security new makes one")
	}
	if s == (Secret{}) {
		return fail(1, 1, "a secret of nothing but zeros protects nothing")
	}
	return s, nil
}

// derive is a key of 64 bits for a purpose, other than OpenSM's defaults 0 and 1 (RFC 5869).
func (s *Secret) derive(purpose string) uint64 {
	for n := byte(0); ; n++ {
		b, err := hkdf.Key(sha256.New, s.value[:], nil, "ibsm "+purpose+string(rune('0'+n)), 8)
		if err != nil {
			panic(err) // only for lengths that SHA-256 cannot have
		}
		if key := binary.BigEndian.Uint64(b); key > 1 {
			return key
		}
	}
}

// Key is a key of 256 bits for one purpose.
type Key struct{ value [size]byte }

// Format hides the key from logs, whatever the verb.
func (Key) Format(f fmt.State, _ rune) { io.WriteString(f, "hidden") }

// Bytes are the key. The caller changes none of them.
func (k *Key) Bytes() []byte { return k.value[:] }

// deriveKey is a key for a purpose from what managers share (RFC 5869).
func deriveKey(shared []byte, purpose string) Key {
	b, err := hkdf.Key(sha256.New, shared, nil, "ibsm "+purpose, size)
	if err != nil {
		panic(err) // only for lengths that SHA-256 cannot have
	}
	return Key{[size]byte(b)}
}

// Mirror is the key of the mirror between managers that have the secret.
func (s *Secret) Mirror() Key { return deriveKey(s.value[:], "mirror") }

// Election is the key by which managers with an sm_key prove to each other that they share the secret. Without a
// secret, which is the zero value, it follows from the sm_key alone.
func (s *Secret) Election(smKey uint64) Key {
	if *s == (Secret{}) {
		return deriveKey(binary.BigEndian.AppendUint64(nil, smKey), "election by sm_key")
	}
	return deriveKey(binary.BigEndian.AppendUint64(bytes.Clone(s.value[:]), smKey), "election")
}

// SMKey is the sm_key of the subnet.
func (s *Secret) SMKey() uint64 { return s.derive("sm_key") }

// SAKey is its sa_key.
func (s *Secret) SAKey() uint64 { return s.derive("sa_key") }

// MKey is its m_key.
func (s *Secret) MKey() uint64 { return s.derive("m_key") }
