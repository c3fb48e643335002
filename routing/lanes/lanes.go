// Package lanes computes what ports hold so that each service level has its lane and each lane
// its turn: SLtoVLMappingTable, both lists of VL arbitration and VLHighLimit, byte for byte as
// OpenSM 3.3.23 does (osm_qos.c) where that is right. It is pure.
package lanes

import (
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
)

// Kind is a kind of port. Each has settings of its own.
type Kind uint8

// Kinds of port.
const (
	Adapter    Kind = iota
	Port0           // of a switch that has an enhanced one
	External        // the other ports of a switch
	SwitchLink      // those of them that lead to another switch
	Router
	Kinds // how many there are
)

// Turn is an entry of a list of VL arbitration: a lane and how much it may send.
type Turn struct {
	VL     uint8 // 0 to 14
	Weight uint8 // in 64 bytes; 0 skips the entry
}

// MaxTurns is how many entries a list has at most (IBA 7.6.9.1).
const MaxTurns = 64

// SLs is the number of service levels.
const SLs = 16

// Settings are what is configured for a kind of port. Each part may be absent.
type Settings struct {
	HighLimit *uint8
	High, Low []Turn  // MaxTurns at most; nil is absent
	SLtoVL    []uint8 // VL by SL; those that it lacks are on VL 0. Nil is absent
}

// Use is how ports of a kind use their lanes, if they have all 15 and room for all turns.
type Use struct {
	HighLimit uint8
	High, Low [MaxTurns]Turn
	SLtoVL    [SLs]uint8
}

// Uses is the use of each kind of port.
type Uses [Kinds]Use

// standard is OpenSM's use without any settings: VL 0 has high, the others have low priority.
func standard() (u Use) {
	for vl := range smp.VLDrop {
		u.High[vl], u.Low[vl], u.SLtoVL[vl] = Turn{vl, 0}, Turn{vl, 4}, vl
	}
	u.High[0].Weight, u.Low[0].Weight = 4, 0
	u.SLtoVL[15] = 7
	return u
}

// NewUses are the uses by the settings of each kind, which take what is absent from those of
// all, and those of links between switches first from those of all external ports.
func NewUses(all Settings, of [Kinds]Settings) (uses Uses) {
	for k := range uses {
		uses[k] = standard()
		uses[k].put(&all)
		if Kind(k) == SwitchLink {
			uses[k].put(&of[External])
		}
		uses[k].put(&of[k])
	}
	return uses
}

// put replaces what is configured.
func (u *Use) put(s *Settings) {
	if s.HighLimit != nil {
		u.HighLimit = *s.HighLimit
	}
	if s.High != nil {
		u.High = [MaxTurns]Turn{}
		copy(u.High[:], s.High)
	}
	if s.Low != nil {
		u.Low = [MaxTurns]Turn{}
		copy(u.Low[:], s.Low)
	}
	if s.SLtoVL != nil {
		u.SLtoVL = [SLs]uint8{}
		copy(u.SLtoVL[:], s.SLtoVL)
	}
}

// Serving is the use when the routing engine puts paths on so many SLs: each of those is on the
// lane of its own number, whatever is configured, because routes without a credit loop depend on
// that.
func (u Use) Serving(count int) Use {
	for sl := range min(count, int(smp.VLDrop)) {
		u.SLtoVL[sl] = uint8(sl)
	}
	return u
}

// Port is what a port can do.
type Port struct {
	OperationalVLs uint8 // that it has, or gets: a code of 1 to 5
	VLCap          uint8 // likewise
	High, Low      uint8 // VLArbitrationHighCap and VLArbitrationLowCap
}

// Of is what a port can do that reports info and has OperationalVLs vls.
func Of(info *smp.PortInfo, vls uint8) Port {
	return Port{vls, info.VLCap(), info.VLArbitrationHighCap(), info.VLArbitrationLowCap()}
}

// lane is the lane that stands for one that may be beyond those that the port has.
func (p *Port) lane(vl uint8) uint8 {
	if vl == smp.VLDrop || p.OperationalVLs == 0 {
		return vl
	}
	return vl & (1<<(p.OperationalVLs-1) - 1)
}

// arbitrates reports whether the port has more than one lane to choose from.
func (p *Port) arbitrates() bool { return p.VLCap > 1 }

// Table is the SLtoVLMappingTable of a port for packets from any other.
func (u *Use) Table(p Port) smp.SLtoVLMappingTable {
	return p.Table(func(sl uint8) uint8 { return u.SLtoVL[sl] })
}

// Table is the SLtoVLMappingTable by which each SL has the VL that vl returns.
func (p *Port) Table(vl func(sl uint8) uint8) (t smp.SLtoVLMappingTable) {
	for sl := range uint8(SLs) {
		t.SetVL(sl, p.lane(vl(sl)))
	}
	return t
}

// Limit is the VLHighLimit of a port.
func (u *Use) Limit(p Port) uint8 {
	if !p.arbitrates() {
		return 0
	}
	return u.HighLimit
}

// Blocks is the number of blocks of VL arbitration: two of each list.
const Blocks = 4

// Turns is how many entries of a block the port has, 0 to 32. Blocks are 0 and 1 of the list of
// low priority, 2 and 3 of high.
func (p *Port) Turns(block int) int {
	list := p.Low
	if block >= Blocks/2 {
		list = p.High
	}
	if !p.arbitrates() {
		list = 0
	}
	return min(max(int(list)-block%2*smp.VLArbBlockSize, 0), smp.VLArbBlockSize)
}

// Arbitration is a block of a port's VL arbitration, with the entries that the port has. of gives
// turns to other lanes; nil is none.
func (u *Use) Arbitration(p Port, block int, of *routing.LaneOfTurn) (t smp.VLArbitrationTable) {
	list := &u.Low
	if block >= Blocks/2 {
		list = &u.High
	}
	n := 0
	for i := range p.Turns(block) {
		turn := list[block%2*smp.VLArbBlockSize+i]
		if of != nil {
			turn.VL = of[turn.VL]
		}
		if turn.VL != routing.DropVL {
			t.SetEntry(n, p.lane(turn.VL), turn.Weight)
			n++
		}
	}
	return t
}

// Row is all blocks of a port's VL arbitration.
func (u *Use) Row(p Port, of *routing.LaneOfTurn) []byte {
	row := make([]byte, 0, Blocks*mad.DataSize)
	for b := range Blocks {
		t := u.Arbitration(p, b, of)
		row = append(row, t[:]...)
	}
	return row
}
