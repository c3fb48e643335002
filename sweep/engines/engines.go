// Package engines is the routing engines that operators choose from, and the order in which they
// are tried.
package engines

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/dnup"
	"ibsm/routing/dor"
	"ibsm/routing/dragonfly"
	"ibsm/routing/file"
	"ibsm/routing/ftree"
	"ibsm/routing/hyperx"
	"ibsm/routing/lash"
	"ibsm/routing/minhop"
	"ibsm/routing/nue"
	"ibsm/routing/shape"
	"ibsm/routing/sssp"
	"ibsm/routing/torus"
	"ibsm/routing/tree"
	"ibsm/routing/updn"
	"ibsm/topo"
)

// Settings are the operator's settings of all engines. Files have been read.
type Settings struct {
	Balancing routing.Balancing // of minhop, updn, dnup, dor and file
	Updn      updn.Settings
	Dnup      dnup.Settings
	Ftree     ftree.Settings
	Lash      lash.Settings
	SSSP      sssp.Settings // of dfsssp, too
	Nue       nue.Settings
	Tree      tree.Settings
	Torus     *torus.Settings // torus_config; nil before it is read
	File      FileSettings
	Lists     Lists
}

// FileSettings are what the engine file reads: forwarding tables, or without them the lengths of
// ways; without both it routes as min-hop does. With tables the lengths do not matter. Tables with
// loops, or with a credit loop on all the lanes that there are, are used only if that is forced.
type FileSettings struct {
	Forced bool
	LFTs   *file.LFTs   // lfts_file
	Matrix *file.Matrix // lid_matrix_dump_file
}

func (s *FileSettings) route(b routing.Balancing) routing.Engine {
	switch {
	case s.LFTs != nil:
		return s.LFTs.Route
	case s.Matrix != nil:
		return s.Matrix.Engine(b)
	}
	return minhop.New(b)
}

// Engine is a routing engine with its settings.
type Engine struct {
	Name  string
	Route routing.Engine
	// NoCreditLoop is its promise that routes between hosts have no credit loop. Tables that break
	// it are not used.
	NoCreditLoop bool
	// Steady says that it changes tables that it has computed no more than it must, and returns to them:
	// routing.In.Base.
	Steady bool
	// Layers says that paths get SLs if its tables have a credit loop without.
	Layers bool
	// Force is the setting that permits tables with loops or credit loops; "" if there is none, or it is set.
	Force string

	// Unchosen says that the engine is not configured. It routes only a subnet that was not in use before, or one all
	// of whose routes are recomputed by an operator's order.
	Unchosen bool
	// Suits says that it stands for auto.
	Suits bool

	settings any // those of Route
	named    Named
	grouped  *Settings // those of Find, if its files name port groups; else nil
}

// Named are GUIDs in files of an engine.
type Named struct {
	Switches []mad.GUID // of nodes
	Ports    []mad.GUID // of end ports
}

// Unknown are the GUIDs in files of the engine that the subnet does not have, or has with another type, each once,
// ascending.
func (e *Engine) Unknown(t *topo.Topo) (u Named) {
	for _, guid := range e.named.Switches {
		if n := t.FindNode(guid); n == topo.None || t.Nodes[n].Switch == topo.None {
			u.Switches = append(u.Switches, guid)
		}
	}
	for _, guid := range e.named.Ports {
		if t.FindPort(guid) == topo.None {
			u.Ports = append(u.Ports, guid)
		}
	}
	u.Switches, u.Ports = distinct(u.Switches), distinct(u.Ports)
	return u
}

func distinct(guids []mad.GUID) []mad.GUID {
	slices.Sort(guids)
	return slices.Compact(guids)
}

// balanced are the GUIDs that settings of balancing name, after others.
func (s *Settings) balanced(switches ...mad.GUID) Named {
	b := &s.Balancing
	switches = slices.Clone(switches)
	for _, p := range b.Ignored {
		switches = append(switches, p.Switch)
	}
	for _, o := range b.Search {
		switches = append(switches, o.Switch)
	}
	for p := range b.Weights {
		switches = append(switches, p.Switch)
	}
	return Named{Switches: switches, Ports: b.First}
}

// nodes are those that an engine has in sets of end ports.
func nodes(switches []mad.GUID, sets ...map[mad.GUID]bool) Named {
	n := Named{Switches: switches}
	for _, set := range sets {
		n.Ports = append(n.Ports, slices.Sorted(maps.Keys(set))...)
	}
	return n
}

// table is the engines that there are.
var table = []struct {
	name string
	make func(*Settings) Engine
}{
	{"minhop", func(s *Settings) Engine {
		return Engine{Route: minhop.New(s.Balancing), settings: s.Balancing, named: s.balanced()}
	}},
	{"updn", func(s *Settings) Engine {
		updn := updn.New(s.Updn, s.Balancing)
		return Engine{Route: updn, NoCreditLoop: true, settings: []any{s.Updn, s.Balancing},
			named: s.balanced(slices.AppendSeq(slices.Clone(s.Updn.Roots), maps.Keys(s.Updn.IDs))...)}
	}},
	{"dnup", func(s *Settings) Engine {
		return Engine{Route: dnup.New(s.Dnup, s.Balancing), settings: []any{s.Dnup, s.Balancing}, named: s.balanced()}
	}},
	{"dor", func(s *Settings) Engine {
		return Engine{Route: dor.New(s.Balancing), settings: s.Balancing, named: s.balanced()}
	}},
	{"ftree", func(s *Settings) Engine {
		return Engine{Route: ftree.New(s.Ftree), NoCreditLoop: s.Ftree.ReverseHops == 0, settings: s.Ftree,
			named: nodes(s.Ftree.Roots, s.Ftree.Compute, s.Ftree.IO)}
	}},
	{"lash", func(s *Settings) Engine {
		return Engine{Route: lash.New(s.Lash), NoCreditLoop: true, settings: s.Lash}
	}},
	{"sssp", func(s *Settings) Engine {
		return Engine{Route: sssp.New(s.SSSP), settings: s.SSSP, named: nodes(nil, s.SSSP.Compute, s.SSSP.IO)}
	}},
	{"dfsssp", func(s *Settings) Engine {
		return Engine{Route: sssp.NewDeadlockFree(s.SSSP), NoCreditLoop: true, settings: s.SSSP,
			named: nodes(nil, s.SSSP.Compute, s.SSSP.IO)}
	}},
	{"torus-2QoS", func(s *Settings) Engine {
		return Engine{Route: torus.New(s.Torus), NoCreditLoop: true, settings: s.Torus,
			named: Named{Switches: s.Torus.Switches()}}
	}},
	{"nue", func(s *Settings) Engine {
		return Engine{Route: nue.New(s.Nue), NoCreditLoop: true, settings: s.Nue}
	}},
	{"tree", func(s *Settings) Engine {
		return Engine{Route: tree.New(s.Tree), NoCreditLoop: true, Steady: true, settings: s.Tree,
			named: nodes(nil, s.Tree.Compute, s.Tree.IO)}
	}},
	{"dragonfly", func(*Settings) Engine { return Engine{Route: routeDragonfly, NoCreditLoop: true} }},
	{"hyperx", func(*Settings) Engine { return Engine{Route: routeHyperX, NoCreditLoop: true} }},
	{"file", func(s *Settings) Engine {
		e := Engine{Route: s.File.route(s.Balancing), Layers: s.File.LFTs != nil, settings: []any{s.File, s.Balancing},
			named: s.balanced()}
		if e.Layers && !s.File.Forced {
			e.NoCreditLoop, e.Force = true, "lfts_file_force"
		}
		return e
	}},
}

// own are the names of engines that OpenSM does not have.
var own = []string{"tree", "dragonfly", "hyperx", Auto}

func routeDragonfly(ctx context.Context, in routing.In) (*routing.Tables, error) {
	d, err := shape.FindDragonfly(in.Topo)
	if err != nil {
		return nil, err
	}
	return dragonfly.Route(ctx, in, d)
}

func routeHyperX(ctx context.Context, in routing.In) (*routing.Tables, error) {
	x, err := shape.FindHyperX(in.Topo)
	if err != nil {
		return nil, err
	}
	return hyperx.Route(ctx, in, x)
}

// MinHop is the engine that is tried last, with the defaults of all settings.
var MinHop = Engine{Name: "minhop", Route: minhop.Route, settings: routing.Balancing{}}

// Names are the names of all engines.
func Names() (names []string) {
	for i := range table {
		names = append(names, table[i].name)
	}
	return append(names, Auto)
}

// OpenSM are the names of the engines that OpenSM has too.
func OpenSM() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return slices.Contains(own, name) })
}

// Find returns the engine with a name; ok is false if there is none.
func Find(name string, s *Settings) (e Engine, ok bool) {
	if name == Auto {
		own := s.ofSuited()
		e, ok = Engine{Route: auto(&own), NoCreditLoop: true, settings: own, named: s.balanced()}, true
	}
	for i := range table {
		if table[i].name == name {
			e, ok = table[i].make(s), true
		}
	}
	if e.Name = name; s.Lists.grouped() {
		e.grouped = s
	}
	return e, ok
}

// Chain is the engines of an operator's list in the order in which they are tried. It is not empty.
type Chain []Engine

// noFallback in a list says that min-hop is not tried where the list does not name it.
const noFallback = "no_fallback"

// Tried are the names of a list, with min-hop if it is tried last.
func Tried(list []string) []string {
	if slices.Contains(list, noFallback) || slices.Contains(list, MinHop.Name) {
		return list
	}
	return append(slices.Clone(list), MinHop.Name)
}

// New returns the chain of a list. As with OpenSM, min-hop comes last unless the list has no_fallback. The error says
// that the list has an unknown engine, or none.
func New(list []string, s *Settings) (c Chain, err error) {
	for _, name := range Tried(list) {
		if name == noFallback {
			continue
		}
		e, ok := Find(name, s)
		if !ok {
			return nil, fmt.Errorf("routing_engine %s: unknown engine %s", strings.Join(list, ","), name)
		}
		c = append(c, e)
	}
	if c == nil {
		return nil, fmt.Errorf("routing_engine %s: the list has no engine, and no_fallback forbids minhop",
			strings.Join(list, ","))
	}
	return c, nil
}

// Default is the chain if no engine is configured: auto, and min-hop, which also keeps and repairs the routes of a
// subnet in use.
func Default(s *Settings) Chain {
	suits, _ := Find(Auto, s)
	suits.Unchosen = true
	last, _ := Find(MinHop.Name, s)
	return Chain{suits, last}
}

// Chosen is the chain of the configured engines only.
func (c Chain) Chosen() (chosen Chain) {
	for i := range c {
		if !c[i].Unchosen {
			chosen = append(chosen, c[i])
		}
	}
	return chosen
}

// HasUnchosen reports whether some engines are not configured.
func (c Chain) HasUnchosen() bool {
	return slices.ContainsFunc(c, func(e Engine) bool { return e.Unchosen })
}

// Repairs is the engine that repaired routes of other managers count as, for they promise no more: the chain's
// min-hop, if it has one.
func (c Chain) Repairs() *Engine {
	for i := range c {
		if c[i].IsMinHop() {
			return &c[i]
		}
	}
	return &MinHop
}

// Equal reports whether two chains route every subnet alike.
func (c Chain) Equal(o Chain) bool {
	return slices.EqualFunc(c, o, func(a, b Engine) bool {
		return a.Name == b.Name && a.Unchosen == b.Unchosen && reflect.DeepEqual(a.settings, b.settings) &&
			a.lists().Equal(b.lists())
	})
}

// String is the names of the engines.
func (c Chain) String() string {
	var names []string
	for i := range c {
		names = append(names, c[i].Name)
	}
	return strings.Join(names, ",")
}

// IsMinHop reports whether an engine is min-hop: with it, routes that work are
// as good as its own.
func (e *Engine) IsMinHop() bool { return e.Name == MinHop.Name }

// Refusal is why an engine of a chain did not route a subnet.
type Refusal struct {
	Engine string
	Err    error
}

func (r Refusal) String() string { return r.Engine + ": " + r.Err.Error() }
