package capture

import (
	"ibsm/mad"
	"ibsm/mad/cc"
	"ibsm/mad/smp"
)

// BlankKey stands in a file for every M_Key, SM_Key and CC_Key: "blanked!" in ASCII.
const BlankKey = 0x626c616e6b656421

// blankQKey stands for a Q_Key.
const blankQKey = BlankKey >> 32

// Blank replaces the keys in a packet. It does so whatever the method, the status and the direction: a field
// of a response that says nothing may hold what was there before.
func Blank(p *mad.Packet) {
	switch class := p.MgmtClass(); {
	case class.IsSubnet():
		p.SetMKey(mad.MKey(blank(uint64(p.MKey()))))
		blankAttribute(p.AttrID(), p.Data())
	case class == mad.ClassCongestion:
		cc.SetKey(p, cc.Key(blank(uint64(cc.KeyOf(p)))))
		if p.AttrID() == cc.AttrCongestionKeyInfo {
			info := (*cc.CongestionKeyInfo)(p.PerfData()[:])
			info.SetCCKey(cc.Key(blank(uint64(info.CCKey()))))
		}
	}
}

func blank(key uint64) uint64 {
	if key == 0 {
		return 0
	}
	return BlankKey
}

// blankAttribute replaces the keys in an attribute of subnet management.
func blankAttribute(attr mad.AttrID, d *[mad.DataSize]byte) {
	switch attr {
	case smp.AttrPortInfo:
		info := (*smp.PortInfo)(d)
		info.SetMKey(mad.MKey(blank(uint64(info.MKey()))))
	case smp.AttrSMInfo:
		info := (*smp.SMInfo)(d)
		info.SetSMKey(blank(info.SMKey()))
		clear(info[24:56]) // with a code that follows from the SM_Key, it could be guessed: see sweep/proof
	case smp.AttrNotice:
		blankNotice((*smp.Notice)(d))
	}
}

// blankNotice replaces the keys in the details of a trap.
func blankNotice(n *smp.Notice) {
	switch n.TrapNumber() {
	case smp.TrapBadMKey:
		b := n.BadMKey()
		b.SetMKey(mad.MKey(blank(uint64(b.MKey()))))
	case smp.TrapBadQKey:
		if b := n.BadKey(); b.Key() != 0 {
			b.SetKey(blankQKey)
		}
	case smp.TrapVPortBadQKey:
		clear(n[len(n)-smp.DetailsSize:])
	}
}
