package engines

import (
	"context"
	"errors"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/rails"
	"ibsm/routing/shape"
	"ibsm/routing/torus"
	"ibsm/topo"
)

// Auto is the name that, in a list of engines, stands for the engines that suit the topology.
const Auto = "auto"

// suited are the engines for each kind of fabric, the best first. All promise that there is no credit loop, and the
// last one routes every subnet that is not split.
var suited = map[shape.Kind][]string{
	shape.KindSingle:  {MinHop.Name},
	shape.KindFatTree: {"tree", "dfsssp", "nue"},
	shape.KindTorus:   {"torus-2QoS", "dfsssp", "nue"},
	shape.KindMesh:    {"torus-2QoS", "dfsssp", "nue"},

	shape.KindHypercube:     {"hyperx", "dfsssp", "nue"},
	shape.KindHyperX:        {"hyperx", "dfsssp", "nue"},
	shape.KindDragonfly:     {"dragonfly", "dfsssp", "nue"},
	shape.KindDragonflyPlus: {"dragonfly", "dfsssp", "nue"},
}

// anyKind are those for other kinds.
var anyKind = []string{"dfsssp", "nue"}

// For is a chain in which auto is replaced by the engines that suit a subnet. seen says what kind of fabric that is,
// and why; it is "" without auto.
func (c Chain) For(t *topo.Topo) (fitted Chain, seen string) {
	for i := range c {
		e := c[i]
		if e.Name != Auto {
			fitted = append(fitted, e)
			continue
		}
		found := shape.Find(t)
		if seen = found.Seen; found.Kind == shape.KindFatTree {
			if r := rails.Find(t); len(r.Rails) > 0 {
				seen += "; " + r.Seen
			}
		}
		s := e.settings.(Settings)
		if found.Grid != nil {
			s.Torus, _ = torus.FromGrid(found.Grid) // without settings the engine refuses the subnet
		}
		names := suited[found.Kind]
		if names == nil {
			names = anyKind
		}
		for _, name := range names {
			engine, _ := Find(name, &s)
			engine.Suits = true
			fitted = append(fitted, engine)
		}
	}
	return fitted, seen
}

// ofSuited are the settings of the engines that can suit a subnet.
func (s *Settings) ofSuited() Settings {
	return Settings{Balancing: s.Balancing, SSSP: s.SSSP, Nue: s.Nue, Tree: s.Tree}
}

// MustHaveNoLoop returns an error if routes between hosts have a credit loop on the lanes of their SLs, or that of ctx.
func MustHaveNoLoop(ctx context.Context, in routing.In, tables *routing.Tables) error {
	r, err := creditloop.Find(ctx, creditloop.In{
		Topo: in.Topo, LIDs: in.LIDs, Forwarding: routing.NewForwarding(in.Topo, in.LIDs, tables), SLs: tables.SLs,
		Maps: tables.SLs.Lanes(), Traffic: creditloop.BetweenHosts, Workers: in.Workers,
	})
	if err == nil && r.Loop != nil {
		err = errors.New("its routes have a credit loop: " + creditloop.Text(in.Topo, r.Loop, creditloop.Description))
	}
	return err
}
