package congestioncontrol

import (
	"slices"

	"ibsm/mad"
	"ibsm/mad/cc"
)

// Settings are the wanted settings of devices.
type Settings struct {
	Enabled bool   // otherwise nothing is sent
	Key     cc.Key // that each request shows
	Window  int    // requests on the way at a time, at least 1
	Switch  cc.SwitchCongestionSetting
	Adapter cc.CACongestionSetting
	// Table is the congestion control table of adapters, MaxEntries at most.
	Table []cc.Entry
}

// MaxEntries is how many entries of a congestion control table are sent at most, as by OpenSM.
const MaxEntries = 2 * cc.EntriesPerBlock

func (s *Settings) equal(o *Settings) bool {
	return s.Enabled == o.Enabled && s.Key == o.Key && s.Window == o.Window && s.Switch == o.Switch &&
		s.Adapter == o.Adapter &&
		slices.Equal(s.Table, o.Table)
}

// attribute is what one Set writes. The data are not changed.
type attribute struct {
	id   mad.AttrID
	mod  uint32
	data []byte
}

// wanted are the attributes of a kind of device, in the order in which they are sent.
func (s *Settings) wanted(t mad.NodeType) (list []attribute) {
	if t == mad.Switch {
		return []attribute{{cc.AttrSwitchCongestionSetting, 0, s.Switch[:]}}
	}
	list = append(list, attribute{cc.AttrCACongestionSetting, 0, s.Adapter[:]})
	for i, b := range s.tableBlocks() {
		list = append(list, attribute{cc.AttrCongestionControlTable, uint32(i), b[:]})
	}
	return list
}

// tableBlocks are the blocks of the table: one with CCTI_Limit 0 without entries. As OpenSM has it,
// a single entry is not sent either: CCTI_Limit 0 means no delay.
func (s *Settings) tableBlocks() []*cc.CongestionControlTable {
	entries := s.Table[:min(len(s.Table), MaxEntries)]
	if len(entries) < 2 {
		return []*cc.CongestionControlTable{{}}
	}
	var list []*cc.CongestionControlTable
	for i, e := range entries {
		if i%cc.EntriesPerBlock == 0 {
			b := new(cc.CongestionControlTable)
			b.SetCCTILimit(uint16(len(entries) - 1))
			list = append(list, b)
		}
		list[len(list)-1].SetEntry(i%cc.EntriesPerBlock, e)
	}
	return list
}
