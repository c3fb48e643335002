package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/topo"
	"ibsm/view"
)

// TestLogPortChanges: each port that has come or gone is logged once, in two lines, whatever
// lies between; the first view of a term has no changes.
func TestLogPortChanges(t *testing.T) {
	of := func(guids ...mad.GUID) *view.View {
		fabric := &topo.Topo{Nodes: make([]topo.Node, len(guids)), Ports: make([]topo.Port, len(guids))}
		for i, guid := range guids {
			fabric.Nodes[i] = topo.Node{Type: mad.CA, GUID: guid, First: topo.PortIdx(i), NumPorts: 1,
				Switch: topo.None}
			fabric.Ports[i] = topo.Port{GUID: guid, Num: 1, Node: topo.NodeIdx(i), Peer: topo.None}
			fabric.EndPorts = append(fabric.EndPorts, topo.PortIdx(i))
		}
		return &view.View{Topo: fabric, LIDs: topo.NewLIDs(make([]mad.LID, len(guids)), make([]uint8, len(guids))),
			Subnet: view.Subnet{Prefix: mad.DefaultPrefix}}
	}
	for _, c := range []struct {
		old, now   *view.View
		come, gone []mad.GUID
	}{
		{nil, of(1, 2), nil, nil},
		{of(1, 2), of(1, 2), nil, nil},
		{of(1, 2, 3, 4), of(4), nil, []mad.GUID{1, 2, 3}},
		{of(4), of(1, 2, 3, 4), []mad.GUID{1, 2, 3}, nil},
		{of(1, 2, 5), of(3, 4, 5, 6), []mad.GUID{3, 4, 6}, []mad.GUID{1, 2}},
		{of(1, 2, 5), of(), nil, []mad.GUID{1, 2, 5}},
	} {
		fx := newEffects(0)
		logPortChanges(fx, names.Map{}, c.old, c.now)
		lines := fx.logged()
		got := strings.Join(lines, "\n")
		for text, guids := range map[string][]mad.GUID{"Removed port": c.gone, "Discovered new port": c.come} {
			for _, guid := range guids {
				if strings.Count(got, fmt.Sprintf("%s with GUID:0x%016x", text, uint64(guid))) != 1 {
					t.Errorf("%s 0x%x is not logged once", text, uint64(guid))
				}
			}
		}
		if want := 2 * (len(c.come) + len(c.gone)); len(lines) != want {
			t.Errorf("%d lines, want %d", len(lines), want)
		}
		if t.Failed() {
			t.Log(got)
		}
	}
}

// TestLogPortChangesLimit: a device that is another multitude of nodes in each sweep does not fill the log.
func TestLogPortChangesLimit(t *testing.T) {
	many := &topo.Topo{}
	for i := range 2 * maxPortChanges {
		guid := mad.GUID(i + 1)
		many.Nodes = append(many.Nodes,
			topo.Node{Type: mad.CA, GUID: guid, First: topo.PortIdx(i), NumPorts: 1, Switch: topo.None})
		many.Ports = append(many.Ports, topo.Port{GUID: guid, Num: 1, Node: topo.NodeIdx(i), Peer: topo.None})
		many.EndPorts = append(many.EndPorts, topo.PortIdx(i))
	}
	lids := topo.NewLIDs(make([]mad.LID, len(many.Ports)), make([]uint8, len(many.Ports)))
	some, none := &view.View{Topo: many, LIDs: lids}, &view.View{Topo: &topo.Topo{}, LIDs: topo.NewLIDs(nil, nil)}
	for _, c := range [][2]*view.View{{none, some}, {some, none}} {
		fx := newEffects(0)
		logPortChanges(fx, names.Map{}, c[0], c[1])
		last := fx.actions[len(fx.actions)-1].(Log)
		if len(fx.actions) != 2*maxPortChanges+1 || !slices.Contains(last.Args, any(maxPortChanges)) {
			t.Errorf("%d lines, the last %v", len(fx.actions), last)
		}
	}
}

// TestLogSome: of what one device can cause any number of, so many are logged and the rest is counted.
func TestLogSome(t *testing.T) {
	for _, n := range []int{0, 1, maxLogged, maxLogged + 1, 1_000_000} {
		fx := newEffects(0)
		logSome(fx, warn, "node removed", make([]mad.GUID, n), func(g *mad.GUID) []any { return []any{"guid", *g} })
		want := n
		if n > maxLogged {
			want = maxLogged + 1
			if last := fx.actions[len(fx.actions)-1].(Log); !slices.Contains(last.Args, any(n-maxLogged)) {
				t.Errorf("the last of %d lines: %v", n, last)
			}
		}
		if len(fx.actions) != want {
			t.Errorf("%d lines of %d", len(fx.actions), n)
		}
	}
}
