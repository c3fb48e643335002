package plan

import (
	"ibsm/mad"
	"ibsm/routing"
	"ibsm/sweep/device"
	"ibsm/topo"
)

// Move is a port whose LID changes.
type Move struct {
	Port     mad.GUID
	Was, Now mad.LID
}

// Moves are what a plan takes from traffic that passes now: values that devices hold and use, and
// that become others.
type Moves struct {
	LIDs    []Move
	Entries int // of forwarding tables that lead to another port, or to none
	PKeys   int // entries of P_Key tables whose key leaves its index
}

// Moves compares what devices hold with what the plan makes of it.
func (p *Plan) Moves() (m Moves) {
	t := p.in.Topo
	for _, i := range t.EndPorts {
		if was, now := t.Ports[i].Info.LID(), p.in.LIDs.Base[i]; was.IsUnicast() && now != 0 && was != now {
			m.LIDs = append(m.LIDs, Move{t.Ports[i].GUID, was, now})
		}
	}
	for s, held := range p.in.Known {
		if held != nil && p.in.Tables != nil {
			m.Entries += movedEntries(held, p.in.Tables.LFT[s])
		}
	}
	if p.in.Partitions != nil {
		for i := range t.Ports {
			m.PKeys += p.movedPKeys(topo.PortIdx(i))
		}
	}
	return m
}

// movedEntries counts the entries of a table that lead elsewhere in another one. Two tables may differ in length.
func movedEntries(held *device.Blocks, row []uint8) (n int) {
	for lid, is := range held.Row() {
		if held.State(lid/routing.BlockSize) != device.Known || is == routing.NoPath {
			continue
		}
		if lid >= len(row) || row[lid] != is {
			n++
		}
	}
	return n
}

// movedPKeys counts the keys of a port that are at another index, or nowhere, in its wanted table.
func (p *Plan) movedPKeys(i topo.PortIdx) (n int) {
	held, want := p.in.Topo.Ports[i].PKeys, p.in.Partitions.Want[i]
	if held == nil || want == nil {
		return 0
	}
	for at, key := range held.Keys() {
		if key.Valid() && want.Key(at) != key {
			n++
		}
	}
	return n
}
