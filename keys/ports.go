package keys

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Ports are the M_Keys of ports: a hash of each port's GUID, keyed by a seed that is derived from a Secret, and by a
// number. Another number is another key for each port, without another secret. The zero value has none.
type Ports struct {
	seed   [size]byte
	number uint32
	knock  uint64
	one    [3]uint64 // M_Keys of all ports: Secret.MKey, and those of Beside; 0 for none
}

// Format hides the seed from logs, whatever the verb.
func (Ports) Format(f fmt.State, _ rune) { io.WriteString(f, "hidden") }

// Ports are the M_Keys with a number, which begins with 1.
func (s *Secret) Ports(number uint32) Ports {
	seed, err := hkdf.Key(sha256.New, s.value[:], nil, "ibsm m_key of ports", size)
	if err != nil {
		panic(err) // only for lengths that SHA-256 cannot have
	}
	p := Ports{seed: [size]byte(seed), number: max(number, 1), one: [3]uint64{s.MKey()}}
	p.knock = p.With(0, 0)
	return p
}

// Beside are the same M_Keys of ports in a subnet whose managers set, and had set before, an M_Key on all ports that is
// not of the secret; 0 for none. See Made.
func (p Ports) Beside(present, former uint64) Ports {
	p.one[1], p.one[2] = present, former
	return p
}

// On reports whether there are keys.
func (p *Ports) On() bool { return p.number != 0 }

// Number is 0 where there are none.
func (p *Ports) Number() uint32 { return p.number }

// Of is the M_Key of a port with the number of p: the first 8 bytes of HMAC-SHA256(seed, number | GUID) in network byte
// order (RFC 2104). Where they are 0 or 1, which everybody knows, the next 8 are taken.
func (p *Ports) Of(port uint64) uint64 { return p.With(p.number, port) }

// With is the M_Key of a port with another number.
func (p *Ports) With(number uint32, port uint64) uint64 {
	var message [12]byte
	binary.BigEndian.PutUint32(message[:], number)
	binary.BigEndian.PutUint64(message[4:], port)
	h := hmac.New(sha256.New, p.seed[:])
	h.Write(message[:])
	var sum [sha256.Size]byte
	return first(h.Sum(sum[:0]))
}

// Knock is what a manager of the subnet shows to an agent whose port it does not know. No port has it: an agent at
// protection level 2 reports it to its master, which knows by it that the sender has the secret.
func (p *Ports) Knock() uint64 { return p.knock }

// remembered is how many numbers back from the present one a key is recognized.
const remembered = 64

// Made is the number with which a key is a port's, or with 0 that of all ports; ok is false for 0, for keys of others,
// and for those of a number that is long gone.
func (p *Ports) Made(port, key uint64) (number uint32, ok bool) {
	if !p.On() || key == 0 {
		return 0, false
	}
	if slices.Contains(p.one[:], key) {
		return 0, true
	}
	for number = p.number + 1; number > 0 && number+remembered > p.number; number-- {
		if p.With(number, port) == key {
			return number, true
		}
	}
	return 0, false
}

// first is the first 64 bits of a hash that are no key which everybody knows.
func first(hash []byte) (key uint64) {
	for ; len(hash) >= 8; hash = hash[8:] {
		if key = binary.BigEndian.Uint64(hash); key > 1 {
			break
		}
	}
	return max(key, 2)
}
