package sweep

import (
	"context"
	"strings"
	"sync"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/registry"
)

// Tasks compute while their owner goes on: with late replies, unhealthy ports, other names,
// a light sweep, and a whole sweep beside previews. The race detector finds what they share,
// and a preview that began before a sweep is as it would have been without it.
func TestTasksBesideOwner(t *testing.T) {
	policy := partitions.Default()
	b := up(t, "fattree:k=4", Config{Partitions: Partitions{Policy: policy}})
	m := NewMulticast(&Settings{})
	m.SetRegistry(&registry.New().State)
	m.SetSubnet(b.heavy())
	node := b.state.prev.Nodes[b.state.prev.Switches[3]]
	stray := func() {
		var p mad.Packet
		p.SetDirected(&node.Route, mad.MethodGetResp, smp.AttrLinearForwardingTable, 0)
		if b.UnmatchedReply(&p); b.state.devices.Find(node.GUID).LFT.Complete() {
			t.Error("a late reply does not count while a task is out")
		}
	}
	var tasks sync.WaitGroup
	plans := make([]*SweepPlan, 4)
	for i := range plans {
		task := b.walk().Preview(i%2 == 0).WithMulticast(m)
		tasks.Go(func() { plans[i] = task.Run(context.Background()) })
	}
	task := b.walk().Task(1)
	result := make(chan *SweepPlan)
	go func() { result <- task.Run(context.Background()) }()
	stray()
	lid := b.state.prev.Ports[node.First].Info.LID()
	key, ok := b.Avoid(lid, 1)
	if !ok {
		t.Error("an unhealthy port cannot be noted while a task is out")
	}
	b.Heal(key)
	other := smp.NodeDescription{'n', 'e', 'w'}
	if renamed := b.Rename(map[mad.GUID]smp.NodeDescription{node.GUID: other}); renamed.Nodes[renamed.FindNode(node.GUID)].Desc != other {
		t.Error("a node has its old name")
	}
	out := b.write(<-result)
	if out.Topo.Nodes[out.Topo.FindNode(node.GUID)].Desc != other {
		t.Error("a sweep forgets a name that changed while it computed")
	}
	if b.state.devices.Find(node.GUID).LFT.Complete() {
		t.Error("a sweep forgets what was contradicted while it computed")
	}
	m.SetSubnet(out)
	b.look()
	if b.heavy(); b.asked[smp.AttrLinearForwardingTable] == 0 || !b.state.devices.Find(node.GUID).LFT.Complete() {
		t.Errorf("the table that was contradicted is not read again: %v", b.asked)
	}
	tasks.Wait()
	for i, plan := range plans {
		for step := range plan.Steps {
			if i%2 == 1 && !strings.Contains(step, "multicast forwarding table") { // which nobody has written
				t.Errorf("a preview of an unchanged subnet shows %q", step)
			}
		}
	}
}
