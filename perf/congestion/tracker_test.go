package congestion

import (
	"testing"
	"time"

	"ibsm/perf"
	"ibsm/routing/minhop"
	"ibsm/topo"
)

// TestTracker: a congestion is one event from the first of two images in a row that show it to the second in a row that
// does not, whatever its weight meanwhile; a light one begins none.
func TestTracker(t *testing.T) {
	f := newFabric(t, "fattree:k=4", minhop.Route, 1)
	root, other := f.topo.Ports[f.hosts[3]].Peer, f.topo.Ports[f.hosts[5]].Peer
	tree := func(root topo.PortIdx, weight float64, waiting ...topo.PortIdx) Tree {
		return Tree{Cause: SlowHost, Root: root, Waiting: append([]topo.PortIdx{root}, waiting...), Weight: weight}
	}
	var tracker Tracker
	start := time.Unix(1000, 0)
	for i, c := range []struct {
		trees              []Tree
		began, ended, open int
	}{
		{nil, 0, 0, 0},
		{[]Tree{tree(root, 0.1)}, 0, 0, 0},
		{[]Tree{tree(root, 1)}, 0, 0, 0},
		{nil, 0, 0, 0},
		{[]Tree{tree(root, 3, 1, 2), tree(other, 0.19)}, 0, 0, 0},
		{[]Tree{tree(root, 2, 1, 2)}, 1, 0, 1},
		{[]Tree{tree(root, 0.01)}, 0, 0, 1},
		{nil, 0, 0, 1},
		{[]Tree{tree(other, 5), tree(root, 1)}, 0, 0, 1},
		{[]Tree{tree(other, 5)}, 1, 0, 2},
		{[]Tree{tree(other, 5)}, 0, 1, 1},
		{nil, 0, 0, 1},
		{nil, 0, 1, 0},
	} {
		began, ended := tracker.Take(start.Add(time.Duration(i)*time.Minute), f.topo, c.trees)
		open, _ := tracker.Events()
		if len(began) != c.began || len(ended) != c.ended || len(open) != c.open {
			t.Fatalf("image %d: %d begin, %d end, %d are open", i, len(began), len(ended), len(open))
		}
	}
	_, ended := tracker.Events()
	first := ended[1]
	if first.Root != perf.KeyOf(f.topo, root) || first.Since != start.Add(4*time.Minute) ||
		first.Until != start.Add(8*time.Minute) || first.Ports != 3 || first.Weight != 3 || len(first.Waiting) != 1 {
		t.Errorf("%+v", first)
	}
}

// TestTrackerLimits: neither many congestions nor one of many ports take more than their room.
func TestTrackerLimits(t *testing.T) {
	f := newFabric(t, "fattree:k=8", minhop.Route, 1)
	var tracker Tracker
	var trees []Tree
	all := make([]topo.PortIdx, len(f.links))
	for p := range f.links {
		all[p] = topo.PortIdx(p)
		trees = append(trees, Tree{Root: topo.PortIdx(p), Waiting: all[:p+1], Weight: 1})
	}
	tracker.Take(time.Unix(1, 0), f.topo, trees)
	tracker.Take(time.Unix(2, 0), f.topo, trees)
	open, _ := tracker.Events()
	if len(open) != maxEvents || tracker.Dropped != 2*uint64(len(trees)-maxEvents) {
		t.Errorf("%d events, %d dropped", len(open), tracker.Dropped)
	}
	tracker.Take(time.Unix(3, 0), f.topo, trees[maxEvents-1:])
	if open, _ = tracker.Events(); len(open[0].Waiting) > MaxWaiting {
		t.Errorf("%d ports in an event", len(open[0].Waiting))
	}
	for i := range 3 {
		tracker.Take(time.Unix(int64(4+i), 0), f.topo, nil)
	}
	if open, ended := tracker.Events(); len(open) != 0 || len(ended) != maxEnded {
		t.Errorf("%d events, %d that have ended", len(open), len(ended))
	}
}
