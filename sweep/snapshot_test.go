package sweep

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/sweep/multicast"
	"ibsm/sweep/plan"
	"ibsm/topo/net"
)

// Tasks compute while their owner goes on: with late replies, unhealthy ports, other names,
// a light sweep, and a whole sweep beside previews. The race detector finds what they share,
// and a preview that began before a sweep is as it would have been without it.
func TestTasksBesideOwner(t *testing.T) {
	policy := partitions.Default()
	b := up(t, "fattree:k=4", Config{Partitions: Partitions{Policy: policy}})
	m := multicast.New(plan.MKeys{})
	m.SetRegistry(&registry.New().State)
	m.SetSubnet(b.heavy().MulticastSubnet())
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
	key, _, ok := b.Avoid(lid, 1)
	if !ok {
		t.Error("an unhealthy port cannot be noted while a task is out")
	}
	b.Heal(key)
	other := smp.NodeDescription{'n', 'e', 'w'}
	if renamed := b.Rename(map[mad.GUID]smp.NodeDescription{node.GUID: other}); renamed.Nodes[renamed.FindNode(
		node.GUID)].Desc != other {
		t.Error("a node has its old name")
	}
	out := b.write(<-result)
	if out.Topo.Nodes[out.Topo.FindNode(node.GUID)].Desc != other {
		t.Error("a sweep forgets a name that changed while it computed")
	}
	if b.state.devices.Find(node.GUID).LFT.Complete() {
		t.Error("a sweep forgets what was contradicted while it computed")
	}
	m.SetSubnet(out.MulticastSubnet())
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

// A preview leaves no trace in the state, neither by its computation nor when its steps are
// read, and may run while a sweep writes: the sweep sends what it would have sent without it.
func TestPreviewLeavesNoTrace(t *testing.T) {
	down := func(b *harness) {
		b.fabric.LinkDown(net.End{Node: b.node(mad.Switch, 0), Port: 3})
	}
	b := up(t, "fattree:k=4", Config{Partitions: Partitions{Policy: partitions.Default()}})
	down(b)
	preview := func(reroute bool) *RouteTask {
		var found *Found
		w := b.Walk(false, Full)
		b.until(w, func() bool { found = w.Found(); return found != nil })
		defer found.Drop()
		return found.Preview(reroute)
	}
	before := deep(reflect.ValueOf(b.state))
	task := preview(true)
	steps := slices.Collect(task.Run(context.Background()).Steps)
	if len(steps) == 0 {
		t.Fatal("no test: the preview has nothing to write")
	}
	if after := deep(reflect.ValueOf(b.state)); after != before {
		at := 0
		for at < min(len(before), len(after)) && before[at] == after[at] {
			at++
		}
		t.Errorf("a preview changes the state: from %.200q to %.200q", before[max(at-100, 0):], after[max(at-100, 0):])
	}
	alone := up(t, "fattree:k=4", Config{Partitions: Partitions{Policy: partitions.Default()}})
	down(alone)
	alone.heavy()
	task = preview(false)
	repair := b.walk().Task(1).Run(context.Background())
	p := b.Program(repair)
	for range len(alone.sets) / 2 { // in the midst of it
		if req, ok := p.Next(); ok {
			o := b.ask(&req)
			p.Done(&o)
		}
	}
	plan := task.Run(context.Background())
	for range plan.Steps {
	}
	b.until(p, func() bool { out, _ := p.Outcome(); return out != nil })
	if len(b.sets) == 0 || !slices.Equal(b.sets, alone.sets) {
		t.Errorf("beside a preview a sweep sends %d Sets, else %d", len(b.sets), len(alone.sets))
	}
}

// deep is all that a value holds and points to, but for functions, and counters of the state
// that do not show what devices hold.
func deep(v reflect.Value) string {
	var all []string
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
		return deep(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "walks" && name != "heard" && name != "shared" {
				all = append(all, name+":"+deep(v.Field(i)))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			all = append(all, deep(v.Index(i)))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			all = append(all, deep(k)+":"+deep(v.MapIndex(k)))
		}
		slices.Sort(all)
	case reflect.Func:
		return "func"
	default:
		return fmt.Sprint(v)
	}
	return "{" + strings.Join(all, " ") + "}"
}
