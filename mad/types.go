package mad

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// GUID is an EUI-64 of a node, port or system image. 0 means none.
type GUID uint64

// String gives the form that every InfiniBand tool prints: 0x and 16 digits.
func (g GUID) String() string { return fmt.Sprintf("0x%016x", uint64(g)) }

// ParseGUID reads 1 to 16 hexadecimal digits, with or without 0x.
func ParseGUID(s string) (GUID, error) {
	digits, found := strings.CutPrefix(s, "0x")
	if !found {
		digits, _ = strings.CutPrefix(s, "0X")
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || len(digits) > 16 {
		return 0, fmt.Errorf("GUID %q: expected 1 to 16 hexadecimal digits", s)
	}
	return GUID(v), nil
}

// Prefix is the upper half of a GID, the subnet prefix (IBA 4.1.1).
type Prefix uint64

// DefaultPrefix is the link-local subnet prefix that ports power up with.
const DefaultPrefix Prefix = 0xfe80000000000000

// String prints 0x and 16 digits.
func (p Prefix) String() string { return fmt.Sprintf("0x%016x", uint64(p)) }

// GID is a 128-bit port or multicast address in wire order.
type GID [16]byte

// MakeGID joins a subnet prefix and a port GUID.
func MakeGID(p Prefix, g GUID) (gid GID) {
	binary.BigEndian.PutUint64(gid[:8], uint64(p))
	binary.BigEndian.PutUint64(gid[8:], uint64(g))
	return gid
}

// Prefix is the subnet prefix of a unicast GID.
func (g GID) Prefix() Prefix { return Prefix(binary.BigEndian.Uint64(g[:8])) }

// GUID is the interface identifier of a unicast GID.
func (g GID) GUID() GUID { return GUID(binary.BigEndian.Uint64(g[8:])) }

// IsMulticast reports whether the GID is in FF00::/8.
func (g GID) IsMulticast() bool { return g[0] == 0xff }

// String prints eight groups of four digits, uncompressed, as sysfs does.
func (g GID) String() string {
	var b strings.Builder
	for i := 0; i < 16; i += 2 {
		if i > 0 {
			b.WriteByte(':')
		}
		fmt.Fprintf(&b, "%02x%02x", g[i], g[i+1])
	}
	return b.String()
}

// LID is a local identifier: 1..0xBFFF unicast, 0xC000..0xFFFE multicast,
// 0xFFFF permissive (directed route), 0 none (IBA 4.1.3).
type LID uint16

// Bounds of the LID space.
const (
	MaxUnicastLID   LID = 0xbfff
	MinMulticastLID LID = 0xc000
	PermissiveLID   LID = 0xffff
)

// IsUnicast reports whether a port can own the LID.
func (l LID) IsUnicast() bool { return l != 0 && l <= MaxUnicastLID }

// IsMulticast reports whether the LID is that of multicast groups.
func (l LID) IsMulticast() bool { return l > MaxUnicastLID && l != PermissiveLID }

// String prints the LID in decimal, as OpenSM and the diagnostics do.
func (l LID) String() string { return strconv.Itoa(int(l)) }

// PKey is a partition key: a 15-bit base and the membership bit (IBA 10.9.1).
type PKey uint16

// The default partition and the membership bit.
const (
	DefaultPKey PKey = 0xffff
	FullMember  PKey = 0x8000
)

// Base is the key without its membership bit.
func (k PKey) Base() PKey { return k &^ FullMember }

// Valid reports whether the entry holds a key at all.
func (k PKey) Valid() bool { return k.Base() != 0 }

// Matches reports whether two ports with these entries may talk: equal bases,
// and at least one of them a full member.
func (k PKey) Matches(o PKey) bool { return k.Valid() && k.Base() == o.Base() && (k|o)&FullMember != 0 }

// String prints 0x and four digits.
func (k PKey) String() string { return fmt.Sprintf("0x%04x", uint16(k)) }

// TID is a transaction ID. Linux and ibsim own the upper 32 bits of a request;
// only the lower 32 come back as they were sent.
type TID uint64

// MKey protects the attributes of a port against foreign managers (IBA 14.2.4).
// 0 means no protection.
type MKey uint64
