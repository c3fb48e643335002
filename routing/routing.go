// Package routing is what all routing engines share: what they are given, what
// they return, and the passes over the switch graph that several of them need.
// Engines are pure: the same input gives the same tables. Each has a folder of
// its own below this one.
package routing

import (
	"bytes"
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/topo"
)

// NoPath in a forwarding table drops the packet (IBA 14.2.5.12).
const NoPath = 0xff

// Engine computes forwarding tables. It must not keep or write In, and returns
// ctx.Err() soon after ctx is done.
type Engine func(ctx context.Context, in In) (*Tables, error)

// In is a routing problem.
type In struct {
	Topo *topo.Topo
	LIDs *topo.LIDs
	// Prev are the tables in force, by the switches and LIDs of Topo and LIDs; nil
	// when there are none. An engine keeps their entries where Keep says so.
	Prev *Tables
	Keep Keep
	// Base are the tables that this engine computed afresh last, by the switches and LIDs of Topo and LIDs; nil where
	// it is wanted to do so again. An engine that knows them changes only what has to change, and returns to them: what
	// is lost and comes back leaves no trace.
	Base *Tables
	// Lanes is, by PortIdx, the number of data VLs that the links of switches have, 1 to 15; 0 for
	// ports without a link. Nil is 15 everywhere.
	Lanes []uint8
	// Tenants are which hosts exchange packets; nil where all do. Routes between others must lead there all the same,
	// and count for nothing.
	Tenants *Tenants
	// Workers compute, whose number changes nothing in the result.
	Workers Workers
}

// LeastLanes is the number of lanes that every link has, 15 if there are none.
func LeastLanes(lanes []uint8) uint8 {
	least := uint8(15)
	for _, n := range lanes {
		if n > 0 {
			least = min(least, n)
		}
	}
	return least
}

// Keep says which entries of the previous tables stay.
type Keep uint8

// What stays.
const (
	KeepNone    Keep = 0 // compute everything afresh
	KeepMinimal Keep = 1 // entries that are as good as any the engine would choose
	KeepWorking Keep = 2 // every entry that leads to its destination: for package repair, not for engines
)

// Tables are the forwarding tables of a subnet. They are immutable once returned;
// rows may be shared between several Tables.
type Tables struct {
	// LFT is a row per SwitchIdx: the egress port of each LID, 0 for the switch's
	// own, NoPath for none. All rows have the same length, whole blocks of 64.
	LFT [][]uint8
	Top mad.LID // highest LID routed, for SwitchInfo.LinearFDBTop
	// SLs are those of paths; nil where the engine leaves them to others.
	SLs *SLs
	// Trunk is the tree of which those of all multicast groups must be parts; nil leaves them free.
	Trunk *Trunk
	// Ranks is an order of the switches, by SwitchIdx, no two of which are equal: in trees of multicast
	// groups no packet goes up, to a lower rank, after it has come down. Nil allows that.
	Ranks []int32
	// Rules are the ways that the engine permits; nil where it permits all, and for tables that no engine computed.
	Rules *Rules
	// Notes are what the engine has to say about the subnet, for the log.
	Notes []string
	// Places are those of switches in a torus that the engine has found, in the order of its dump file.
	Places []Place
	// Findings are nil for engines that have none.
	Findings *Findings
	// Origin is what the engine wants to find again in In.Base of what it computed the tables from; nil for nothing.
	Origin any
}

// Place is a switch with its coordinates.
type Place struct {
	Switch topo.SwitchIdx
	At     [3]int
}

// Trunk is a tree of switches.
type Trunk struct {
	Root topo.SwitchIdx
	Up   []TrunkLink // by SwitchIdx
}

// Equal reports whether two trees are the same.
func (t *Trunk) Equal(o *Trunk) bool {
	if t == nil || o == nil || t == o {
		return t == o
	}
	return t.Root == o.Root && slices.EqualFunc(t.Up, o.Up, func(a, b TrunkLink) bool {
		return a.To == b.To && bytes.Equal(a.Down, b.Down) && bytes.Equal(a.Up, b.Up)
	})
}

// TrunkLink is what joins a switch to the next one on its way to the root: one or several cables.
type TrunkLink struct {
	To   topo.SwitchIdx // None for the root, and for switches that are not in the tree
	Down []uint8        // ports of To
	Up   []uint8        // and their peers, ports of the switch
}

// BlockSize is the number of LIDs in one LinearForwardingTable block.
const BlockSize = 64

// RowLen is the length of the rows that hold LIDs up to top.
func RowLen(top mad.LID) int { return (int(top)/BlockSize + 1) * BlockSize }

// EmptyRows are the forwarding tables of so many switches before they have routes. The error is that of ctx.
func EmptyRows(ctx context.Context, switches int, top mad.LID) ([][]uint8, error) {
	rows := make([][]uint8, switches)
	for s := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows[s] = bytes.Repeat([]byte{NoPath}, RowLen(top))
	}
	return rows, nil
}
