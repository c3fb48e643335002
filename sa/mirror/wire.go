package mirror

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"ibsm/mad"
	"ibsm/registry"
)

// A packet has the header of a vendor's class with an OUI (IBA 16.5), and behind it the
// keys, so that each segment of a message shows them. The data begins where that of
// subnet administration does, which is what mad/rmpp expects.
//
//	24 RMPP header
//	36 reserved  OUI
//	40 SM_Key
//	48 M_Key
//	56 data
const (
	ouiAt    = 36
	smKeyAt  = 40
	mKeyAt   = 48
	attrOurs = mad.AttrID(0x10) // of questions and answers
)

// version of the data, raised with each change of its layout.
const version = 2

// oldestRegistry is the registry.Version of managers that say no more than that.
const oldestRegistry = 1

// Both begin with a byte each for version, kind, the registry.Version of the Changes and
// the latest that the sender understands, 0 for the former, and 4 reserved bytes. A question
// has no Changes and says oldestRegistry, so that managers take it that know no other; the
// answer has Changes of the latest that both understand.
//
//	question                    answer
//	 8 GUID of who asks          8 Reign.Manager
//	16 Reign.Manager            16 Reign.Began
//	24 Reign.Began              24 number of the Change before the first
//	32 number of the last       32 number of the last
//	40 sum of the policy        40 sum of the policy
//	                            48 length of the policy, 0 if it is known
//	                            56 policy, then Changes
const (
	questionSize = 48
	answerSize   = 56
)

// MaxPolicy is the longest policy that is sent, in bytes. A longer one is counted and not
// sent: standbys take it that there is none.
const MaxPolicy = 16 << 20

// kind is what a message is.
type kind uint8

const (
	kindQuestion kind = 1
	kindChanges  kind = 2 // since a number
	kindWhole    kind = 3 // that make everything of nothing
)

// Reign is the time of one manager as master. Numbers of Changes of two reigns have
// nothing to do with each other. The zero value is none.
type Reign struct {
	Manager mad.GUID // its port
	Began   uint64   // nanoseconds since 1970
}

// Config is what both ends need to know.
type Config struct {
	SMKey uint64
	MKey  mad.MKey
	// Policy is what the master rules by, in a form that is the caller's own; nil for
	// none. It is not changed.
	Policy []byte

	// What follows is of a Reader.
	SAKey uint64     // that the master's SA trusts
	Keys  []mad.PKey // the partitions that there are, as our configuration says
}

// sumOf is by which two policies are told apart; 0 for none.
func sumOf(policy []byte) uint64 {
	if len(policy) == 0 {
		return 0
	}
	sum := sha256.Sum256(policy)
	return binary.BigEndian.Uint64(sum[:]) | 1
}

// header writes the header of a packet.
func (c *Config) header(p *mad.Packet, m mad.Method, tid mad.TID) {
	p.SetHeader(mad.ClassMirror, m, attrOurs, 0)
	p.SetTID(tid)
	binary.BigEndian.PutUint32(p[ouiAt:], mad.MirrorOUI)
	binary.BigEndian.PutUint64(p[smKeyAt:], c.SMKey)
	binary.BigEndian.PutUint64(p[mKeyAt:], uint64(c.MKey))
}

// trusts reports whether a packet is of the exchange and shows our keys.
func (c *Config) trusts(p *mad.Packet) bool {
	return p.MgmtClass() == mad.ClassMirror && p.ClassVersion() == mad.ClassMirror.Version() && p.AttrID() == attrOurs &&
		binary.BigEndian.Uint32(p[ouiAt:]) == mad.MirrorOUI &&
		binary.BigEndian.Uint64(p[smKeyAt:]) == c.SMKey && binary.BigEndian.Uint64(p[mKeyAt:]) == uint64(c.MKey)
}

// position is how much of what somebody has.
type position struct {
	reign  Reign
	seq    uint64
	policy uint64 // its sum; 0 for none
}

func (r *Reign) append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(r.Manager)), r.Began)
}

func readReign(b []byte) Reign {
	return Reign{mad.GUID(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])}
}

func appendKind(b []byte, k kind, changes uint8) []byte {
	return append(b, version, byte(k), changes, registry.Version, 0, 0, 0, 0)
}

// errForeign is for what another version wrote, or nobody.
var errForeign = errors.New("mirror: not a message of this version")

// readKind reads what a message is, and the latest registry.Version that both understand.
func readKind(b []byte) (k kind, understood uint8, err error) {
	if len(b) < 8 || b[0] != version || b[2] < oldestRegistry || b[2] > registry.Version {
		return 0, 0, errForeign
	}
	return kind(b[1]), min(max(b[2], b[3]), registry.Version), nil
}

// question is what a standby asks.
type question struct {
	from       mad.GUID
	has        position
	understood uint8 // the latest registry.Version that both understand
}

func (q *question) write(p *mad.Packet) {
	b := binary.BigEndian.AppendUint64(appendKind(p.SAData()[:0], kindQuestion, oldestRegistry), uint64(q.from))
	b = q.has.reign.append(b)
	b = binary.BigEndian.AppendUint64(b, q.has.seq)
	binary.BigEndian.AppendUint64(b, q.has.policy)
}

func readQuestion(p *mad.Packet) (q question, err error) {
	b := p.SAData()[:questionSize]
	k, understood, err := readKind(b)
	if err != nil || k != kindQuestion {
		return q, errForeign
	}
	has := position{readReign(b[16:]), binary.BigEndian.Uint64(b[32:]), binary.BigEndian.Uint64(b[40:])}
	return question{mad.GUID(binary.BigEndian.Uint64(b[8:])), has, understood}, nil
}

// answer is what the master says.
type answer struct {
	kind    kind
	before  uint64 // from which Changes lead on
	now     position
	policy  []byte // of now; empty if who asked has it, or there is none
	changes []byte
	version uint8 // registry.Version of changes
}

func (a *answer) append(b []byte) []byte {
	b = a.now.reign.append(appendKind(b, a.kind, a.version))
	for _, n := range []uint64{a.before, a.now.seq, a.now.policy, uint64(len(a.policy))} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return append(append(b, a.policy...), a.changes...)
}

func readAnswer(b []byte) (a answer, err error) {
	k, _, err := readKind(b)
	switch {
	case err != nil:
		return a, err
	case len(b) < answerSize || k != kindChanges && k != kindWhole:
		return a, errForeign
	}
	a = answer{kind: k, before: binary.BigEndian.Uint64(b[24:])}
	a.now = position{readReign(b[8:]), binary.BigEndian.Uint64(b[32:]), binary.BigEndian.Uint64(b[40:])}
	n := binary.BigEndian.Uint64(b[48:])
	b = b[answerSize:]
	switch {
	case a.now.seq < a.before:
		return a, fmt.Errorf("mirror: change %d is said to follow %d", a.now.seq, a.before)
	case n > uint64(min(len(b), MaxPolicy)):
		return a, fmt.Errorf("mirror: a policy of %d bytes in %d", n, len(b))
	}
	a.policy, a.changes = b[:n], b[n:]
	if n > 0 && sumOf(a.policy) != a.now.policy {
		return a, errors.New("mirror: the policy has another sum than is said")
	}
	return a, nil
}

// decoded iterates over encoded Changes.
func decoded(b []byte) func(yield func(registry.Change, error) bool) {
	return func(yield func(registry.Change, error) bool) {
		for len(b) > 0 {
			var c registry.Change
			var err error
			c, b, err = registry.Decode(b)
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}
