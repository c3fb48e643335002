package mirror

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"ibsm/mad"
)

// Salt is random, and drawn anew at each start of a manager. Keys that are derived from it are never
// used again, whatever happened to clocks and state stores.
type Salt [16]byte

// challenge is what a master sends a standby to prove that its questions are new: the master's own
// Salt, and a number that the master has not given before.
type challenge struct {
	salt   Salt
	number uint64
}

// session is a standby's connection with a master: from a challenge to the next one, or to the
// end of either process. Whole messages are sealed with AES-256-GCM, not packets: a packet has no room
// for a nonce beside its code, a segment that is repeated would need another nonce, and the machine of
// mad/rmpp sends segments out of one buffer. Each packet of a sealed answer, and of its
// acknowledgement, has a code with a key of the session instead, so that a packet of another session
// never gets into a transfer.
//
// With HKDF-SHA256 (RFC 5869), where | joins, numbers are of 64 bits and big-endian:
//
//	PRK = Extract(salt = Salt of the standby | Salt of the master | number of the challenge,
//	              secret = the key from keys_file, if there is one | SM_Key | M_Key)
//	key = Expand(PRK, label | GUID of the standby | GUID of the master, 32 bytes)
//
// The labels are those below: questions, answers, and the codes of packets of answers each have a key of
// their own. A nonce is 4 bytes of 0 and the number of the question or answer. The additional data are the
// GUIDs of sender and receiver, and what precedes the sealed part of the message.
//
// No nonce is used twice with a key. Each end numbers what it seals, from its start to its end, also
// over sessions; and its Salt, of 128 random bits, is in all of its keys: after 2^32 starts the
// probability that two had the same Salt is below 2^-64. In a year of one whole registry of the largest
// size each second, 2^48 blocks with one key, what GCM seals can be distinguished from random bytes
// with a probability of 2^-32. Only a process that is copied while it runs, as a virtual machine from
// a snapshot of its memory, can use a nonce twice.
type session struct {
	standby, master mad.GUID
	salt            Salt // of the standby
	challenge       challenge
	questions       cipher.AEAD
	answers         cipher.AEAD
	packets         *coder

	// Scratch, so that a message that is sealed or opened allocates nothing.
	nonce [12]byte
	data  [16 + questionHead]byte // additional
	text  [questionSize]byte
}

const (
	labelQuestions = "ibsm mirror 1 questions"
	labelAnswers   = "ibsm mirror 1 answers"
	labelPackets   = "ibsm mirror 1 packets"
)

// newSession derives the keys of a session.
func (c *Config) newSession(standby, master mad.GUID, salt Salt, ch challenge) *session {
	s := &session{standby: standby, master: master, salt: salt, challenge: ch}
	mixed := append(append([]byte{}, salt[:]...), ch.salt[:]...)
	mixed = binary.BigEndian.AppendUint64(mixed, ch.number)
	prk := must(hkdf.Extract(sha256.New, c.shared(), mixed))
	ends := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(standby)), uint64(master))
	key := func(label string) []byte { return must(hkdf.Expand(sha256.New, prk, label+string(ends), 32)) }
	seal := func(label string) cipher.AEAD { return must(cipher.NewGCM(must(aes.NewCipher(key(label))))) }
	s.questions, s.answers, s.packets = seal(labelQuestions), seal(labelAnswers), newCoder(key(labelPackets))
	return s
}

// must is for errors of wrong lengths, which are constant here.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// with is the session with the keys of another configuration, nil for none.
func (s *session) with(c *Config) *session {
	if s == nil {
		return nil
	}
	return c.newSession(s.standby, s.master, s.salt, s.challenge)
}

// prepare sets nonce and additional data.
func (s *session) prepare(number uint64, from, to mad.GUID, head []byte) (nonce, data []byte) {
	binary.BigEndian.PutUint64(s.nonce[4:], number)
	binary.BigEndian.PutUint64(s.data[:], uint64(from))
	binary.BigEndian.PutUint64(s.data[8:], uint64(to))
	return s.nonce[:], s.data[:16+copy(s.data[16:], head)]
}

// A sealed question is a packet with
//
//	 0 version  kind  6 reserved bytes
//	 8 number of the question, of which the nonce is made
//	16 Salt of the standby
//	32 Salt of the master
//	48 number of the challenge
//	56 sealed: the question, 56 bytes
//	112 tag
//
// and a sealed answer is a message with
//
//	 0 as every answer: version, kind, 6 reserved bytes
//	 8 number of the question
//	16 number of the answer, of which the nonce is made
//	24 sealed: what else is in an answer, in the same order
//	   tag, 16 bytes
const (
	questionHead = 56
	answerHead   = 24
	tagSize      = 16
)

// errSeal is for a message that does not open: of other keys, or changed.
var errSeal = errors.New("mirror: the message cannot be decrypted with the keys of the session")

// sealQuestion writes a question into the data of a packet.
func (s *session) sealQuestion(q *question, p *mad.Packet) {
	b := appendHead(p.SAData()[:0], kindQuestion)
	b = binary.BigEndian.AppendUint64(b, q.number)
	b = s.challenge.append(append(b, s.salt[:]...))
	nonce, data := s.prepare(q.number, s.standby, s.master, b)
	s.questions.Seal(b, nonce, q.append(s.text[:0]), data)
}

// openQuestion reads the sealed part of a question with a number.
func (s *session) openQuestion(p *mad.Packet, number uint64) (q question, err error) {
	b := p.SAData()[:questionHead+questionSize+tagSize]
	nonce, data := s.prepare(number, s.standby, s.master, b[:questionHead])
	text, err := s.questions.Open(s.text[:0], nonce, b[questionHead:], data)
	if err != nil {
		return q, errSeal
	}
	return readQuestion(text)
}

// sealAnswer is the message of an answer.
func (s *session) sealAnswer(a *answer) []byte {
	b := a.append(make([]byte, 0, a.size()+tagSize))
	nonce, data := s.prepare(a.number.answer, s.master, s.standby, b[:answerHead])
	return s.answers.Seal(b[:answerHead], nonce, b[answerHead:], data)
}

// openAnswer reads the message of an answer, and overwrites it.
func (s *session) openAnswer(b []byte) (a answer, err error) {
	if len(b) < answerHead+tagSize {
		return a, errForeign
	}
	nonce, data := s.prepare(answerNumberOf(b).answer, s.master, s.standby, b[:answerHead])
	text, err := s.answers.Open(b[answerHead:answerHead], nonce, b[answerHead:], data)
	if err != nil {
		return a, errSeal
	}
	return readAnswer(b[:answerHead+len(text)])
}

func (c *challenge) append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(append(b, c.salt[:]...), c.number)
}

func readChallenge(b []byte) challenge {
	return challenge{Salt(b[:16]), binary.BigEndian.Uint64(b[16:])}
}
