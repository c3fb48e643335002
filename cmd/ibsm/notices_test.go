package main_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
)

var reported = regexp.MustCompile(`(?m)0x02 -> (log_notice: Reporting .*)$`)

// TestSecurityNotices: traps about keys are logged with what they say, as OpenSM does.
func TestSecurityNotices(t *testing.T) {
	t.Parallel()
	theirs, ours := equalSubnets(t, "fattree:k=4")
	gids := theirs.clientGIDs()
	own, other := theirs.lid(theirs.ends[1]), theirs.lid(theirs.ends[2])
	for _, number := range []smp.TrapNumber{smp.TrapBadMKey, smp.TrapBadPKey, smp.TrapBadQKey} {
		var p mad.Packet
		p.SetHeader(mad.ClassLIDRouted, mad.MethodTrap, smp.AttrNotice, 0)
		n := (*smp.Notice)(p.Data())
		n.SetIsGeneric(true)
		n.SetType(smp.NoticeSecurity)
		n.SetProducerType(smp.ProducerCA)
		n.SetTrapNumber(number)
		n.SetIssuerLID(own)
		if number == smp.TrapBadMKey {
			k := n.BadMKey()
			k.SetLID(own)
			k.SetMethod(mad.MethodSet)
			k.SetAttributeID(smp.AttrPortInfo)
			k.SetAttributeModifier(1)
			k.SetMKey(0x1234)
		} else {
			k := n.BadKey()
			k.SetLID1(other)
			k.SetLID2(own)
			k.SetKey(0x8005)
			k.SetSL(3)
			k.SetQP1(0x11)
			k.SetQP2(0x12)
			gid1, gid2 := gids[2], gids[1]
			copy(k[18:34], gid1[:])
			copy(k[34:50], gid2[:])
		}
		for _, w := range []*testSubnet{theirs, ours} {
			w.server.Do(func(f *fabric.Fabric) {
				info := f.PortInfo(w.ends[1])
				d := mad.Datagram{Addr: mad.Addr{LID: info.MasterSMLID()}, Packet: p}
				d.Packet.SetTID(mad.TID(number))
				w.clients[1].Send([]mad.Datagram{d})
			})
			eventually(t, "a line about the trap", func() bool {
				return strings.Count(w.manager.text(), "Reporting Security Notice") > int(number-smp.TrapBadMKey)
			})
		}
	}
	lines := func(w *testSubnet) (all []string) {
		for _, m := range reported.FindAllStringSubmatch(w.manager.text(), -1) {
			if strings.Contains(m[1], "Security") {
				all = append(all, m[1])
			}
		}
		return all
	}
	if got, want := lines(ours), lines(theirs); len(want) != 3 || !slices.Equal(got, want) {
		t.Errorf("got\n%s\nOpenSM:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
