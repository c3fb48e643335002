package sweep

import (
	"context"
	"reflect"
	"testing"
)

// TestOneTopo: a sweep that finds the subnet as it was keeps no second one. What earlier sweeps have published does
// not change when Sets are sent to such a subnet.
func TestOneTopo(t *testing.T) {
	b := up(t, "fattree:k=4", Config{})
	published := b.state.prev
	before := deep(reflect.ValueOf(published))
	c := b.walk().Task(1).Run(context.Background())
	if c.Topo != published {
		t.Error("a second Topo is kept")
	}
	if out := b.write(c); out.Topo != published || len(b.sets) != 0 {
		t.Errorf("a sweep without a change sends %d Sets and publishes another Topo", len(b.sets))
	}
	b.Configure(Config{Engines: b.cfg.Engines, Settings: Settings{SubnetTimeOut: Given[uint8](11)}})
	if c = b.walk().Task(1).Run(context.Background()); !c.SameSubnet() {
		t.Fatal("no test: the subnet is another one before its ports are written")
	}
	out := b.write(c)
	if len(b.sets) == 0 {
		t.Fatal("no test: no Set")
	}
	if after := deep(reflect.ValueOf(published)); after != before {
		t.Error("a Topo that was published has changed")
	}
	for _, p := range out.Topo.EndPorts {
		if got := out.Topo.Ports[p].Info.SubnetTimeOut(); got != 11 && !out.Topo.IsBasePort0(p) {
			t.Errorf("port %d of %v: SubnetTimeOut %d in what is published", out.Topo.Ports[p].Num,
				out.Topo.Nodes[out.Topo.Ports[p].Node].GUID, got)
		}
	}
	if b.heavy(); b.state.prev == published || len(b.sets) != 0 {
		t.Errorf("after the Sets: %d more", len(b.sets))
	}
	other := b.state.prev.Clone()
	if other.Ports[1].Unhealthy = true; b.state.prev.Ports[1].Unhealthy || other.Same(b.state.prev) {
		t.Error("a clone shares its ports")
	}
}
