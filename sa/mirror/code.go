package mirror

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"ibsm/mad"
)

// defaultSMKey is OpenSM's sm_key, which everybody knows.
const defaultSMKey = 1

// On reports whether registrations are mirrored: managers with a secret SM_Key or M_Key
// authenticate each other by it; others have to be asked to do without.
func (c *Config) On() bool {
	return c.DefaultKeys || c.MKey != 0 || c.SMKey != 0 && c.SMKey != defaultSMKey
}

// codeSize is the length of the authentication code in bytes.
const codeSize = 16

// code is the authentication code of a packet that a manager sends to another one, by the GUIDs of
// their ports: HMAC-SHA256 with a key derived from the SM_Key and the M_Key, neither of which is
// sent. It covers all but itself and the upper half of the transaction ID, which the kernel
// overwrites.
func (c *Config) code(p *mad.Packet, from, to mad.GUID) [codeSize]byte {
	secret := []byte("ibsm mirror")
	for _, n := range []uint64{c.SMKey, uint64(c.MKey)} {
		secret = binary.BigEndian.AppendUint64(secret, n)
	}
	key := sha256.Sum256(secret)
	h := hmac.New(sha256.New, key[:])
	var ends [16]byte
	binary.BigEndian.PutUint64(ends[:], uint64(from))
	binary.BigEndian.PutUint64(ends[8:], uint64(to))
	h.Write(ends[:])
	h.Write(p[:8])
	h.Write(p[12:codeAt])
	h.Write(p[dataAt:])
	return [codeSize]byte(h.Sum(nil))
}

// sign writes the code of a packet.
func (c *Config) sign(p *mad.Packet, from, to mad.GUID) {
	code := c.code(p, from, to)
	copy(p[codeAt:], code[:])
}

// verify reports whether it is right.
func (c *Config) verify(p *mad.Packet, from, to mad.GUID) bool {
	code := c.code(p, from, to)
	return hmac.Equal(p[codeAt:dataAt], code[:])
}
