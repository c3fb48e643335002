package sa

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/sa/mirror"
)

// TestStandbyOfOtherVersion: a standby that asks in another version of the protocol is reported once for each version,
// and not answered.
func TestStandbyOfOtherVersion(t *testing.T) {
	s := newSuccession(t)
	keys := mirror.Config{SMKey: 77}
	s.step(ConfigChanged{RegistrarConfig{Groups: s.cfg.Groups, Mirror: keys}})
	s.follower.Configure(keys)
	master := s.view.SMs[0].GUID
	var reports []mirror.OtherVersion
	for ; s.at < 10*time.Second; s.at += 100 * time.Millisecond {
		for _, d := range s.follower.Output(s.at, nil) {
			d.Packet.SAData()[0] = mirror.Version + 1
			if s.at > 5*time.Second {
				d.Packet.SAData()[0]++
			}
			d.LID = lidsOfOpenSM[h2]
			copy(d.Packet[40:56], code(&d.Packet, h2, master, keys.SMKey))
			if e := s.Step(s.at, Received{Datagrams: []mad.Datagram{d}}); e.OtherVersion.Manager != 0 {
				reports = append(reports, e.OtherVersion)
			}
		}
	}
	if want := []mirror.OtherVersion{{Manager: h2, Version: mirror.Version + 1},
		{Manager: h2, Version: mirror.Version + 2}}; !slices.Equal(reports, want) {
		t.Errorf("reported %v, want %v", reports, want)
	}
	if st := s.MirrorStats().Source; st.Answers != 0 || st.Foreign < 5 {
		t.Errorf("%+v", st)
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
