package candidates

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/ftree"
	"ibsm/routing/routingtest"
	"ibsm/routing/tree"
	"ibsm/routing/updn"
	"ibsm/topo"
)

var fabrics = []struct {
	spec   string
	engine routing.Engine
}{
	{"fattree:k=6", tree.New(tree.Settings{})}, {"fattree:k=8,missing-links=5%,seed=3", tree.New(tree.Settings{})},
	{"fattree:k=8,levels=2,missing-links=10%", tree.New(tree.Settings{})},
	{"fattree:k=4,levels=4", tree.New(tree.Settings{})},
	{"fattree:k=8", ftree.New(ftree.Settings{})},
	{"fattree:k=6,missing-links=3%,seed=2", updn.New(updn.Settings{}, routing.Balancing{})},
}

// TestChoices: whatever port each switch takes for each LID, packets between all hosts arrive and have no credit loop.
// The engine's own port is one of them.
func TestChoices(t *testing.T) {
	seeds := 5
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 200
	}
	for _, f := range fabrics {
		t.Run(f.spec, func(t *testing.T) {
			in := routingtest.Problem(t, f.spec)
			tables, err := f.engine(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Find(t.Context(), 0, in.Topo, tables.Ranks)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Prove(t.Context(), 0); err != nil {
				t.Error(err)
			}
			for to := range in.Topo.Switches {
				one := FindTo(in.Topo, tables.Ranks, topo.SwitchIdx(to))
				for s := range in.Topo.Switches {
					if got, want := one.Ports(topo.SwitchIdx(s), topo.SwitchIdx(to)),
						c.Ports(topo.SwitchIdx(s), topo.SwitchIdx(to)); got != want {
						t.Fatalf("from switch %d to %d alone: %v, want %v", s, to, got, want)
					}
				}
			}
			several := 0
			for seed := range uint64(seeds) {
				rng, choice := rand.New(rand.NewPCG(seed, 1)), &routing.Tables{Top: in.LIDs.Top}
				for s := range in.Topo.Switches {
					row := slices.Repeat([]uint8{routing.NoPath}, routing.RowLen(in.LIDs.Top))
					for lid := mad.LID(1); lid <= in.LIDs.Top; lid++ {
						home, egress := routing.Home(in.Topo, in.LIDs.PortOf(lid))
						set := c.Ports(topo.SwitchIdx(s), home)
						ports := slices.Collect(set.All)
						switch {
						case home == topo.SwitchIdx(s):
							row[lid] = egress
						case len(ports) > 0:
							row[lid] = ports[rng.IntN(len(ports))]
							several += min(1, len(ports)-1)
							if !slices.Contains(ports, tables.LFT[s][lid]) && in.Topo.IsHost(in.LIDs.PortOf(lid)) &&
								leaf(in, s) {
								t.Fatalf("switch %d LID %d: the engine's port %d is not among %v", s, lid,
									tables.LFT[s][lid], ports)
							}
						}
					}
					choice.LFT = append(choice.LFT, row)
				}
				forwarding := routing.NewForwarding(in.Topo, in.LIDs, choice)
				r, err := creditloop.Find(t.Context(),
					creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: forwarding})
				if err != nil || r.Loop != nil {
					t.Fatalf("seed %d: %v, %s", seed, err, creditloop.Text(in.Topo, r.Loop, creditloop.Description))
				}
				for s := range in.Topo.Switches {
					for lid := mad.LID(1); lid <= in.LIDs.Top && leaf(in, s); lid++ {
						if _, arrive := forwarding.Links(topo.SwitchIdx(s), int(lid)); !arrive &&
							in.Topo.IsHost(in.LIDs.PortOf(lid)) {
							t.Fatalf("seed %d: packets from switch %d to LID %d do not arrive", seed, s, lid)
						}
					}
				}
			}
			if choice := c.Choice(); several == 0 || choice.Least < 1 || choice.Mean <= 1 {
				t.Errorf("%+v: there was no choice", choice)
			}
		})
	}
}

// leaf reports whether a switch has hosts.
func leaf(in routing.In, s int) bool {
	return slices.ContainsFunc(in.Topo.EndPorts, func(p topo.PortIdx) bool {
		return in.Topo.IsHost(p) && in.Topo.SwitchOf(p) == topo.SwitchIdx(s)
	})
}

// TestProve: the proof finds candidates that do not do: a switch that has lost them, and one that has another rank than
// they were found by.
func TestProve(t *testing.T) {
	in := routingtest.Problem(t, "fattree:k=4")
	tables, err := tree.New(tree.Settings{})(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	n := len(in.Topo.Switches)
	var found [2]int
	for s := range n {
		for what := range found {
			c, err := Find(t.Context(), 0, in.Topo, slices.Clone(tables.Ranks))
			if err != nil {
				t.Fatal(err)
			}
			if what == 0 {
				_, by := c.graph.Edges(topo.SwitchIdx(s))
				clear(by)
			} else {
				c.ranks[s] = -c.ranks[s] // as if what is above it were below
			}
			if c.Prove(t.Context(), 0) != nil {
				found[what]++
			}
		}
	}
	if found[0] < n || found[1] < n/2 {
		t.Errorf("of %d switches without candidates %d were found, and %d with another rank", n, found[0], found[1])
	}
}
