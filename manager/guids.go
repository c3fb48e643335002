package manager

import (
	"cmp"
	"maps"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sa"
	"ibsm/sweep"
	"ibsm/topo"
	"ibsm/view"
)

// guidWrites is the state machine that writes blocks of GUIDs. A block is awaited from its Set until it is answered,
// refused, or dropped at the end of the mastership. One that is refused, which may be an answer to a copy of a Set that
// was executed, is read. One that is ordered meanwhile waits for the answer, so that a port has one of both, and it is
// known which.
type guidWrites struct {
	awaited map[uint64]*guidWrite // by the tag of the request
	blocks  map[guidKey]*guidWrite
	last    uint64 // tag
}

type guidKey struct {
	port  mad.GUID
	block uint8
}

// guidWrite is a block on its way.
type guidWrite struct {
	state guidState
	block sa.GUIDBlock // the one that was ordered last
	size  int          // entries that the port has of it
	req   txn.Request
}

// guidState says which request is out for a block.
type guidState uint8

const (
	guidSetting guidState = iota // its Set
	guidReading                  // its Get, since the Set was refused
	// one of a block that was ordered before: the Set of this one follows, whatever the answer is
	guidReplaced
)

func newGUIDWrites() guidWrites {
	return guidWrites{awaited: map[uint64]*guidWrite{}, blocks: map[guidKey]*guidWrite{}}
}

// write sets a block of a port's GUIDs. may says that this manager may write.
func (w *guidWrites) write(fx *effects, b *sa.GUIDBlock, v *view.View, may bool, s *sweep.Settings) {
	if v == nil {
		return // the registrar knows that this manager is no longer master
	}
	if now := w.blocks[guidKey{b.Port, b.Block}]; now != nil {
		now.state, now.block = guidReplaced, *b
		return
	}
	g := &guidWrite{block: *b}
	p := v.Topo.FindPort(b.Port)
	if p == topo.None || !may {
		g.end(fx, sa.HoldsUnknown)
		return
	}
	route, ok := v.Topo.RouteTo(p)
	if !ok {
		g.end(fx, sa.HoldsUnknown)
		return
	}
	g.size = min(int(v.Topo.Ports[p].Info.GUIDCap())-int(b.Block)*smp.GUIDsPerBlock, smp.GUIDsPerBlock)
	g.req = *directed(ownerGUIDs, 0, route, mad.MethodSet, smp.AttrGUIDInfo, uint32(b.Block), s.MKeyFor(v.Topo, p))
	w.send(fx, g, guidSetting)
}

// send has a block come to guidSetting or guidReading.
func (w *guidWrites) send(fx *effects, g *guidWrite, state guidState) {
	w.last++
	g.state, g.req.Tag, g.req.Method, g.req.Data = state, w.last, mad.MethodSet, g.block.GUIDs
	if state == guidReading {
		g.req.Method, g.req.Data = mad.MethodGet, [mad.DataSize]byte{}
	}
	if !fx.request(&g.req) {
		g.end(fx, sa.HoldsUnknown)
		return
	}
	w.awaited[w.last], w.blocks[g.key()] = g, g
}

// done takes the outcome of a request.
func (w *guidWrites) done(fx *effects, o *txn.Outcome) {
	g, is := w.awaited[o.Tag]
	if !is {
		return
	}
	delete(w.awaited, o.Tag)
	delete(w.blocks, g.key())
	held := smp.GUIDInfo(o.Data)
	switch {
	case g.state == guidReplaced:
		w.send(fx, g, guidSetting)
	case o.Result == txn.Replied && o.Status != mad.StatusOK && g.state == guidSetting:
		w.send(fx, g, guidReading)
	case !isOK(o):
		g.end(fx, sa.HoldsUnknown)
	case !g.shows(&held):
		fx.do(ForRegistrar{sa.GUIDsWritten{GUIDBlock: g.block, Outcome: sa.HoldsOthers, Held: held}})
	case o.Attempts > 1 || g.state == guidReading:
		g.end(fx, sa.HoldsForNow)
	default:
		g.end(fx, sa.HoldsBlock)
	}
}

// shows reports whether a response shows the block. The port's own GUID is not written.
func (g *guidWrite) shows(held *smp.GUIDInfo) bool {
	for i := range g.size {
		if held.GUID(i) != g.block.GUIDs.GUID(i) && (i > 0 || g.block.Block > 0) {
			return false
		}
	}
	return true
}

func (g *guidWrite) key() guidKey { return guidKey{g.block.Port, g.block.Block} }

// refuse reports a failure of all awaited blocks.
func (w *guidWrites) refuse(fx *effects) {
	keys := slices.SortedFunc(maps.Keys(w.blocks), func(a, b guidKey) int {
		return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.block, b.block))
	})
	for _, key := range keys {
		w.blocks[key].end(fx, sa.HoldsUnknown)
	}
}

// drop forgets all awaited blocks.
func (w *guidWrites) drop() {
	clear(w.awaited)
	clear(w.blocks)
}

// end reports the result of a block, unless the port has other blocks.
func (g *guidWrite) end(fx *effects, how sa.GUIDOutcome) {
	fx.do(ForRegistrar{sa.GUIDsWritten{GUIDBlock: g.block, Outcome: how}})
}
