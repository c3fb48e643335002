package mirror

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"ibsm/mad"
	"ibsm/registry"
)

// A packet has the header of a vendor's class with an OUI (IBA 16.5), and after it its
// authentication code, so that each segment of a message has one. The data begins where that of
// subnet administration does, which is what mad/rmpp expects.
//
//	24 RMPP header
//	36 reserved  OUI
//	40 authentication code
//	56 data
const (
	ouiAt  = 36
	codeAt = 40
	dataAt = 56
)

// Attributes: what the data of a packet is.
const (
	attrPlain   = mad.AttrID(0x10) // question and answer that are not encrypted, or an opening
	attrSealed  = mad.AttrID(0x11) // question and answer of a session
	attrOpening = mad.AttrID(0x12) // opening and challenge
)

// Versions of the data, incremented with each change of its layout. Managers that speak only
// plainVersion drop what has another attribute than attrPlain or another version.
const (
	plainVersion  = 3 // nothing is encrypted
	sealedVersion = 4
)

// oldestRegistry is the registry.Version of managers that send no latest version.
const oldestRegistry = 1

// Question and answer begin with a byte each for version, kind, the registry.Version of the
// Changes, and the latest registry.Version that the sender understands, where 0 means the
// former; then come the latest version that the sender speaks, which is 0 in those of plainVersion
// alone, and 3 reserved bytes. A question has no Changes and carries oldestRegistry, so
// that older managers accept it; the answer has Changes of the latest version that both
// understand.
//
//	question                    answer
//	 8 GUID of the standby       8 Term.Manager
//	16 Term.Manager            16 Term.Began
//	24 Term.Began              24 number of the Change before the first
//	32 number of the last       32 number of the last
//	40 sum of the policy        40 sum of the policy
//	48 number of the question   48 number of the question
//	                            56 number of the answer
//	                            64 length of the policy, 0 if it is known
//	                            72 policy, then Changes
//
// An opening is a question without a position, which is followed by the Salt of the standby, and a
// challenge answers it:
//
//	challenge
//	 0 version  kind  6 reserved bytes
//	 8 number of the opening, or of the sealed question of an earlier session
//	16 Salt of the standby
//	32 Salt of the master
//	48 number of the challenge
const (
	questionSize  = 56
	openingSize   = questionSize + len(Salt{})
	challengeSize = 56
	answerSize    = 72
)

// MaxPolicy is the longest policy that is sent, in bytes. A longer one is counted and not
// sent: standbys act as if there were none.
const MaxPolicy = 16 << 20

// kind is the type of a message.
type kind uint8

const (
	kindQuestion kind = 1
	kindChanges  kind = 2 // Changes after a number
	kindWhole    kind = 3 // Changes that make up the whole registry
	// kindChallenge is the answer to an opening.
	kindChallenge kind = 4
)

// Term is a mastership term: the time of one manager as master. Numbers of Changes of two terms
// are unrelated. The zero value is none.
type Term struct {
	Manager mad.GUID // its port
	Began   uint64   // nanoseconds since 1970
}

// Config is the configuration of either end.
type Config struct {
	SMKey uint64
	MKey  mad.MKey
	// DefaultKeys has managers mirror each other although everybody knows their keys.
	DefaultKeys bool
	// Sealed refuses what is not encrypted: there is no mirror with a manager that speaks only
	// an older version of the protocol.
	Sealed bool
	// Allowed are the ports whose managers are answered; all in the view when it is empty.
	Allowed []mad.GUID
	// Policy is the master's policy, in the caller's encoding; nil for none. It is not
	// changed.
	Policy []byte

	// A Reader also needs:
	SAKey uint64     // that the master's SA trusts
	Keys  []mad.PKey // the partitions of our own configuration
}

// sumOf is the checksum that identifies a policy; 0 for none.
func sumOf(policy []byte) uint64 {
	if len(policy) == 0 {
		return 0
	}
	sum := sha256.Sum256(policy)
	return binary.BigEndian.Uint64(sum[:]) | 1
}

// header writes the header of a packet, but not the code.
func header(p *mad.Packet, m mad.Method, attr mad.AttrID, tid mad.TID) {
	p.SetHeader(mad.ClassMirror, m, attr, 0)
	p.SetTID(tid)
	binary.BigEndian.PutUint32(p[ouiAt:], mad.MirrorOUI)
}

// isOurs reports whether a packet is one of mirroring, which is on. Its code is not verified.
func (c *Config) isOurs(p *mad.Packet) bool {
	return p.MgmtClass() == mad.ClassMirror && p.ClassVersion() == mad.ClassMirror.Version() &&
		p.AttrID() >= attrPlain && p.AttrID() <= attrOpening && binary.BigEndian.Uint32(p[ouiAt:]) == mad.MirrorOUI && c.On()
}

// position says which Changes and which policy a manager has.
type position struct {
	term   Term
	seq    uint64
	policy uint64 // its sum; 0 for none
}

func (r *Term) append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(r.Manager)), r.Began)
}

func readTerm(b []byte) Term {
	return Term{mad.GUID(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])}
}

func appendKind(b []byte, version uint8, k kind, changes, latest uint8) []byte {
	return append(b, version, byte(k), changes, registry.Version, latest, 0, 0, 0)
}

// errForeign is for messages of another version and for garbage.
var errForeign = errors.New("mirror: not a message of this version")

// readKind reads the type of a message of a version, and the latest registry.Version that both
// understand.
func readKind(b []byte, version uint8) (k kind, understood uint8, err error) {
	if len(b) < 8 || b[0] != version || b[2] < oldestRegistry || b[2] > registry.Version {
		return 0, 0, errForeign
	}
	return kind(b[1]), min(max(b[2], b[3]), registry.Version), nil
}

// answerNumber orders the answers that a standby gets: by its latest question that the master had,
// then by the master's own count. One that is not greater than the last is a replay.
type answerNumber struct{ question, answer uint64 }

func (n answerNumber) after(o answerNumber) bool {
	return n.question > o.question || n.question == o.question && n.answer > o.answer
}

func (n answerNumber) append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, n.question), n.answer)
}

func readAnswerNumber(b []byte) answerNumber {
	return answerNumber{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

// question is the message of a standby.
type question struct {
	from       mad.GUID
	has        position
	number     uint64 // greater than that of every earlier question of the standby
	understood uint8  // the latest registry.Version that both understand
	latest     uint8  // the latest version that the standby speaks; 0 for plainVersion
}

func (q *question) append(b []byte, version uint8) []byte {
	b = binary.BigEndian.AppendUint64(appendKind(b, version, kindQuestion, oldestRegistry, q.latest), uint64(q.from))
	b = q.has.term.append(b)
	b = binary.BigEndian.AppendUint64(b, q.has.seq)
	b = binary.BigEndian.AppendUint64(b, q.has.policy)
	return binary.BigEndian.AppendUint64(b, q.number)
}

func readQuestion(b []byte, version uint8) (q question, err error) {
	k, understood, err := readKind(b, version)
	if err != nil || k != kindQuestion || len(b) < questionSize {
		return q, errForeign
	}
	has := position{readTerm(b[16:]), binary.BigEndian.Uint64(b[32:]), binary.BigEndian.Uint64(b[40:])}
	return question{mad.GUID(binary.BigEndian.Uint64(b[8:])), has, binary.BigEndian.Uint64(b[48:]), understood, b[4]}, nil
}

// answer is the message of the master.
type answer struct {
	kind    kind
	before  uint64 // number of the Change before the first
	now     position
	number  answerNumber
	policy  []byte // of now; empty if the standby has it, or there is none
	changes []byte
	version uint8 // registry.Version of changes
}

// size is the length of the message in bytes.
func (a *answer) size() int { return answerSize + len(a.policy) + len(a.changes) }

func (a *answer) append(b []byte, version uint8) []byte {
	b = appendKind(b, version, a.kind, a.version, 0)
	if version == sealedVersion {
		b = a.number.append(b)
	}
	b = a.now.term.append(b)
	for _, n := range []uint64{a.before, a.now.seq, a.now.policy} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	if version != sealedVersion {
		b = a.number.append(b)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(len(a.policy)))
	return append(append(b, a.policy...), a.changes...)
}

func readAnswer(b []byte, version uint8) (a answer, err error) {
	k, _, err := readKind(b, version)
	switch {
	case err != nil:
		return a, err
	case len(b) < answerSize || k != kindChanges && k != kindWhole:
		return a, errForeign
	}
	number, rest := b[48:], b[8:]
	if version == sealedVersion {
		number, rest = b[8:], b[answerHead:]
	}
	a = answer{kind: k, before: binary.BigEndian.Uint64(rest[16:]), number: readAnswerNumber(number)}
	a.now = position{readTerm(rest), binary.BigEndian.Uint64(rest[24:]), binary.BigEndian.Uint64(rest[32:])}
	n := binary.BigEndian.Uint64(b[64:])
	b = b[answerSize:]
	switch {
	case a.now.seq < a.before:
		return a, fmt.Errorf("mirror: the last change %d has a lower number than the first, %d", a.now.seq, a.before+1)
	case n > uint64(min(len(b), MaxPolicy)):
		return a, fmt.Errorf("mirror: a policy of %d bytes in %d", n, len(b))
	}
	a.policy, a.changes = b[:n], b[n:]
	if n > 0 && sumOf(a.policy) != a.now.policy {
		return a, errors.New("mirror: the checksum of the policy is wrong")
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
