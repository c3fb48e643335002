package sa

import (
	"cmp"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/topo"
)

// The registry says which GUIDs a port has. A block is not known to be in the port from the request that writes it
// until a response shows it, and is written again until then: so the two agree in the end, whichever answers are lost.

// guidWrite is a block that a port is not known to hold.
type guidWrite struct {
	wanted smp.GUIDInfo  // as it was ordered last
	again  time.Duration // when it is written again
}

// rewriteAfter is how long after a block was ordered it is written again, where the port is not known to hold it by
// then.
const rewriteAfter = 10 * time.Second

// writeGUIDs has a port get a block as the registry has it.
func (r *Registrar) writeGUIDs(key blockKey) smp.GUIDInfo {
	block := guidBlock(&r.reg.State, key.port, key.block)
	r.guids[key] = guidWrite{block, r.now + rewriteAfter}
	r.effects.GUIDs = append(r.effects.GUIDs, GUIDBlock{key.port, key.block, block})
	return block
}

// rewriteGUIDs writes blocks again for which it is time. A port that is gone has lost its GUIDs when it comes back.
func (r *Registrar) rewriteGUIDs() {
	var due []blockKey
	for key, g := range r.guids {
		if g.again <= r.now {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b blockKey) int {
		return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.block, b.block))
	})
	for _, key := range due {
		if r.portOf(key.port) == topo.None {
			delete(r.guids, key)
		} else {
			r.writeGUIDs(key)
		}
	}
}

// nextRewrite is when the first block is written again.
func (r *Registrar) nextRewrite() (at time.Duration, ok bool) {
	for _, g := range r.guids {
		if !ok || g.again < at {
			at, ok = g.again, true
		}
	}
	return at, ok
}

// written sends the replies that waited for a port to take its GUIDs, unless the block has been ordered again since.
// One whose port has not taken them is asked again when the client tries again.
func (r *Registrar) written(w *GUIDsWritten) {
	if r.view == nil {
		return // nothing waits for it any more
	}
	key := blockKey{w.Port, w.Block}
	if g, ordered := r.guids[key]; ordered && g.wanted != w.GUIDs {
		return
	}
	switch w.Outcome {
	case HoldsBlock:
		delete(r.guids, key)
	case HoldsOthers:
		r.holdsOthers(key, &w.Held)
	}
	for i := range r.writing[key] {
		out := &r.writing[key][i]
		came := r.pending.release(out)
		if w.Outcome < HoldsForNow {
			out.Packet.SetStatus(mad.StatusNoResources)
			out.Packet.SetAttributeOffset(0)
			r.count.Unwritten++
		}
		r.pending.add(out, r.reg.Seq(), false, came, r.now+ReplyTimeout)
	}
	delete(r.writing, key)
}

// holdsOthers takes the aliases away from the registry that a port has not taken, but for members of groups. If it then
// holds what it should, nothing is written again.
func (r *Registrar) holdsOthers(key blockKey, held *smp.GUIDInfo) {
	var lacking []registry.Change
	for a := range r.reg.AliasesOf(key.port) {
		if a.Index/smp.GUIDsPerBlock == key.block && held.GUID(int(a.Index)) != a.GUID && !r.isMember(a.GUID) {
			lacking = append(lacking, registry.DeleteAlias{Slot: a.Slot})
		}
	}
	r.apply(lacking...)
	wanted := guidBlock(&r.reg.State, key.port, key.block)
	if key.block == 0 {
		wanted.SetGUID(0, held.GUID(0)) // the port's own, which nobody writes
	}
	if wanted == *held {
		delete(r.guids, key)
	}
}
