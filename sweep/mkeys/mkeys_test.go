package mkeys

import (
	"bytes"
	"testing"

	"ibsm/keys"
	"ibsm/mad"
	"ibsm/sweep/plan"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
)

// subnet is a small subnet, with its manager on the first host.
func subnet(t *testing.T) *topo.Topo {
	t.Helper()
	tp, err := netwalk.Topo(nettest.Generate(t, "fattree:k=4,levels=2"), net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

// portMKeys are those of a number, each port its own.
func portMKeys(t *testing.T, number uint32) plan.MKeys {
	t.Helper()
	secret, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return plan.MKeys{One: mad.MKey(secret.MKey()), Ports: secret.Ports(number), PerPort: true}
}

// otherHost is a host that is not the manager's.
func otherHost(t *testing.T, tp *topo.Topo) topo.PortIdx {
	t.Helper()
	for _, p := range tp.EndPorts {
		if tp.IsHost(p) && p != tp.EndPort(tp.Self) {
			return p
		}
	}
	t.Fatal("no other host")
	return topo.None
}

// TestExpectedPruned: what a manager has said of where it is, is forgotten where a sweep finds somebody there.
func TestExpectedPruned(t *testing.T) {
	tp, m := subnet(t), NewMemory(nil)
	sw := &tp.Nodes[tp.Switches[0]]
	m.expected = map[plan.Key]mad.GUID{}
	for num := uint8(1); num <= sw.NumPorts; num++ {
		m.expected[plan.Key{Node: sw.GUID, Port: num}] = 0x99
	}
	if m.Prune(tp); len(m.expected) > 0 {
		t.Errorf("%d are left", len(m.expected))
	}
}

// TestSecret: where ports have their own M_Keys none that was refused is shown, and the one of a manager that does not
// know the subnet is found; no M_Key is derived for it.
func TestSecret(t *testing.T) {
	b, open := Lookup{Wanted: portMKeys(t, 1)}, Lookup{}
	own := &b.Wanted.Ports
	for key, want := range map[mad.MKey]bool{mad.MKey(own.Knock()): true, mad.MKey(own.Of(9)): false, 5: false} {
		secret, knocks := b.Secret(key)
		if !secret || knocks != want {
			t.Errorf("M_Key %v: secret %v, of a manager %v", key, secret, knocks)
		}
		if secret, knocks := open.Secret(key); secret || knocks {
			t.Errorf("without them, M_Key %v: secret %v, of a manager %v", key, secret, knocks)
		}
	}
	key := mad.MKey(own.Of(9))
	if n := testing.AllocsPerRun(100, func() { b.Secret(key) }); n > 0 { // an HMAC takes memory
		t.Errorf("%v allocations for a refused M_Key", n)
	}
}

// walk is what a walk has asked a port.
type walk uint8

const (
	full walk = iota
	quick
	missed // it was full, and the port did not answer
)

// TestShownKeys: of the M_Keys that a port shows the last one is stored, and the one before until two sweeps in a row
// have shown another; none is stored of a port that hides it, or twice has none. What a walk has not read is not shown
// once more.
func TestShownKeys(t *testing.T) {
	tp := subnet(t)
	p := otherHost(t, tp)
	w := NewMemory(nil)
	for i, step := range []struct {
		by      walk
		shown   mad.MKey
		protect uint8
		want    shownKeys
	}{
		{full, 0, 0, shownKeys{}}, {full, 5, 1, shownKeys{5, 0}}, {quick, 5, 1, shownKeys{5, 0}},
		{missed, 5, 1, shownKeys{5, 0}}, {full, 6, 1, shownKeys{6, 5}},
		{quick, 6, 1, shownKeys{6, 5}}, {missed, 6, 1, shownKeys{6, 5}}, {full, 7, 1, shownKeys{7, 5}},
		{quick, 5, 1, shownKeys{5, 5}}, {full, 8, 1, shownKeys{8, 5}},
		{full, 8, 1, shownKeys{8, 8}}, {full, 0, 2, shownKeys{8, 8}}, {full, 0, 0, shownKeys{0, 8}},
		{missed, 0, 0, shownKeys{0, 8}}, {full, 8, 1, shownKeys{8, 8}},
		{full, 0, 0, shownKeys{0, 8}}, {full, 0, 0, shownKeys{}},
	} {
		tp.Ports[p].Info.SetMKey(step.shown)
		tp.Ports[p].Info.SetMKeyProtectBits(step.protect)
		tp.Nodes[tp.Ports[p].Node].Missed = 0
		if step.by == missed {
			tp.Nodes[tp.Ports[p].Node].Missed = 1
		}
		if w.RememberKeys(tp, step.by != quick); w.shown[tp.Ports[p].GUID] != step.want {
			t.Errorf("step %d: %v, want %v", i, w.shown[tp.Ports[p].GUID], step.want)
		}
	}
}

// TestManyShownKeys: M_Keys of ports that have left are kept until they are too many; those of ports that are there
// stay.
func TestManyShownKeys(t *testing.T) {
	tp := subnet(t)
	here := tp.Ports[otherHost(t, tp)].GUID
	w := NewMemory(nil)
	w.shown[here] = shownKeys{5, 5}
	for port := mad.GUID(1); len(w.shown) < maxShown; port++ {
		w.shown[port] = shownKeys{6, 6}
	}
	if w.Prune(tp); len(w.shown) != maxShown {
		t.Errorf("%d of %d are left", len(w.shown), maxShown)
	}
	w.shown[0] = shownKeys{6, 6}
	if w.Prune(tp); len(w.shown) != 1 || w.shown[here] != (shownKeys{5, 5}) {
		t.Errorf("%d are left, of the port that is there %v", len(w.shown), w.shown[here])
	}
}

// TestOtherKeys: requests show keys one by one only where a port may have another than the configured one; one that has
// shown that once, and left, has not.
func TestOtherKeys(t *testing.T) {
	for shown, want := range map[shownKeys]bool{{5, 0}: false, {5, 5}: false, {5, 6}: true, {6, 5}: true, {6, 0}: true,
		{0, 5}: true} {
		s := Lookup{Memory: NewMemory(nil), Wanted: plan.MKeys{One: 5}}
		s.shown[7] = shown
		if got := s.otherKeys(); got != want {
			t.Errorf("a port has shown %v: other keys %v", shown, got)
		}
	}
}

// TestBehindNothing: behind a port that a node does not have, and one of an unknown node, there is nobody.
func TestBehindNothing(t *testing.T) {
	tp := subnet(t)
	node := tp.Nodes[tp.Switches[0]]
	for _, port := range []struct {
		node mad.GUID
		num  uint8
	}{{node.GUID, node.NumPorts + 1}, {node.GUID, 255}, {1 << 60, 1}} {
		if agent := behind(tp, port.node, port.num); agent != 0 {
			t.Errorf("behind port %d of %v is %v", port.num, port.node, agent)
		}
	}
}
