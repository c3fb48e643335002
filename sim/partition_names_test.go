package sim_test

import (
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net/nettest"
)

// TestPartitionsByName: a host that describes itself after the sweep becomes a member by its name without an operator,
// and a host that takes the description of another one takes the membership from both.
func TestPartitionsByName(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	policy, errors, _ := partitions.Parse("p", []byte("Default=0x7fff: ALL=full;\nA=1: render-07=full;\n")).Policy()
	if errors != nil {
		t.Fatal(errors)
	}
	cfg := minhopConfig()
	cfg.Sweep.Partitions = sweep.Partitions{Policy: policy}
	b.comeUp(cfg)
	first, second := host(n, 5), host(n, 9)
	has := func() (keys [2]bool) {
		for i, at := range []int32{first.Node, second.Node} {
			end := first
			end.Node = at
			keys[i] = slices.Contains(b.Fabric.PKeys(end), mad.PKey(0x8001))
		}
		return keys
	}
	for _, step := range []struct {
		node int32
		desc string
		want [2]bool
	}{
		{first.Node, "", [2]bool{}},
		{first.Node, "render-07 mlx5_0", [2]bool{true, false}},
		{second.Node, "render-07 mlx5_1", [2]bool{true, true}}, // another adapter of the host
		{second.Node, "render-07 mlx5_0", [2]bool{}},           // one of them lies
		{second.Node, "render-08 mlx5_0", [2]bool{true, false}},
	} {
		if step.desc != "" {
			b.Fabric.SetNodeDescription(step.node, step.desc)
			b.pass(settling)
		}
		if got := has(); got != step.want {
			t.Errorf("%q: members %v, want %v", step.desc, got, step.want)
		}
	}
}
