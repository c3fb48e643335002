// Package proof has subnet managers prove to each other that they know the secret of their subnet, without showing it
// or the SM_Key. The octets of SMInfo that are reserved (IBA 14.2.5.13), which others send as 0 and do not read, carry
// it:
//
//	24 of a Question, the data of Get(SMInfo): a nonce, 16 octets
//	40 the place that is asked: the GUID of the node that has a cable to the port, 8 octets
//	48 and the number of the port of that node at which the cable is, 1 octet
//
//	24 of the answer: a code, 32 octets
//
//	24 of Set(SMInfo): a code, 16 octets; 0 where the receiver has asked no Question
//	40 another code, 16 octets
//
// A Question also has the GUID of the asking port, where SMInfo has that of a manager. A code is HMAC-SHA256, or its
// first octets, with a key that follows from the secret (keys.Secret.Election), over a label that says what it is for,
// over the Question, or the modifier and the receiver's GUID, and over all other octets of the SMInfo. So neither an
// echo of a Question nor a code that was made for another Question, port or place is a proof. The first code of a Set
// also is over the nonce of the latest Question that the receiver has asked its sender: it proves that the Set is new.
// The second one is for a receiver that has forgotten that nonce, and must ask the sender.
package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"ibsm/keys"
	"ibsm/mad"
	"ibsm/mad/smp"
)

// Octets of SMInfo.
const (
	nonceAt = 24
	nodeAt  = 40
	portAt  = 48
	codeAt  = 24
	codeEnd = codeAt + sha256.Size
	// of Set(SMInfo)
	shortCode = 16
	secondAt  = codeAt + shortCode
)

// Nonce is what makes a Question another one than all before. Zero is none.
type Nonce [16]byte

// Place is where a manager is asked: at the other end of the cable at a port of a node.
type Place struct {
	Node mad.GUID
	Port uint8
}

// Question is what a manager asks of another one. Without a Nonce it asks for no proof.
type Question struct {
	Asker mad.GUID // the port of the manager that asks
	Nonce Nonce
	Place Place
}

// Put writes a Question into the data of Get(SMInfo). One without a Nonce writes nothing.
func (q *Question) Put(i *smp.SMInfo) {
	if q.Nonce == (Nonce{}) {
		return
	}
	i.SetGUID(q.Asker)
	copy(i[nonceAt:], q.Nonce[:])
	binary.BigEndian.PutUint64(i[nodeAt:], uint64(q.Place.Node))
	i[portAt] = q.Place.Port
}

// In is the Question in the data of Get(SMInfo); asks is false where there is none.
func In(i *smp.SMInfo) (q Question, asks bool) {
	q = Question{Asker: i.GUID(), Nonce: Nonce(i[nonceAt:nodeAt]),
		Place: Place{mad.GUID(binary.BigEndian.Uint64(i[nodeAt:])), i[portAt]}}
	return q, q.Nonce != Nonce{}
}

// Labels of codes.
const (
	labelAnswer = "ibsm SMInfo answer 1"
	labelFresh  = "ibsm SMInfo fresh order 1"
	labelOrder  = "ibsm SMInfo order 1"
)

// code is the code of an SMInfo, which it does not have yet or which is not read.
func code(key *keys.Key, label string, about []byte, i *smp.SMInfo) []byte {
	mac := hmac.New(sha256.New, key.Bytes())
	mac.Write([]byte(label))
	mac.Write(about)
	mac.Write(i[:codeAt])
	mac.Write(i[codeEnd:])
	return mac.Sum(nil)
}

// about is the Question as the code of an answer has it.
func (q *Question) about() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(q.Asker))
	b = binary.BigEndian.AppendUint64(append(b, q.Nonce[:]...), uint64(q.Place.Node))
	return append(b, q.Place.Port)
}

// Answer completes the SMInfo that answers a Question: it shows no SM_Key, and has the code.
func (q *Question) Answer(key *keys.Key, i *smp.SMInfo) {
	i.SetSMKey(0)
	copy(i[codeAt:codeEnd], code(key, labelAnswer, q.about(), i))
}

// Proved reports whether the manager that has answered a Question knows the secret, and is at the place that was asked,
// as far as it knows where it is.
func (q *Question) Proved(key *keys.Key, i *smp.SMInfo) bool {
	return q.Nonce != Nonce{} && i.SMKey() == 0 &&
		hmac.Equal(i[codeAt:codeEnd], code(key, labelAnswer, q.about(), i))
}

// HasCode reports whether an SMInfo has a code, right or wrong.
func HasCode(i *smp.SMInfo) bool { return [sha256.Size]byte(i[codeAt:codeEnd]) != [sha256.Size]byte{} }

// Order completes the data of Set(SMInfo) with a modifier, to the manager at a port. The nonce is that of the latest
// Question of that manager, or none.
func Order(key *keys.Key, mod uint32, to mad.GUID, asked Nonce, i *smp.SMInfo) {
	i.SetSMKey(0)
	clear(i[codeAt:secondAt])
	if asked != (Nonce{}) {
		copy(i[codeAt:secondAt], freshCode(key, mod, to, asked, i))
	}
	copy(i[secondAt:codeEnd], code(key, labelOrder, aboutOrder(mod, to), i))
}

// Ordered reports whether a manager that knows the secret has made the data of a Set(SMInfo), at some time.
func Ordered(key *keys.Key, mod uint32, to mad.GUID, i *smp.SMInfo) bool {
	return i.SMKey() == 0 && hmac.Equal(i[secondAt:codeEnd], code(key, labelOrder, aboutOrder(mod, to), i)[:shortCode])
}

// Fresh reports whether it has made it after a Question with a nonce.
func Fresh(key *keys.Key, mod uint32, to mad.GUID, asked Nonce, i *smp.SMInfo) bool {
	return i.SMKey() == 0 && asked != Nonce{} &&
		hmac.Equal(i[codeAt:secondAt], freshCode(key, mod, to, asked, i)[:shortCode])
}

func freshCode(key *keys.Key, mod uint32, to mad.GUID, asked Nonce, i *smp.SMInfo) []byte {
	return code(key, labelFresh, append(aboutOrder(mod, to), asked[:]...), i)
}

func aboutOrder(mod uint32, to mad.GUID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, mod), uint64(to))
}

// Salt is random, and drawn anew at each start of a manager.
type Salt [16]byte

// Nonces makes the nonces of one manager. Who does not know its Salt cannot foresee one. It is owned by one
// goroutine.
type Nonces struct {
	salt  Salt
	count uint64
}

// NewNonces begins with a Salt.
func NewNonces(s Salt) *Nonces { return &Nonces{salt: s} }

// Next is a nonce that was not given before. Of a nil Nonces it is none.
func (n *Nonces) Next() (nonce Nonce) {
	if n == nil {
		return nonce
	}
	n.count++
	mac := hmac.New(sha256.New, n.salt[:])
	mac.Write(binary.BigEndian.AppendUint64(nil, n.count))
	copy(nonce[:], mac.Sum(nil))
	return nonce
}
