package mkeys

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/sweep/plan"
	"ibsm/topo"
)

// without is a subnet as a walk finds it when an adapter has left.
func without(t *testing.T, tp *topo.Topo, gone topo.PortIdx) *topo.Topo {
	t.Helper()
	b := topo.NewBuilder(nil)
	index := map[topo.NodeIdx]int32{}
	for n := range tp.Nodes {
		if node := &tp.Nodes[n]; topo.NodeIdx(n) != tp.Ports[gone].Node {
			index[topo.NodeIdx(n)] = b.AddNode(&node.Info, node.Route)
		}
	}
	for i := range tp.Ports {
		port := &tp.Ports[i]
		n, known := index[port.Node]
		if !known {
			continue
		}
		e := topo.End{Node: n, Port: port.Num}
		b.SetPort(e, &port.Info)
		if port.Peer == topo.None || port.Peer == gone || int(port.Peer) < i {
			continue
		}
		peer := &tp.Ports[port.Peer]
		b.Link(e, topo.End{Node: index[peer.Node], Port: peer.Num})
	}
	b.SetSelf(topo.End{Node: index[tp.Ports[tp.Self].Node], Port: tp.Ports[tp.Self].Num})
	return b.Freeze()
}

// TestPlaces: an agent that leaves is remembered at its place until it is back, and is a candidate elsewhere unless
// somebody at its own place does not answer.
func TestPlaces(t *testing.T) {
	whole := subnet(t)
	host := otherHost(t, whole)
	agent, at := whole.Ports[host].GUID, keyOf(whole, whole.Ports[host].Peer)
	missing := without(t, whole, host)
	m := newPlaces(nil)
	m.look(nil, nil, whole)
	if len(m.left)+len(m.behind) > 0 {
		t.Fatalf("nobody has left, and %v are remembered", m.left)
	}
	m.look(whole, nil, missing)
	m.look(missing, nil, missing)
	if far := m.behind[at]; far.agent != agent || far.Key != keyOf(whole, host) || len(m.behind) != 1 {
		t.Fatalf("behind %v is %v, want %v", at, m.behind, agent)
	}
	nobody, everywhere := func(plan.Key) bool { return false }, func(plan.Key) bool { return true }
	found := func(port mad.GUID) bool { return missing.FindPort(port) != topo.None }
	if got := m.candidates(missing, found, nobody); !slices.Equal(got, []mad.GUID{agent}) {
		t.Errorf("candidates %v, want %v", got, agent)
	}
	if got := m.candidates(missing, found, everywhere); len(got) > 0 {
		t.Errorf("its place has a link, and its M_Key may be shown elsewhere: %v", got)
	}
	for range maxTrials {
		if !m.tries(at) {
			t.Fatal("it is not tried often enough")
		}
		m.unanswered(at)
	}
	if m.tries(at) {
		t.Error("there is no end of trials")
	}
	m.look(missing, nil, whole)
	if len(m.left)+len(m.behind)+len(m.tried) > 0 {
		t.Errorf("it is back, and %v, %v, %v are remembered", m.left, m.behind, m.tried)
	}
}

// TestPlacesLimit: there is a limit to what is remembered, however many agents come and go, and those that left last
// are remembered.
func TestPlacesLimit(t *testing.T) {
	whole := subnet(t)
	restored := map[plan.Key]plan.Key{}
	for i := range maxShown + 1 {
		restored[plan.Key{Node: 1, Port: uint8(i)}] = plan.Key{Node: mad.GUID(i + 2), Port: 1}
		restored[plan.Key{Node: mad.GUID(i + 2), Port: 1}] = plan.Key{Node: mad.GUID(i + 3), Port: 1}
	}
	m := newPlaces(restored)
	const last = 1 << 40
	m.left[last] = 7
	m.look(nil, nil, whole)
	if _, known := m.left[last]; !known || len(m.left) > maxShown || len(m.behind) > 2*maxShown {
		t.Errorf("%d agents at %d places are remembered, the last one %v", len(m.left), len(m.behind), known)
	}
	if got := m.candidates(nil, func(mad.GUID) bool {
		return false
	}, func(plan.Key) bool { return false }); len(got) != maxCandidates || got[0] != last {
		t.Errorf("candidates %v", got)
	}
}
