package mirror

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"ibsm/keys"
	"ibsm/mad"
)

// defaultSMKey is OpenSM's sm_key, which everybody knows.
const defaultSMKey = 1

// On reports whether registrations are mirrored: managers with the secret of a keys_file, a secret SM_Key or an M_Key
// authenticate each other by it; others have to be asked to do without.
func (c *Config) On() bool { return c.DefaultKeys || c.secret() }

// secret reports whether something of what keys are made of is not known to everybody.
func (c *Config) secret() bool {
	return c.Secret != (keys.Secret{}) || c.MKey != 0 || c.SMKey != 0 && c.SMKey != defaultSMKey
}

// shared is what all keys of this package are derived from: the SM_Key and the M_Key, and before them a key of 256 bits
// from the secret of keys_file, where there is one. Agents, and other kinds of managers, are shown the M_Key and the
// SM_Key, but never anything of that.
func (c *Config) shared() (b []byte) {
	if c.Secret != (keys.Secret{}) {
		key := c.Secret.Mirror()
		b = append(b, key.Bytes()...)
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, c.SMKey), uint64(c.MKey))
}

// codeSize is the length of the authentication code in bytes.
const codeSize = 16

// coder makes the authentication codes of packets: HMAC-SHA256 with one key. It belongs to one
// goroutine, and allocates nothing after the first packet.
type coder struct {
	mac  hash.Hash
	ends [16]byte
	sum  [sha256.Size]byte
}

func newCoder(key []byte) *coder { return &coder{mac: hmac.New(sha256.New, key)} }

// newCoder is the coder of packets that do not belong to a session.
func (c *Config) newCoder() *coder {
	key := sha256.Sum256(append([]byte("ibsm mirror"), c.shared()...))
	return newCoder(key[:])
}

// code is the authentication code of a packet that a manager sends to another one, by the GUIDs of
// their ports. It covers all but itself and the upper half of the transaction ID, which the kernel
// overwrites.
func (c *coder) code(p *mad.Packet, from, to mad.GUID) []byte {
	c.mac.Reset()
	binary.BigEndian.PutUint64(c.ends[:], uint64(from))
	binary.BigEndian.PutUint64(c.ends[8:], uint64(to))
	c.mac.Write(c.ends[:])
	c.mac.Write(p[:8])
	c.mac.Write(p[12:codeAt])
	c.mac.Write(p[dataAt:])
	return c.mac.Sum(c.sum[:0])[:codeSize]
}

// sign writes the code of a packet.
func (c *coder) sign(p *mad.Packet, from, to mad.GUID) { copy(p[codeAt:dataAt], c.code(p, from, to)) }

// verify reports whether it is right.
func (c *coder) verify(p *mad.Packet, from, to mad.GUID) bool {
	return hmac.Equal(p[codeAt:dataAt], c.code(p, from, to))
}
