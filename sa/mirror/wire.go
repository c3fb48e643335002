package mirror

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ibsm/mad"
	"ibsm/sa/registry"
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
const version = 1

// Both begin with version, kind and registry.Version, a byte each, and 5 reserved ones.
//
//	question                    answer
//	 8 GUID of who asks          8 Reign.Manager
//	16 Reign.Manager            16 Reign.Began
//	24 Reign.Began              24 number of the Change before the first
//	32 number of the last       32 number of the last
//	                            40 Settings.Partitions
//	                            48 Settings.Routing
//	                            56 Changes
const (
	questionSize = 40
	answerSize   = 56
)

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

// Settings are sums over parts of the configuration, by which two managers tell whether
// theirs are the same; 0 where none is known.
type Settings struct {
	Partitions uint64
	Routing    uint64
}

// Config is what both ends need to know.
type Config struct {
	SMKey    uint64
	MKey     mad.MKey
	Settings Settings

	// What follows is of a Reader.
	SAKey uint64     // that the master's SA trusts
	Keys  []mad.PKey // the partitions that there are, as our configuration says
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
	reign Reign
	seq   uint64
}

func (o *position) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(o.reign.Manager))
	b = binary.BigEndian.AppendUint64(b, o.reign.Began)
	return binary.BigEndian.AppendUint64(b, o.seq)
}

func readPosition(b []byte) position {
	return position{Reign{mad.GUID(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])}, binary.BigEndian.Uint64(b[16:])}
}

func appendKind(b []byte, k kind) []byte {
	return append(b, version, byte(k), registry.Version, 0, 0, 0, 0, 0)
}

// errForeign is for what another version wrote, or nobody.
var errForeign = errors.New("mirror: not a message of this version")

func readKind(b []byte) (kind, error) {
	if len(b) < 8 || b[0] != version || b[2] != registry.Version {
		return 0, errForeign
	}
	return kind(b[1]), nil
}

// question is what a standby asks.
type question struct {
	from mad.GUID
	has  position
}

func (q *question) write(p *mad.Packet) {
	b := binary.BigEndian.AppendUint64(appendKind(p.SAData()[:0], kindQuestion), uint64(q.from))
	q.has.append(b)
}

func readQuestion(p *mad.Packet) (q question, err error) {
	b := p.SAData()[:questionSize]
	if k, err := readKind(b); err != nil || k != kindQuestion {
		return q, errForeign
	}
	return question{mad.GUID(binary.BigEndian.Uint64(b[8:])), readPosition(b[16:])}, nil
}

// answer is what the master says.
type answer struct {
	kind     kind
	before   position // from which Changes lead on
	last     uint64
	settings Settings
	changes  []byte
}

func (a *answer) append(b []byte) []byte {
	b = a.before.append(appendKind(b, a.kind))
	b = binary.BigEndian.AppendUint64(b, a.last)
	b = binary.BigEndian.AppendUint64(b, a.settings.Partitions)
	b = binary.BigEndian.AppendUint64(b, a.settings.Routing)
	return append(b, a.changes...)
}

func readAnswer(b []byte) (a answer, err error) {
	k, err := readKind(b)
	switch {
	case err != nil:
		return a, err
	case len(b) < answerSize || k != kindChanges && k != kindWhole:
		return a, errForeign
	}
	a = answer{kind: k, before: readPosition(b[8:]), last: binary.BigEndian.Uint64(b[32:]), changes: b[answerSize:]}
	a.settings = Settings{binary.BigEndian.Uint64(b[40:]), binary.BigEndian.Uint64(b[48:])}
	if a.last < a.before.seq {
		return a, fmt.Errorf("mirror: change %d is said to follow %d", a.last, a.before.seq)
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
