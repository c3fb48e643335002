// Package engines is the routing engines that operators choose from, and the order in which they
// are tried.
package engines

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/dnup"
	"ibsm/routing/dor"
	"ibsm/routing/file"
	"ibsm/routing/ftree"
	"ibsm/routing/lash"
	"ibsm/routing/minhop"
	"ibsm/routing/sssp"
	"ibsm/routing/updn"
	"ibsm/topo"
)

// Settings are the operator's settings of all engines. Files have been read.
type Settings struct {
	Updn  updn.Settings
	Dnup  dnup.Settings
	Ftree ftree.Settings
	Lash  lash.Settings
	SSSP  sssp.Settings // of dfsssp, too
	File  FileSettings
}

// FileSettings are what the engine file reads: forwarding tables, or without them the lengths of
// ways; without both it routes as min-hop does. With tables the lengths do not matter.
type FileSettings struct {
	LFTs   *file.LFTs   // lfts_file
	Matrix *file.Matrix // lid_matrix_dump_file
}

func (s *FileSettings) route() routing.Engine {
	switch {
	case s.LFTs != nil:
		return s.LFTs.Route
	case s.Matrix != nil:
		return s.Matrix.Route
	}
	return minhop.Route
}

// Engine is a routing engine with its settings.
type Engine struct {
	Name  string
	Route routing.Engine
	// NoCreditLoop is its promise that routes between hosts have no credit loop. Tables that break
	// it are not used.
	NoCreditLoop bool
	// InPlaceOf names chosen engines that this version does not have, where this one is used only
	// because of that. Then its routes must have no credit loop either.
	InPlaceOf string

	settings any // those of Route
	named    []mad.GUID
}

// Unknown are the GUIDs that a file of the engine names as switches, and that are no switches of a
// subnet, ascending.
func (e *Engine) Unknown(t *topo.Topo) (guids []mad.GUID) {
	for _, guid := range e.named {
		if n := t.FindNode(guid); n == topo.None || t.Nodes[n].Switch == topo.None {
			guids = append(guids, guid)
		}
	}
	return guids
}

// table is the engines that there are.
var table = []struct {
	name string
	make func(*Settings) Engine
}{
	{"minhop", func(*Settings) Engine { return MinHop }},
	{"updn", func(s *Settings) Engine {
		return Engine{Route: updn.New(s.Updn), NoCreditLoop: true, settings: s.Updn, named: s.Updn.Roots}
	}},
	{"dnup", func(s *Settings) Engine { return Engine{Route: dnup.New(s.Dnup), settings: s.Dnup} }},
	{"dor", func(*Settings) Engine { return Engine{Route: dor.Route} }},
	{"ftree", func(s *Settings) Engine {
		return Engine{Route: ftree.New(s.Ftree), NoCreditLoop: s.Ftree.ReverseHops == 0, settings: s.Ftree, named: s.Ftree.Roots}
	}},
	{"lash", func(s *Settings) Engine {
		return Engine{Route: lash.New(s.Lash), NoCreditLoop: true, settings: s.Lash}
	}},
	{"sssp", func(s *Settings) Engine { return Engine{Route: sssp.New(s.SSSP), settings: s.SSSP} }},
	{"dfsssp", func(s *Settings) Engine {
		return Engine{Route: sssp.NewDeadlockFree(s.SSSP), NoCreditLoop: true, settings: s.SSSP}
	}},
	{"file", func(s *Settings) Engine { return Engine{Route: s.File.route(), settings: s.File} }},
}

// MinHop is the engine that is tried last, and that repairs routes of other managers.
var MinHop = Engine{Name: "minhop", Route: minhop.Route}

// Names are those of all engines.
func Names() (names []string) {
	for i := range table {
		names = append(names, table[i].name)
	}
	return names
}

// Find is the engine of a name; ok is false if this version does not have it.
func Find(name string, s *Settings) (e Engine, ok bool) {
	for i := range table {
		if table[i].name == name {
			e = table[i].make(s)
			e.Name = name
			return e, true
		}
	}
	return e, false
}

// Chain is the engines of an operator's list that this version has, in the order in which they are
// tried. It is not empty.
type Chain []Engine

// noFallback in a list says that min-hop is not tried where the list does not name it.
const noFallback = "no_fallback"

// New is the chain of a list, and the engines of the list that this version does not have. As
// with OpenSM, min-hop comes last unless the list has no_fallback. The error says that nothing is
// left to try.
func New(list []string, s *Settings) (c Chain, missing []string, err error) {
	for _, name := range list {
		if e, ok := Find(name, s); ok {
			c = append(c, e)
		} else if name != noFallback {
			missing = append(missing, name)
		}
	}
	switch {
	case slices.Contains(list, noFallback):
		if len(c) == 0 {
			err = fmt.Errorf("routing_engine %s: this version has none of these, and no_fallback forbids minhop", strings.Join(list, ","))
		}
	case !slices.Contains(list, MinHop.Name):
		last := MinHop
		last.InPlaceOf = strings.Join(missing, ", ")
		c = append(c, last)
	}
	return c, missing, err
}

// Equal reports whether two chains route every subnet alike.
func (c Chain) Equal(o Chain) bool {
	return slices.EqualFunc(c, o, func(a, b Engine) bool {
		return a.Name == b.Name && a.InPlaceOf == b.InPlaceOf && reflect.DeepEqual(a.settings, b.settings)
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

// IsMinHop reports whether an engine is min-hop, also in place of others: with it, routes that work are
// as good as its own.
func (e *Engine) IsMinHop() bool { return e.Name == MinHop.Name }

// Refusal is why an engine of a chain did not route a subnet.
type Refusal struct {
	Engine string
	Err    error
}

func (r Refusal) String() string { return r.Engine + ": " + r.Err.Error() }
