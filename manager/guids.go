package manager

import (
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

// guidWrites is the state machine that writes blocks of GUIDs. A block is awaited from its Set
// until it is answered, refused, or dropped at the end of the mastership.
type guidWrites struct {
	awaited map[uint64]sa.GUIDBlock // by the tag of the request
	last    uint64                  // tag
}

// write sets a block of a port's GUIDs. may says that this manager may write.
func (w *guidWrites) write(fx *effects, b *sa.GUIDBlock, v *view.View, may bool, s *sweep.Settings) {
	if v == nil {
		return // the registrar knows that this manager is no longer master
	}
	p := v.Topo.FindPort(b.Port)
	if p == topo.None || !may {
		w.written(fx, b, false)
		return
	}
	route, ok := v.Topo.RouteTo(p)
	if !ok {
		w.written(fx, b, false)
		return
	}
	w.last++
	req := directed(ownerGUIDs, w.last, route, mad.MethodSet, smp.AttrGUIDInfo, uint32(b.Block), s.MKeyFor(v.Topo, p))
	req.Data = b.GUIDs
	if !fx.request(&req) {
		w.written(fx, b, false)
		return
	}
	w.awaited[w.last] = *b
}

// done takes the outcome of a request.
func (w *guidWrites) done(fx *effects, o *txn.Outcome) {
	if b, is := w.awaited[o.Tag]; is {
		delete(w.awaited, o.Tag)
		w.written(fx, &b, isOK(o))
	}
}

// refuse reports a failure of all awaited blocks.
func (w *guidWrites) refuse(fx *effects) {
	for _, tag := range slices.Sorted(maps.Keys(w.awaited)) {
		b := w.awaited[tag]
		w.written(fx, &b, false)
	}
}

// drop forgets all awaited blocks.
func (w *guidWrites) drop() { clear(w.awaited) }

func (w *guidWrites) written(fx *effects, b *sa.GUIDBlock, ok bool) {
	fx.do(ForRegistrar{sa.GUIDsWritten{Port: b.Port, Block: b.Block, OK: ok}})
}
