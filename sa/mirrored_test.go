package sa

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/registry"
	"ibsm/sa/mirror"
)

// TestUnencryptedOnce: a master that is mirrored without encryption is reported once, until it encrypts or
// another one is mirrored so.
func TestUnencryptedOnce(t *testing.T) {
	r := NewRegistrar(RegistrarConfig{Groups: DefaultGroups()}, registry.New(), new(Stats))
	for i, c := range []struct {
		master mad.GUID
		old    bool
		want   mad.GUID
	}{{5, true, 5}, {5, true, 0}, {5, false, 0}, {5, true, 5}, {6, true, 6}, {6, true, 0}} {
		r.effects = Effects{}
		r.update(&mirror.Update{Master: c.master, Old: c.old})
		if r.effects.Unencrypted != c.want {
			t.Errorf("update %d, of %v: reported %v, want %v", i, c.master, r.effects.Unencrypted, c.want)
		}
	}
}

// TestMirrorsOlderStandby: a master reports a standby that it mirrors to without encryption once.
func TestMirrorsOlderStandby(t *testing.T) {
	s := newSuccession(t)
	keys := mirror.Config{SMKey: 77}
	s.step(ConfigChanged{RegistrarConfig{Groups: s.cfg.Groups, Mirror: keys}})
	s.follower.Configure(keys)
	master, reports := s.view.SMs[0].GUID, 0
	for ; s.at < 10*time.Second; s.at += 100 * time.Millisecond {
		for _, d := range s.follower.Output(s.at, nil) {
			clear(d.Packet[60:64]) // as one that cannot encrypt
			clear(d.Packet[112:])
			d.LID = lidsOfOpenSM[h2]
			copy(d.Packet[40:56], code(&d.Packet, h2, master, keys.SMKey))
			if e := s.Step(s.at, Received{Datagrams: []mad.Datagram{d}}); e.Unencrypted == h2 {
				reports++
			}
		}
	}
	if st := s.MirrorStats().Source; reports != 1 || st.Answers == 0 {
		t.Errorf("%d reports, %+v", reports, st)
	}
}

// code is the authentication code of a packet of the mirror outside a session.
func code(p *mad.Packet, from, to mad.GUID, smKey uint64) []byte {
	number := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	key := sha256.Sum256(slices.Concat([]byte("ibsm mirror"), number(smKey), number(0)))
	h := hmac.New(sha256.New, key[:])
	h.Write(slices.Concat(number(uint64(from)), number(uint64(to)), p[:8], p[12:40], p[56:]))
	return h.Sum(nil)[:16]
}
