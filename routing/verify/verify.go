// Package verify proves forwarding tables before they are written: a packet for any
// LID that is put in at any switch comes to the port that owns the LID. It knows
// nothing of engines and their aims.
package verify

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// MaxHops is the number of links a route may have: those of the longest directed
// route, and the one it is answered over.
const MaxHops = mad.MaxHops + 1

// MaxExamples is the number of findings of each kind that a Report names.
const MaxExamples = 8

// Kind says what is wrong with a route.
type Kind uint8

// Kinds of findings. Each but Unowned is counted in pairs of a switch to start at
// and a LID to come to.
const (
	Cut        Kind = 0 // no cable leads there, and no table either: the tables are not to blame
	Loop       Kind = 1 // packets go round in a circle
	DeadEnd    Kind = 2 // comes to a switch without an entry, though cables lead to the owner
	Nowhere    Kind = 3 // comes to a port that is not there or has nothing behind it
	WrongOwner Kind = 4 // is delivered to a port that does not own the LID
	TooLong    Kind = 5 // arrives after more than MaxHops links
	Unowned    Kind = 6 // an entry of a LID that nobody owns, in pairs of switch and LID
	// as a dead end, but the engine's rules forbid the route, and neither hosts nor the manager need it
	Forbidden Kind = 7
)

const numKinds = 8

var kindNames = [numKinds]string{"cut", "loop", "dead end", "port that leads nowhere", "wrong owner", "too long",
	"entry of a LID nobody owns", "not permitted by the engine's rules"}

// String names the kind in a few words.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Finding is one route or entry that is not as it should be.
type Finding struct {
	Kind   Kind
	Switch topo.SwitchIdx // the packet starts here; Unowned: whose table it is
	LID    mad.LID
}

// Report is what Check found. It is immutable.
type Report struct {
	Routes   int // pairs of a switch and an owned LID
	Count    [numKinds]int
	Connects int       // of those that are Forbidden: connect_roots would give them a route
	Examples []Finding // up to MaxExamples of each kind, in order of LID and switch
	Longest  int       // links of the longest route that arrives
	looping  []uint64  // a bit for each LID
	checker  *checker  // that found it
}

// Forwarding is that of the tables. It keeps comparisons.
func (r *Report) Forwarding() *routing.Forwarding { return r.checker.Forwarding }

// Bad is the number of routes and entries that the tables are to blame for.
func (r *Report) Bad() (n int) {
	for kind, count := range r.Count {
		if Kind(kind) != Cut && Kind(kind) != Forbidden {
			n += count
		}
	}
	return n
}

// Unreached is the number of routes that do not arrive though cables lead there, and the engine's rules do not forbid
// it.
func (r *Report) Unreached() int {
	return r.Count[Loop] + r.Count[DeadEnd] + r.Count[Nowhere] + r.Count[WrongOwner]
}

// Loops reports whether any switch's route to the LID loops.
func (r *Report) Loops(lid mad.LID) bool {
	return int(lid)/64 < len(r.looping) && r.looping[lid/64]>>(lid%64)&1 != 0
}

// Check follows the tables from every switch to every LID, to several at one switch together. Entries above Top count
// as missing, as they do in a switch. Of a LID whose routes since has found good nothing
// is followed, unless they may have changed; since may be nil, or of another subnet. The
// rows of both Reports' tables must not be written any more. The error is that of ctx.
func Check(ctx context.Context, workers routing.Workers, t *topo.Topo, l *topo.LIDs, tables *routing.Tables,
	since *Report) (*Report, error) {
	c := newChecker(t, l, tables)
	follow := c.changed(ctx, since)
	if err := c.together(ctx, workers, follow); err != nil {
		return nil, err
	}
	blocks := make([]blockReport, len(follow))
	err := routing.Parallel(ctx, workers, len(blocks), func() func(int) {
		trace := routing.NewTrace(len(c.Rows))
		return func(block int) { c.check(block, follow[block], trace, &blocks[block]) }
	})
	if err != nil {
		return nil, err
	}
	return c.sum(blocks), nil
}

// checker is what all blocks have in common.
type checker struct {
	*routing.Forwarding
	lids *topo.LIDs
	part func() []int32 // by SwitchIdx: connected parts; found where some route does not arrive
	// longest is, by LID, 1 + the links of its longest route, and 0 where any of its routes
	// or entries is not good.
	longest []uint8
	// by LID: a switch from which that route starts; None where longest is 0, or nobody owns the LID
	farthest []topo.SwitchIdx
	topo     *topo.Topo
	rules    *rules // of the engine; nil if it has none
}

func newChecker(t *topo.Topo, l *topo.LIDs, tables *routing.Tables) *checker {
	c := &checker{Forwarding: routing.NewForwarding(t, l, tables), lids: l, topo: t, rules: newRules(t, l, tables)}
	c.part = sync.OnceValue(func() []int32 { return routing.NewGraph(t).Components() })
	c.KeepComparisons()
	c.longest = make([]uint8, c.Blocks()*routing.BlockSize)
	c.farthest = slices.Repeat([]topo.SwitchIdx{topo.None}, len(c.longest))
	return c
}

// blockReport is the part of a Report that one block of LIDs makes.
type blockReport struct {
	routes   int
	count    [numKinds]int
	examples []Finding
	connects int
	longest  int
	looping  uint64
	rules    *block
}

func (b *blockReport) add(f Finding) {
	if b.count[f.Kind]++; b.count[f.Kind] <= MaxExamples {
		b.examples = append(b.examples, f)
	}
}

// check looks at the LIDs of a block; those that have no bit in follow are good.
func (c *checker) check(block int, follow uint64, trace *routing.Trace, into *blockReport) {
	c.Tracer.Block(c.Rows, block, follow, trace)
	first := block * routing.BlockSize
	into.rules = c.rules.block(first, c.Home)
	for lid := first; lid < first+routing.BlockSize; lid++ {
		owned := c.lids.PortOf(mad.LID(lid)) != topo.None
		if owned {
			into.routes += len(c.Rows)
		}
		switch {
		case follow>>(lid-first)&1 == 0:
			into.longest = max(into.longest, int(c.longest[lid])-1)
		case owned:
			c.judge(mad.LID(lid), trace.Fates(mad.LID(lid)), into)
		default:
			c.findUnassigned(mad.LID(lid), into)
		}
	}
	into.rules = nil
}

// judge adds what the fates of an owned LID amount to.
func (c *checker) judge(lid mad.LID, fates []routing.Fate, into *blockReport) {
	least, most, farthest := routing.Arrived, routing.Arrived, topo.SwitchIdx(0)
	first := int(lid) * 31 % max(len(fates), 1) // not the same one for all LIDs: it may be lost
	for i, fate := range fates[first:] {
		if least = min(least, fate); fate > most {
			most, farthest = fate, topo.SwitchIdx(first+i)
		}
	}
	for s, fate := range fates[:first] {
		if least = min(least, fate); fate > most {
			most, farthest = fate, topo.SwitchIdx(s)
		}
	}
	if least >= routing.Arrived && most <= routing.Arrived+MaxHops {
		links := int(most - routing.Arrived)
		c.longest[lid], c.farthest[lid] = uint8(1+links), farthest
		into.longest = max(into.longest, links)
		return
	}
	for s, fate := range fates {
		f := Finding{Switch: topo.SwitchIdx(s), LID: lid}
		switch {
		case fate >= routing.Arrived && fate <= routing.Arrived+MaxHops:
			into.longest = max(into.longest, int(fate-routing.Arrived))
			continue
		case fate >= routing.Arrived, fate == routing.TooFar:
			f.Kind = TooLong
		case fate == routing.Loop:
			f.Kind = Loop
			into.looping |= 1 << (lid % 64)
		case fate == routing.Nowhere:
			f.Kind = Nowhere
		case fate == routing.WrongPort:
			f.Kind = WrongOwner
		case c.connected(f.Switch, c.Home(lid)):
			f.Kind = DeadEnd
			if into.rules.forbid(f.Switch, lid) {
				f.Kind = Forbidden
				if into.rules.connects(f.Switch, lid) {
					into.connects++
				}
			}
		}
		into.add(f)
	}
}

func (c *checker) connected(a, b topo.SwitchIdx) bool {
	return b != topo.None && c.part()[a] == c.part()[b]
}

func (c *checker) findUnassigned(lid mad.LID, into *blockReport) {
	c.longest[lid] = 1
	for s, row := range c.Rows {
		if int(lid) < len(row) && row[lid] != routing.NoPath {
			c.longest[lid] = 0
			into.add(Finding{Unowned, topo.SwitchIdx(s), lid})
		}
	}
}

func (c *checker) sum(blocks []blockReport) *Report {
	r := &Report{looping: make([]uint64, len(blocks)), checker: c}
	var shown [numKinds]int
	for i := range blocks {
		b := &blocks[i]
		for _, f := range b.examples {
			if shown[f.Kind]++; shown[f.Kind] <= MaxExamples {
				r.Examples = append(r.Examples, f)
			}
		}
		for kind := range r.Count {
			r.Count[kind] += b.count[kind]
		}
		r.Routes += b.routes
		r.Connects += b.connects
		r.Longest = max(r.Longest, b.longest)
		r.looping[i] = b.looping
	}
	return r
}
