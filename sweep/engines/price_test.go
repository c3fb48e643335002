package engines

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/routing/routingtest"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
)

// TestFarWorse: tables are far worse by their fullest link, by shifts and by unused links alone.
func TestFarWorse(t *testing.T) {
	than := quality.Sample{Links: 100, Unused: 4, Fullest: 50, Shift: 2}
	for _, c := range []struct {
		of   quality.Sample
		want bool
	}{
		{quality.Sample{Links: 100, Unused: 4, Fullest: 100, Shift: 4}, false},
		{quality.Sample{Links: 100, Unused: 4, Fullest: 101, Shift: 1}, true},
		{quality.Sample{Links: 100, Unused: 4, Fullest: 20, Shift: 4.1}, true},
		{quality.Sample{Links: 100, Unused: 14, Fullest: 20, Shift: 1}, false}, // not more than a tenth of the links
		{quality.Sample{Links: 100, Unused: 15, Fullest: 20, Shift: 1}, true},
	} {
		if got := isFarWorse(&c.of, &than); got != c.want {
			t.Errorf("%+v: %t, want %t", c.of, got, c.want)
		}
	}
}

// TestPriceOfAuto: where only a poor engine is free of credit loops, one line says so, with figures, and what would
// change it. Nobody is asked twice.
func TestPriceOfAuto(t *testing.T) {
	in := routingtest.Problem(t, "torus:dims=8x8x2,hosts=2,missing-links=4%")
	in.Lanes = slices.Repeat([]uint8{1}, len(in.Topo.Ports))
	e, _ := Find(Auto, &Settings{})
	tables, err := e.Route(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	given := 0
	for _, note := range tables.Notes {
		if strings.Contains(note, "with minhop, whose routes have a credit loop, ") &&
			strings.Contains(note,
				"more lanes on all links, the missing cables, or another engine (-R) can change that") {
			given++
		}
	}
	if given != 1 {
		t.Errorf("%q", tables.Notes)
	}
	chain, _ := Chain{e}.For(in.Topo)
	asked := map[string]int{}
	last := len(chain) - 1
	best, _, err := Price(t.Context(), in, chain, last, tables, func(e *Engine) (*routing.Tables, error) {
		asked[e.Name]++
		return nil, errors.New("no")
	})
	if err != nil || best.Tables != tables || len(asked) != 1 || asked["minhop"] != 1 {
		t.Errorf("%v, asked %v", err, asked)
	}
}

// atEdges is a fabric of 8x8 switches of which only those of one row and of one column have hosts.
func atEdges(t *testing.T, spec string) routing.In {
	t.Helper()
	n := nettest.Generate(t, spec)
	from := net.NoEnd
	for i := range n.Nodes {
		p := &n.Nodes[i].Ports[1]
		switch sw := p.Peer.Node; {
		case n.Nodes[i].Type == mad.Switch:
		case sw%8 > 0 && sw/8 > 0:
			n.Nodes[sw].Ports[p.Peer.Port].Peer, p.Peer = net.NoEnd, net.NoEnd
		case from == net.NoEnd:
			from = net.End{Node: int32(i), Port: 1}
		}
	}
	found, err := netwalk.Topo(n, from)
	if err != nil {
		t.Fatal(err)
	}
	return routing.In{Topo: found, LIDs: topo.SequentialLIDs(found, 0),
		Lanes: slices.Repeat([]uint8{8}, len(found.Ports))}
}

// TestPriceOfBest: where routes of the engine that suits the subnet best are far worse, here because one dimension
// comes after the other and all lead over the corner, auto takes those of another one, and says so.
func TestPriceOfBest(t *testing.T) {
	for spec, names := range map[string][2]string{"mesh:dims=8x8,hosts=4": {"torus-2QoS", "dfsssp"},
		"hyperx:dims=8x8,hosts=2": {"hyperx", "minhop"}} {
		in := atEdges(t, spec)
		e, _ := Find(Auto, &Settings{})
		chain, _ := Chain{e}.For(in.Topo)
		poor, err := route(t.Context(), in, &chain[0])
		if err != nil || chain[0].Name != names[0] {
			t.Fatalf("%s: %v, %v", spec, chain, err)
		}
		tables, err := e.Route(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if err = MustHaveNoLoop(t.Context(), in, tables); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
		was, _ := quality.NewSample(t.Context(), in, poor.LFT)
		is, err := quality.NewSample(t.Context(), in, tables.LFT)
		if err != nil || was.Fullest <= 2*is.Fullest {
			t.Errorf("%s: %+v with %s, %+v with auto", spec, was, names[0], is)
		}
		if !slices.ContainsFunc(tables.Notes, func(note string) bool {
			return strings.HasPrefix(note, "with "+names[0]+" the busiest link has ") &&
				strings.Contains(note, "with "+names[1]+" the busiest link has ")
		}) {
			t.Errorf("%s: %q", spec, tables.Notes)
		}
	}
}

// TestPriceOfSound: sound fabrics keep the engine that suits them best, and no other is asked. For fat trees min-hop is
// not computed either.
func TestPriceOfSound(t *testing.T) {
	for _, c := range []struct {
		spec, engine string
		near         bool // to what hardly any tables can improve on
	}{
		{"fattree:k=8", "tree", true}, {"fattree:k=8,levels=2", "tree", true},
		{"fattree:k=8,missing-links=5%", "tree", true}, {"pods", "tree", false},
		{"torus:dims=6x6x4,hosts=2", "torus-2QoS", false}, {"mesh:dims=6x6,hosts=2", "torus-2QoS", false},
		{"hypercube:dim=5", "hyperx", true}, {"hyperx:dims=5x5", "hyperx", true},
		{"dragonfly", "dragonfly", false}, {"dragonfly+", "dragonfly", false},
	} {
		in := routingtest.Problem(t, c.spec)
		in.Lanes = slices.Repeat([]uint8{8}, len(in.Topo.Ports))
		chain, _ := Chain{must(Find(Auto, &Settings{}))}.For(in.Topo)
		tables, err := route(t.Context(), in, &chain[0])
		if err != nil {
			t.Fatalf("%s: %v", c.spec, err)
		}
		best, notes, err := Price(t.Context(), in, chain, 0, tables, func(e *Engine) (*routing.Tables, error) {
			t.Errorf("%s: %s is asked", c.spec, e.Name)
			return nil, errors.New("no")
		})
		if err != nil || best.Engine.Name != c.engine || len(notes) > 0 {
			t.Errorf("%s: %s, %q, %v", c.spec, best.Engine.Name, notes, err)
		}
		figures, _ := quality.NewSample(t.Context(), in, tables.LFT)
		least, err := quality.Least(t.Context(), in)
		if err != nil || c.near && isFarWorse(figures, least) {
			t.Errorf("%s: %+v, at least %+v, %v", c.spec, figures, least, err)
		}
	}
}

// BenchmarkPrice is the comparison on whole fat trees of 1,458 and 11,664 hosts, on one core.
func BenchmarkPrice(b *testing.B) {
	for _, spec := range []string{"fattree:k=18", "fattree:k=36"} {
		b.Run(spec, func(b *testing.B) {
			in := routingtest.Problem(b, spec)
			in.Workers = 1
			chain, _ := Chain{must(Find(Auto, &Settings{}))}.For(in.Topo)
			tables, err := chain[0].Route(b.Context(), in)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, _, err := Price(b.Context(), in, chain, 0, tables, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
