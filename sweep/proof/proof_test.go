package proof

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"ibsm/keys"
	"ibsm/mad/smp"
)

func testKey(t testing.TB, fill byte, smKey uint64) keys.Key {
	secret, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{fill}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return secret.Election(smKey)
}

func testInfo() (i smp.SMInfo) {
	i.SetGUID(5)
	i.SetPriority(3)
	i.SetSMState(smp.Master)
	i.SetActCount(77)
	copy(i[56:], "ibsm-yes")
	return i
}

var testQuestion = Question{Asker: 9, Nonce: Nonce{1, 2, 3}, Place: Place{0x51, 7}}

// TestLayout: a Question and the code of its answer are where the package says, and the code is HMAC-SHA256 over the
// octets that it names.
func TestLayout(t *testing.T) {
	var data smp.SMInfo
	testQuestion.Put(&data)
	want := smp.SMInfo{7: 9, 24: 1, 25: 2, 26: 3, 47: 0x51, 48: 7}
	if data != want {
		t.Errorf("the Question is %x, want %x", data, want)
	}
	if q, asks := In(&data); !asks || q != testQuestion {
		t.Errorf("it is read as %+v", q)
	}
	key, i := testKey(t, 7, 3), testInfo()
	i.SetSMKey(0x5ec4e7)
	testQuestion.Answer(&key, &i)
	h := hmac.New(sha256.New, key.Bytes())
	h.Write([]byte("ibsm SMInfo answer 1"))
	h.Write(binary.BigEndian.AppendUint64(nil, 9))
	h.Write(data[24:49])
	plain := testInfo()
	h.Write(plain[:24])
	h.Write(plain[56:])
	if i.SMKey() != 0 || !bytes.Equal(i[24:56], h.Sum(nil)) {
		t.Errorf("the answer is %x", i)
	}
	for range 2 {
		(&Question{Asker: 9, Place: Place{1, 2}}).Put(&data)
		if _, asks := In(&smp.SMInfo{7: 9}); asks || data != want {
			t.Error("a Question without a nonce is one")
		}
	}
}

// TestProved: nothing but the answer to the very Question is a proof: not an echo, not a Set, not an answer in which
// one octet is another one, nor one by another key.
func TestProved(t *testing.T) {
	key, i := testKey(t, 7, 3), testInfo()
	testQuestion.Answer(&key, &i)
	if !testQuestion.Proved(&key, &i) || !HasCode(&i) {
		t.Fatal("the answer is no proof")
	}
	for at := range i {
		for _, bit := range []byte{1, 0x80} {
			other := i
			other[at] ^= bit
			if testQuestion.Proved(&key, &other) {
				t.Errorf("a proof when octet %d is another one", at)
			}
		}
	}
	for _, q := range []Question{
		{10, testQuestion.Nonce, testQuestion.Place}, {9, Nonce{1, 2, 4}, testQuestion.Place},
		{9, testQuestion.Nonce, Place{0x52, 7}}, {9, testQuestion.Nonce, Place{0x51, 8}}, {},
	} {
		if q.Proved(&key, &i) {
			t.Errorf("a proof for %+v", q)
		}
	}
	for _, other := range []keys.Key{testKey(t, 8, 3), testKey(t, 7, 4), {}} {
		if testQuestion.Proved(&other, &i) {
			t.Error("a proof by another key")
		}
	}
	var echo smp.SMInfo
	testQuestion.Put(&echo)
	order := testInfo()
	Order(&key, 1, 9, testQuestion.Nonce, &order)
	none := Question{Asker: 9, Place: testQuestion.Place}
	unasked := testInfo()
	none.Answer(&key, &unasked)
	if testQuestion.Proved(&key, &echo) || testQuestion.Proved(&key, &order) || none.Proved(&key, &unasked) {
		t.Error("an echo, a Set or an answer to no Question is a proof")
	}
	if plain := testInfo(); HasCode(&plain) {
		t.Error("SMInfo of others has a code")
	}
}

// TestOrdered: a Set is of one modifier, for one receiver, and new if it was made after a Question; no answer is one.
func TestOrdered(t *testing.T) {
	const handover = smp.ControlHandover
	key, other, i := testKey(t, 7, 3), testKey(t, 8, 3), testInfo()
	i.SetSMKey(0x5ec4e7)
	Order(&key, handover, 9, Nonce{1}, &i)
	if i.SMKey() != 0 || !Ordered(&key, handover, 9, &i) || !Fresh(&key, handover, 9, Nonce{1}, &i) {
		t.Error("it is not proved, or shows the SM_Key")
	}
	if Ordered(&key, smp.ControlDisable, 9, &i) || Ordered(&key, handover, 10, &i) || Ordered(&other, handover, 9, &i) {
		t.Error("another one is proved, too")
	}
	if Fresh(&key, smp.ControlDisable, 9, Nonce{1}, &i) || Fresh(&key, handover, 10, Nonce{1}, &i) ||
		Fresh(&other, handover, 9, Nonce{1}, &i) || Fresh(&key, handover, 9, Nonce{2}, &i) ||
		Fresh(&key, handover, 9, Nonce{}, &i) {
		t.Error("another one is new, too")
	}
	old := testInfo()
	Order(&key, handover, 9, Nonce{}, &old)
	if !Ordered(&key, handover, 9, &old) || Fresh(&key, handover, 9, Nonce{}, &old) {
		t.Error("without a Question it is not proved, or new")
	}
	for at := range i {
		changed := i
		changed[at] ^= 1
		fresh, ordered := at < 40 || at >= 56, at < 24 || at >= 40
		if fresh && Fresh(&key, handover, 9, Nonce{1}, &changed) || ordered && Ordered(&key, handover, 9, &changed) {
			t.Errorf("it is proved when octet %d is another one", at)
		}
	}
	answer := testInfo()
	testQuestion.Answer(&key, &answer)
	if Ordered(&key, handover, 9, &answer) || Fresh(&key, handover, 9, testQuestion.Nonce, &answer) {
		t.Error("an answer is a Set")
	}
}

// TestNonces: none comes again, and none follows from what others see.
func TestNonces(t *testing.T) {
	seen := map[Nonce]bool{{}: true}
	for _, n := range []*Nonces{NewNonces(Salt{1}), NewNonces(Salt{2}), NewNonces(Salt{})} {
		for range 100 {
			if next := n.Next(); seen[next] {
				t.Fatalf("%x comes again", next)
			} else {
				seen[next] = true
			}
		}
	}
	if (*Nonces)(nil).Next() != (Nonce{}) {
		t.Error("a nonce where none is wanted")
	}
}
