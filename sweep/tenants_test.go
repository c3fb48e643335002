package sweep

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

// TestTenants: when partitions change, routes in use stay. Those that are computed afresh, as by a reroute, know the
// new partitions: no figure is worse, and the fullest link carries less.
func TestTenants(t *testing.T) {
	chain, err := engines.New([]string{"tree"}, &engines.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	asked, route := 0, chain[0].Route
	chain[0].Route = func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		asked++
		return route(ctx, in)
	}
	b := newHarness(t, "fattree:k=8,levels=2", Config{Engines: chain})
	first := b.heavy()
	hosts := quality.Hosts(first.Topo, first.LIDs)
	text := "Default=0x7fff : ALL, SELF=full ;\n"
	for half := range 2 {
		var members []string
		for i, at := range rand.New(rand.NewPCG(1, 1)).Perm(len(hosts)) {
			if i%2 == half {
				members = append(members, fmt.Sprintf("%v=full", first.Topo.Ports[hosts[at]].GUID))
			}
		}
		text += fmt.Sprintf("half%d=0x%04x : %s ;\n", half, half+1, strings.Join(members, ", "))
	}
	policy, errors, _ := partitions.Parse("partitions.conf", []byte(text)).Policy()
	if len(errors) > 0 {
		t.Fatal(errors)
	}
	b.Configure(Config{Engines: chain, Partitions: Partitions{Policy: policy}})
	was := asked
	changed := b.heavy()
	if asked == was {
		t.Error("other partitions: the engine was not asked")
	}
	if changed.Sets[smp.AttrPKeyTable] == 0 || changed.Sets[smp.AttrLinearForwardingTable] > 0 {
		t.Errorf("with other partitions: %v", changed.Sets)
	}
	b.Reroute()
	after := b.heavy()
	if after.Sets[smp.AttrLinearForwardingTable] == 0 {
		t.Errorf("a reroute: %v", after.Sets)
	}
	in := routing.In{Topo: after.Topo, LIDs: after.LIDs, Tenants: routing.NewTenants(after.Topo,
		func(p topo.PortIdx) *topo.PKeyTable { return after.Partitions.Table(after.Topo, p) })}
	if in.Tenants == nil || len(in.Tenants.Members(hosts)) != 2 {
		t.Fatalf("%+v", in.Tenants)
	}
	fullest, shift, err := quality.Tenants(t.Context(), in, after.Tables.LFT, hosts)
	if err != nil {
		t.Fatal(err)
	}
	before, shiftBefore, err := quality.Tenants(t.Context(), in, changed.Tables.LFT, hosts)
	if err != nil || fullest >= before || shift > shiftBefore {
		t.Errorf("fullest %d, before %d; shifts %.2f, %.2f, %v", fullest, before, shift, shiftBefore, err)
	}
	was = asked
	if again := b.heavy(); asked > was || again.Sets[smp.AttrLinearForwardingTable] > 0 ||
		!slices.EqualFunc(again.Tables.LFT, after.Tables.LFT, func(a, b []uint8) bool {
			return string(a) == string(b)
		}) {
		t.Errorf("again: asked %d times, %v", asked-was, again.Sets)
	}
}
