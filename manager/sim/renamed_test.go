package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/fabric"
	"ibsm/manager"
	"ibsm/sweep"
)

// mustKnowName fails the test unless a node is known by a description.
func (w *watched) mustKnowName(node int32, name string) {
	w.bed.Helper()
	t := w.View.Topo
	if got := t.Nodes[t.FindNode(w.bed.net.Nodes[node].GUID)].Desc.String(); got != name {
		w.bed.Errorf("node %d is known as %q, not %q", node, got, name)
	}
}

// A node that says that its description has changed is asked for it, whatever the manager is
// at: it says so once.
func TestRenamed(t *testing.T) {
	n := generate(t, "fattree:k=8")
	for name, tt := range map[string]struct {
		protect uint8
		at      func(b *bed, m *watched) // when nodes are renamed
	}{
		"at rest":             {0, func(*bed, *watched) {}},
		"protected by M_Keys": {2, func(*bed, *watched) {}},
		"during a walk": {0, func(b *bed, m *watched) {
			b.Ask(m.Manager, manager.Heavy)
			b.pass(100 * time.Microsecond)
		}},
		"before the manager stands still": {0, func(b *bed, m *watched) {
			for i := range int32(40) {
				b.Fabric.SetNodeDescription(host(n, 10).Node+i, "passing")
			}
			b.pass(2 * latency)
			b.Sleep(m.Manager, 3*time.Second)
			b.pass(settling)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, n, fabric.Config{Seed: 1})
			cfg := minhopConfig()
			cfg.Txn.MaxWindow = 8
			if tt.protect > 0 {
				cfg.Sweep.Settings.MKey = sweep.Given(mad.MKey(0x77))
				cfg.Sweep.Settings.MKeyProtect = sweep.Given(tt.protect)
			}
			m := b.comeUp(cfg)
			tt.at(b, m)
			for i := range int32(40) {
				b.Fabric.SetNodeDescription(host(n, 10).Node+i, fmt.Sprintf("renamed %d", i))
			}
			b.pass(settling)
			for i := range int32(40) {
				m.mustKnowName(host(n, 10).Node+i, fmt.Sprintf("renamed %d", i))
			}
		})
	}
}
