package mirror_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/rmpp"
	"ibsm/sa/mirror"
)

// meet lets a Follower at a LID open a session with a Source, and ask its first question.
func (p *pair) meet(s *mirror.Source, f *mirror.Follower, lid mad.LID, guid mad.GUID) {
	for range 2 {
		for _, d := range f.Output(p.now, nil) {
			d.Addr = mad.Addr{LID: lid, QPN: 1}
			s.Receive(p.now, &d, guid)
		}
		for _, d := range s.Output(p.now, nil) {
			if d.LID == lid {
				d.LID = masterLID
				f.Receive(p.now, &d)
			}
		}
	}
}

// texts are what a capture must not show: keys, and what was registered.
func texts() [][]byte {
	mgid := mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 15: 2}
	return [][]byte{
		binary.BigEndian.AppendUint64(nil, keys.SMKey), binary.BigEndian.AppendUint64(nil, uint64(keys.MKey)),
		[]byte("storage"), mgid[:], binary.BigEndian.AppendUint64(nil, uint64(mad.DefaultPrefix)),
	}
}

// TestNothingInTheClear: a listener finds neither a key nor a registration nor the policy.
func TestNothingInTheClear(t *testing.T) {
	p := newPair(t, 1)
	c := p.listen()
	p.put(2)
	p.pass(time.Second)
	for i := range 300 {
		p.put(2 + i)
	}
	other := keys
	other.Policy = bytes.Repeat([]byte("storage=0x8002: ALL;\n"), 5000)
	p.source.Configure(other)
	p.pass(2 * time.Second)
	p.mustAgree()
	p.follower.Follow(p.now, mirror.Master{})
	p.follower.Follow(p.now, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
	p.pass(time.Second)
	all := slices.Concat(c.up, c.down)
	for i := range c.up {
		b := c.up[i].Packet.SAData()
		if c.up[i].Packet.AttrID() == mirror.AttrOpening && !bytes.Equal(b[40:], make([]byte, len(b)-40)) {
			t.Errorf("an opening shows more than GUID, number and Salt: %x", b)
		}
	}
	for i := range all {
		for _, text := range texts() {
			if bytes.Contains(all[i].Packet[24:], text) {
				t.Fatalf("packet %d of %d shows %q", i, len(all), text)
			}
		}
	}
	if len(c.down) < 500 {
		t.Errorf("only %d packets of the master were searched", len(c.down))
	}
}

// TestNonces: no key and number seal two texts, over terms, sessions, configurations and restarts.
func TestNonces(t *testing.T) {
	p := newPair(t, 1)
	p.loss = 0.1
	used := map[string][]byte{}
	var session []byte // Salts and number of the challenge, of the last sealed question
	note := func(direction string, key, number, text []byte) {
		at := direction + string(key) + string(number)
		if was := used[at]; was != nil && !bytes.Equal(was, text) {
			t.Fatalf("%s: number %x seals two texts", direction, number)
		}
		used[at] = bytes.Clone(text)
	}
	p.tamperUp = func(d *mad.Datagram) {
		if b := d.Packet.SAData(); d.Packet.AttrID() == mirror.AttrSealed && !d.Packet.IsRMPP() {
			session = bytes.Clone(b[16:56])
			note("question", session, b[8:16], b[56:])
		}
	}
	p.tamperDown = func(d *mad.Datagram) {
		if b := d.Packet.SAData(); d.Packet.AttrID() == mirror.AttrSealed && rmpp.SegmentOf(&d.Packet) == 1 {
			note("answer", session[16:32], b[16:24], b[24:]) // with all standbys and challenges
		}
	}
	other := keys
	other.MKey++
	for i := range 200 {
		p.put(2 + i)
		switch i % 20 {
		case 3:
			p.rule(uint64(2 + i))
		case 6:
			p.source.Configure(other)
			p.follower.Configure(other)
		case 9:
			p.source.Configure(keys)
			p.follower.Configure(keys)
		case 12:
			p.follower.Follow(p.now, mirror.Master{})
			p.follower.Follow(p.now, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
		case 15:
			p.source = mirror.NewSource(keys, mirror.Salt{9, byte(i)})
			p.rule(1)
		case 18:
			p.follower = mirror.NewFollower(keys, 0, mirror.Salt{8, byte(i)})
			p.follower.Follow(p.now, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
		}
		p.pass(300 * time.Millisecond)
	}
	if len(used) < 200 {
		t.Errorf("only %d messages were sealed", len(used))
	}
}

// expand is HKDF-SHA256 for one block of 32 bytes, written out.
func expand(salt, secret []byte, info string) []byte {
	sum := func(key []byte, parts ...[]byte) []byte {
		h := hmac.New(sha256.New, key)
		h.Write(bytes.Join(parts, nil))
		return h.Sum(nil)
	}
	return sum(sum(salt, secret), []byte(info), []byte{1})
}

// TestSealedLayout opens a recorded question and answer by the documented layout alone, and makes the
// code of a packet of the answer. Both ends send these very packets: another layout needs another version.
func TestSealedLayout(t *testing.T) {
	p := newPair(t, 1)
	c := p.listen()
	p.pass(20 * time.Millisecond)
	var question, answer []byte
	for i := range c.up {
		if d := &c.up[i]; d.Packet.AttrID() == mirror.AttrSealed && !d.Packet.IsRMPP() && question == nil {
			question = d.Packet[56:][:128]
		}
	}
	var first *mad.Packet
	for i := range c.down {
		if d := &c.down[i]; d.Packet.AttrID() == mirror.AttrSealed {
			if first == nil {
				first = &d.Packet
			}
			answer = append(answer, d.Packet[56:]...)
		}
	}
	length := binary.BigEndian.Uint32(first[32:]) - 20*uint32(len(answer)/200)
	answer = answer[:length]
	if got := hex.EncodeToString(question); got != sealedQuestion {
		t.Errorf("question\n%s", got)
	}
	if got := hex.EncodeToString(answer); got != sealedAnswer {
		t.Errorf("answer\n%s", got)
	}

	question, _ = hex.DecodeString(sealedQuestion)
	answer, _ = hex.DecodeString(sealedAnswer)
	standby, master := "\x00\x00\x00\x00\x00\x00\x00\x0b", "\x00\x00\x00\x00\x00\x00\x00\x0a"
	secret := []byte("\x00\x00\x00\x00\x00\x00\x51\x17\x00\x00\x00\x00\x00\x00\x33\x47") // SM_Key and M_Key
	open := func(label, from, to string, number, head, text []byte) []byte {
		block, err := aes.NewCipher(expand(question[16:56], secret, label+standby+master))
		if err != nil {
			t.Fatal(err)
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			t.Fatal(err)
		}
		out, err := gcm.Open(nil, append(make([]byte, 4), number...), text, append([]byte(from+to), head...))
		if err != nil {
			t.Fatalf("%s: %v", label, err)
		}
		return out
	}
	q := open("ibsm mirror 1 questions", standby, master, question[8:16], question[:56], question[56:])
	if len(q) != 56 || q[0] != 2 || string(q[8:16]) != standby || !bytes.Equal(q[48:], question[8:16]) {
		t.Errorf("question %x", q)
	}
	a := open("ibsm mirror 1 answers", master, standby, answer[16:24], answer[:24], answer[24:])
	if answer[0] != 2 || string(a[:8]) != master || !bytes.HasPrefix(a[48:], keys.Policy) {
		t.Errorf("answer %x", a)
	}
	h := hmac.New(sha256.New, expand(question[16:56], secret, "ibsm mirror 1 packets"+standby+master))
	h.Write(slices.Concat([]byte(master+standby), first[:8], first[12:40], first[56:]))
	if !bytes.Equal(h.Sum(nil)[:16], first[40:56]) {
		t.Errorf("code %x", first[40:56])
	}
}

// The question and the answer of TestSealedLayout. Another layout changes them, too.
const (
	sealedQuestion = "020100000000000000000000000007d002000000000000000000000000000000010000000000000000000000000000000000" +
		"000000000001ab4c33079c8b45e60898e1fba1c6050da1455d2658a168393eba353d7fac2bacb7df5746fe97ac285f355f5d" +
		"1ce4aec36541b2b047c42c630fe7b5e945a8a2b5a621d04176a4c957"
	sealedAnswer = "020300000000000000000000000007d00000000000000001c462ab4249a161e1ca3f1d0617c682b77849c16e6029548e433a" +
		"9010923967b8a71dd8b28010fa3f1d97193919bc99a1d107b91a86d287191c146485496bd6658c2d977c0a8add98f409a018" +
		"a37ac8c42ad1302677d80b55c17dae8cfa6d210b096e93d4cba7f6d1554ff551659ffa621e6e816a3bdcaf41c12d82662614" +
		"3910f06c57fc8afabf41e047b9979e42efa1a597b14fff013d5489c5dcbf65"
)

// TestChallengeOfAnother: a challenge counts for the process that asked for it, although another one asked
// with the same number.
func TestChallengeOfAnother(t *testing.T) {
	source := newPair(t, 1).source
	followers := [2]*mirror.Follower{mirror.NewFollower(keys, 0, mirror.Salt{2}),
		mirror.NewFollower(keys, 0, mirror.Salt{3})}
	for i, f := range followers {
		f.Follow(0, mirror.Master{GUID: masterGUID, LID: masterLID, Self: standbyGUID})
		asked := f.Output(0, nil)[0]
		if asked.Addr = (mad.Addr{LID: standbyLID, QPN: 1}); i > 0 {
			continue
		}
		source.Receive(0, &asked, standbyGUID)
	}
	challenge := source.Output(0, nil)[0]
	challenge.Addr = mad.Addr{LID: masterLID, QPN: 1}
	for i, want := range []uint64{1, 0} {
		d := challenge
		followers[i].Receive(0, &d)
		if st := followers[i].Stats(); st.Opened != want {
			t.Errorf("standby %d: %+v", i, st)
		}
	}
}
