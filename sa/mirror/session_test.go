package mirror

import (
	"bytes"
	"testing"

	"ibsm/keys"
	"ibsm/mad"
	"ibsm/registry"
)

// thousand is an answer with 1,000 Changes.
func thousand() *answer {
	a := &answer{kind: kindChanges, now: position{term: Term{1, 2}, seq: 1000}, number: answerNumber{1, 1}}
	for i := range 1000 {
		mgid := mad.GID{0xff, 0x12, 0x40, 0x1b, 14: byte(i >> 8), 15: byte(i)}
		a.changes = registry.PutMember{
			Member: registry.Member{MGID: mgid, Port: mad.MakeGID(mad.DefaultPrefix, mad.GUID(i)),
				JoinState: registry.FullMember},
		}.AppendTo(a.changes)
	}
	return a
}

var testKeys = Config{SMKey: 0x5117, MKey: 0x3347}

func testSession() *session {
	return testKeys.newSession(2, 1, Salt{1}, challenge{Salt{2}, 1})
}

// TestScratch: to make the code of a packet, and to seal and open a question, allocates nothing; to seal
// an answer allocates the message, and to open one nothing.
func TestScratch(t *testing.T) {
	x, a, p := testSession(), thousand(), new(mad.Packet)
	q := question{from: 2, number: 7}
	var message []byte
	for _, c := range []struct {
		what string
		most float64
		do   func()
	}{
		{"code", 0, func() { x.packets.sign(p, 1, 2) }},
		{"question", 0, func() {
			x.sealQuestion(&q, p)
			if got, err := x.openQuestion(p, 7); err != nil || got.from != 2 {
				t.Fatal(got, err)
			}
		}},
		{"answer", 1, func() {
			message = x.sealAnswer(a)
			if got, err := x.openAnswer(message); err != nil || len(got.changes) != len(a.changes) {
				t.Fatal(err)
			}
		}},
	} {
		if n := testing.AllocsPerRun(100, c.do); n > c.most {
			t.Errorf("%s: %v allocations, want %v", c.what, n, c.most)
		}
	}
}

// TestOpens: a message opens only as a whole, with its number, for those who sent it, in its session.
func TestOpens(t *testing.T) {
	a, q := thousand(), question{from: 2, number: 7}
	secret, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	x := testSession()
	for i, other := range []*session{
		testKeys.newSession(3, 1, Salt{1}, challenge{Salt{2}, 1}),
		testKeys.newSession(2, 3, Salt{1}, challenge{Salt{2}, 1}),
		testKeys.newSession(2, 1, Salt{3}, challenge{Salt{2}, 1}),
		testKeys.newSession(2, 1, Salt{1}, challenge{Salt{3}, 1}),
		testKeys.newSession(2, 1, Salt{1}, challenge{Salt{2}, 3}),
		(&Config{SMKey: 1, MKey: 0x3347}).newSession(2, 1, Salt{1}, challenge{Salt{2}, 1}),
		(&Config{SMKey: 0x5117}).newSession(2, 1, Salt{1}, challenge{Salt{2}, 1}),
		// whoever knows the SM_Key and the M_Key, but not the secret of keys_file
		(&Config{Secret: secret, SMKey: 0x5117, MKey: 0x3347}).newSession(2, 1, Salt{1}, challenge{Salt{2}, 1}),
	} {
		var p mad.Packet
		x.sealQuestion(&q, &p)
		if _, err := other.openQuestion(&p, 7); err == nil {
			t.Errorf("session %d opens a question of another one", i)
		}
		if _, err := other.openAnswer(x.sealAnswer(a)); err == nil {
			t.Errorf("session %d opens an answer of another one", i)
		}
	}
	for at := range questionHead + questionSize + tagSize {
		var p mad.Packet
		x.sealQuestion(&q, &p)
		p.SAData()[at] ^= 1
		if _, err := x.openQuestion(&p, 7); err == nil {
			t.Errorf("a question opens that was changed at %d", at)
		}
	}
	for at := range len(x.sealAnswer(a)) {
		if at > 200 && at%997 != 0 {
			continue
		}
		b := x.sealAnswer(a)
		b[at] ^= 1
		if _, err := x.openAnswer(b); err == nil {
			t.Errorf("an answer opens that was changed at %d", at)
		}
		if b = x.sealAnswer(a)[:at]; at > 0 {
			if _, err := x.openAnswer(b); err == nil {
				t.Errorf("an answer opens that was cut to %d", at)
			}
		}
	}
}

// BenchmarkSealAnswer is an answer of 1,000 Changes, without and with its encryption.
func BenchmarkSealAnswer(b *testing.B) {
	x, a := testSession(), thousand()
	b.Run("plain", func(b *testing.B) {
		b.SetBytes(int64(a.size()))
		b.ReportAllocs()
		for b.Loop() {
			a.append(make([]byte, 0, a.size()))
		}
	})
	b.Run("sealed", func(b *testing.B) {
		b.SetBytes(int64(a.size()))
		b.ReportAllocs()
		for b.Loop() {
			x.sealAnswer(a)
		}
	})
}

// BenchmarkOpenAnswer is the other end.
func BenchmarkOpenAnswer(b *testing.B) {
	x := testSession()
	sealed := x.sealAnswer(thousand())
	message := make([]byte, len(sealed))
	b.SetBytes(int64(len(sealed)))
	b.ReportAllocs()
	for b.Loop() {
		copy(message, sealed)
		if _, err := x.openAnswer(message); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCode is the code of a packet.
func BenchmarkCode(b *testing.B) {
	x, p := testSession(), new(mad.Packet)
	b.ReportAllocs()
	for b.Loop() {
		x.packets.sign(p, 1, 2)
	}
}

// BenchmarkSession derives the keys of a session.
func BenchmarkSession(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		testSession()
	}
}
