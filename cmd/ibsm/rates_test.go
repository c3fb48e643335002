package main_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/sim/fabric"
)

// TestRatesAsOpenSM: what paths and new groups may carry on links of two lanes of EDR, for
// which there is a code that old drivers do not know, and for a group that port 0 of a
// switch makes.
func TestRatesAsOpenSM(t *testing.T) {
	for name, c := range map[string]struct {
		line       string
		path, host mad.Rate
	}{
		"all codes": {"", 20, 20},                                       // 50 Gb/s
		"old codes": {"use_original_extended_sa_rates_only TRUE", 7, 7}, // 40 Gb/s
	} {
		t.Run(name, func(t *testing.T) {
			theirs, ours := equalSubnets(t, "fattree:k=4,speed=EDR,width=2x", c.line)
			gids := theirs.clientGIDs()
			for _, q := range []struct {
				name string
				question
				rate int // where the rate is in the answer
				want mad.Rate
			}{
				{"path", question{0, pathBetween(gids[0], gids[3])}, 55, c.path},
				{"group of a host", question{0, newGroup(gids[0], 1)}, 42, c.host},
				// 100 Gb/s, as its port 0 says
				{"group of a switch", question{0, newGroup(theirs.switchGID(), 2)}, 42, 16},
			} {
				a, b := theirs.register(q.question), ours.register(q.question)
				if *a.SAData() != *b.SAData() || a.Status() != b.Status() {
					t.Errorf("%s\nOpenSM %s\nibsm   %s", q.name, inWords(a), inWords(b))
				}
				if got := mad.Rate(a.SAData()[q.rate] & 0x3f); got != q.want {
					t.Errorf("%s: OpenSM answers with rate %d, the test wants to see %d", q.name, got, q.want)
				}
			}
		})
	}
}

// pathBetween asks for the path between two ports.
func pathBetween(src, dst mad.GID) mad.Packet {
	p := request(mad.MethodGet, sarec.AttrPathRecord, sarec.PathSGID|sarec.PathDGID)
	rec := (*sarec.PathRecord)(p.SAData()[:64])
	rec.SetSGID(src)
	rec.SetDGID(dst)
	return p
}

// newGroup has a port make a group, whose MTU and rate are the SA's to choose.
func newGroup(port mad.GID, id byte) mad.Packet {
	p := request(mad.MethodSet, sarec.AttrMCMemberRecord, sarec.MCMemberMGID|sarec.MCMemberPortGID|
		sarec.MCMemberJoinState|
		sarec.MCMemberPKey|sarec.MCMemberQKey|sarec.MCMemberSL|sarec.MCMemberFlowLabel|sarec.MCMemberTClass|
		sarec.MCMemberScope|
		sarec.MCMemberPacketLifeTimeSelector|sarec.MCMemberPacketLifeTime)
	rec := (*sarec.MCMemberRecord)(p.SAData()[:56])
	rec.SetMGID(mad.GID{0xff, 0x12, 0x40, 0x01, 15: id})
	rec.SetPortGID(port)
	rec.SetJoinState(1)
	rec.SetScope(2)
	rec.SetPacketLifeTime(sarec.Exactly, 18)
	rec.SetPKey(mad.DefaultPKey)
	return p
}

// switchGID is that of port 0 of some switch that says how fast it is, as a base port 0 does not.
func (w *testSubnet) switchGID() (gid mad.GID) {
	w.server.Do(func(f *fabric.Fabric) {
		for at := range f.EndPorts() {
			if info := f.PortInfo(at); f.NodeType(at.Node) == mad.Switch && info.LinkWidthActive() != 0 {
				gid = mad.MakeGID(mad.DefaultPrefix, f.PortGUID(at))
			}
		}
	})
	return gid
}
