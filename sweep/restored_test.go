package sweep

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/sweep/lids"
)

// A task that recalls the LIDs of a file goes by them, whatever ports report, and what
// they displace is forgotten.
func TestRecall(t *testing.T) {
	b := up(t, small, Config{})
	guid := b.net.Nodes[b.node(mad.CA, 5)].Ports[1].GUID
	other := b.net.Nodes[b.node(mad.CA, 6)].Ports[1].GUID
	was, theirs := b.state.lids, lids.Find(b.state.lids, other).Base
	b.Changes()
	b.Abdicate()
	j := &RouteTask{state: b.state.snapshot()}
	recalled := []lids.Assignment{{Port: 0x99, Base: theirs}, {Port: guid, Base: 77}}
	j.Recall(recalled)
	if got := lids.Find(j.state.lids, guid).Base; got != 77 || j.state.stale {
		t.Errorf("LID %v becomes %v", lids.Find(was, guid), got)
	}
	if lids.Find(j.state.lids, other) != (lids.Assignment{}) {
		t.Error("a LID belongs to two")
	}
	if !slices.Equal(b.state.lids, was) || !b.state.stale {
		t.Error("a task changes the state before it has come to anything")
	}
	b.state.apply(&delta{lids: j.state.lids})
	changed, forgotten := b.Changes()
	if !slices.Equal(changed, recalled) || !slices.Equal(forgotten, []mad.GUID{other}) {
		t.Errorf("changed %v, forgotten %v", changed, forgotten)
	}
	if changed, forgotten = b.Changes(); len(changed)+len(forgotten) > 0 {
		t.Errorf("changes are returned twice: %v, %v", changed, forgotten)
	}
}
