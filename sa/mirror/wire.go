package mirror

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"ibsm/conf/policyfile"
	"ibsm/keys"
	"ibsm/mad"
	"ibsm/partitions"
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
	attrOpening = mad.AttrID(0x10) // opening and challenge
	attrSealed  = mad.AttrID(0x11) // question and answer of a session
)

// Version is the version of the data, incremented with each change of its layout, and when registry gets another Kind
// of Change. Managers of two versions do not mirror each other.
const Version = 2

// Every message begins with a byte each for version and kind, and 6 reserved bytes.
//
//	question                    answer
//	 8 GUID of the standby       8 number of the question
//	16 Term.Manager             16 number of the answer
//	24 Term.Began               24 Term.Manager
//	32 number of the last       32 Term.Began
//	   Change                   40 number of the Change before the first
//	40 sum of the policy        48 number of the last
//	48 number of the question   56 sum of the policy
//	                            64 length of the policy, 0 if it is known
//	                            72 policy, then Changes
//
//	opening                     challenge
//	 8 GUID of the standby       8 number of the opening, or of the sealed question of an earlier session
//	16 number of the opening    16 Salt of the standby
//	24 Salt of the standby      32 Salt of the master
//	                            48 number of the challenge
const (
	openingSize   = 24 + len(Salt{})
	challengeSize = 56
	questionSize  = 56
	answerSize    = 72
)

// MaxPolicy is the longest policy that is sent, in bytes: room for the largest partition file, and as much as the
// largest QoS policy has for all else. A longer one is counted and not sent: standbys act as if there were none.
const MaxPolicy = partitions.MaxFile + policyfile.MaxFile

// kind is the type of a message.
type kind uint8

const (
	kindQuestion kind = 1
	kindChanges  kind = 2 // Changes after a number
	kindWhole    kind = 3 // Changes that make up the whole registry
	kindOpening  kind = 4
	// kindChallenge is the answer to an opening.
	kindChallenge kind = 5
	kindOffer     kind = 6 // the partitions of a standby
)

// Term is a mastership term: the time of one manager as master. Numbers of Changes of two terms
// are unrelated. The zero value is none.
type Term struct {
	Manager mad.GUID // its port
	Began   uint64   // nanoseconds since 1970
}

// Config is the configuration of either end.
type Config struct {
	Secret keys.Secret // of keys_file; the zero value where there is none
	SMKey  uint64
	MKey   mad.MKey
	// DefaultKeys has managers mirror each other although everybody knows their keys.
	DefaultKeys bool
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
		(p.AttrID() == attrOpening || p.AttrID() == attrSealed) &&
		binary.BigEndian.Uint32(p[ouiAt:]) == mad.MirrorOUI && c.On()
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

func appendHead(b []byte, k kind) []byte { return append(b, Version, byte(k), 0, 0, 0, 0, 0, 0) }

// isKind reports whether a message is of this version and of a kind.
func isKind(b []byte, k kind) bool { return b[0] == Version && kind(b[1]) == k }

// errForeign is for messages of another version and for garbage.
var errForeign = errors.New("mirror: not a message of this version")

// answerNumber orders the answers that a standby gets: by its latest question that the master had,
// then by the master's own count. One that is not greater than the last is a replay.
type answerNumber struct{ question, answer uint64 }

func (n answerNumber) after(o answerNumber) bool {
	return n.question > o.question || n.question == o.question && n.answer > o.answer
}

func (n answerNumber) append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, n.question), n.answer)
}

// answerNumberOf is the number of an answer, which is in its clear part.
func answerNumberOf(b []byte) answerNumber {
	return answerNumber{binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}
}

// question is the message of a standby.
type question struct {
	from   mad.GUID
	has    position
	number uint64 // greater than that of every earlier question of the standby
}

func (q *question) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(appendHead(b, kindQuestion), uint64(q.from))
	b = q.has.term.append(b)
	b = binary.BigEndian.AppendUint64(b, q.has.seq)
	b = binary.BigEndian.AppendUint64(b, q.has.policy)
	return binary.BigEndian.AppendUint64(b, q.number)
}

func readQuestion(b []byte) (q question, err error) {
	if len(b) < questionSize || !isKind(b, kindQuestion) {
		return q, errForeign
	}
	has := position{readTerm(b[16:]), binary.BigEndian.Uint64(b[32:]), binary.BigEndian.Uint64(b[40:])}
	return question{mad.GUID(binary.BigEndian.Uint64(b[8:])), has, binary.BigEndian.Uint64(b[48:])}, nil
}

// answer is the message of the master.
type answer struct {
	kind    kind
	before  uint64 // number of the Change before the first
	now     position
	number  answerNumber
	policy  []byte // of now; empty if the standby has it, or there is none
	changes []byte
}

// size is the length of the message in bytes.
func (a *answer) size() int { return answerSize + len(a.policy) + len(a.changes) }

func (a *answer) append(b []byte) []byte {
	b = a.number.append(appendHead(b, a.kind))
	b = a.now.term.append(b)
	for _, n := range []uint64{a.before, a.now.seq, a.now.policy, uint64(len(a.policy))} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return append(append(b, a.policy...), a.changes...)
}

func readAnswer(b []byte) (a answer, err error) {
	if len(b) < answerSize || !isKind(b, kindChanges) && !isKind(b, kindWhole) {
		return a, errForeign
	}
	a = answer{kind: kind(b[1]), before: binary.BigEndian.Uint64(b[40:]), number: answerNumberOf(b)}
	a.now = position{readTerm(b[24:]), binary.BigEndian.Uint64(b[48:]), binary.BigEndian.Uint64(b[56:])}
	n := binary.BigEndian.Uint64(b[64:])
	b = b[answerSize:]
	switch {
	case a.now.seq < a.before:
		return a, fmt.Errorf("mirror: the last change %d has a lower number than the first, %d", a.now.seq, a.before+1)
	case n > uint64(min(len(b), MaxPolicy)):
		return a, fmt.Errorf("mirror: the policy has %d bytes, the message %d", n, len(b))
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
