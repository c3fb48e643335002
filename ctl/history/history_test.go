package history

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/registry"
	"ibsm/topo"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// TestLogLimits: many large Steps do not grow a Log beyond what it may hold, and it shows
// what it has forgotten.
func TestLogLimits(t *testing.T) {
	l := NewLog()
	v := &view.View{Gen: 1, Topo: &topo.Topo{}}
	l.Begin(v, time.Unix(0, 0))
	const steps = 3 * MaxSteps
	for gen := uint64(2); gen <= steps; gen++ {
		s := Step{From: gen - 1, Gen: gen, Last: gen, Changes: make([]Change, 500)}
		for i := range s.Changes {
			s.Changes[i] = Change{Kind: States, Node: mad.GUID(i + 1), To: "Active"}
		}
		s.Counts[States] = len(s.Changes) + 3
		l.Add(&s, &Losses{}, time.Unix(int64(gen), 0))
	}
	l.Add(&Step{From: steps, Gen: steps + 1, Last: steps + 1}, &Losses{}, time.Unix(1, 0)) // nothing has changed
	kept, missing := 0, 0
	for _, s := range l.Steps() {
		kept += len(s.Changes)
		missing += s.Missing()
	}
	if len(l.Steps()) != MaxSteps || kept > MaxKept || kept != l.kept || kept+missing != MaxSteps*503 {
		t.Errorf("%d steps with %d changes (%d counted), %d missing", len(l.Steps()), kept, l.kept, missing)
	}
	oldest := uint64(steps - MaxSteps)
	for _, c := range []struct {
		from, to uint64
		steps    int
		err      error
	}{
		{steps - 1, steps, 1, nil}, {steps, steps + 1, 0, nil}, {oldest, steps, MaxSteps, nil}, {5, 5, 0, ErrUnknown},
		{oldest - 1, steps, 0, ErrUnknown}, {steps, steps + 2, 0, ErrUnknown}, {steps, steps - 1, 0, ErrUnknown},
	} {
		got, _, err := l.Between(c.from, c.to)
		if !errors.Is(err, c.err) || len(got) != c.steps {
			t.Errorf("%d to %d: %d steps, %v", c.from, c.to, len(got), err)
		}
	}
	l.Begin(&view.View{Gen: steps + 5, Topo: &topo.Topo{}}, time.Unix(9, 0))
	if _, _, err := l.Between(steps, steps+5); !errors.Is(err, ErrGap) {
		t.Errorf("over a time without mastership: %v", err)
	}
	l.Begin(v, time.Unix(10, 0)) // another manager
	if n := len(l.Steps()); n != 1 || l.kept != 0 {
		t.Errorf("%d steps of another manager", n)
	}
}

// TestPastLimits: losses without end are counted, not kept.
func TestPastLimits(t *testing.T) {
	p := NewPast()
	l := &Losses{}
	for i := range MaxLost + 10 {
		l.Links = append(l.Links, LostLink{Here: End{mad.GUID(i), 1}})
		l.Gone = append(l.Gone, GoneNode{GUID: mad.GUID(i)})
	}
	p.Take(l, time.Unix(1, 0))
	if len(p.links) != MaxLost || len(p.nodes) != MaxGone || p.More != 10+MaxLost+10-MaxGone {
		t.Errorf("%d links, %d nodes, %d more", len(p.links), len(p.nodes), p.More)
	}
}

// TestGroups compares what is registered.
func TestGroups(t *testing.T) {
	v := &view.View{Gen: 1, Topo: &topo.Topo{Ports: make([]topo.Port, 1)}, LIDs: &topo.LIDs{}}
	r := registry.New()
	apply := func(c registry.Change) {
		if err := r.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	mgid := func(n byte) mad.GID { return mad.GID{0xff, 0x12, 15: n} }
	join := func(n, port byte) {
		apply(registry.PutMember{
			Member: registry.Member{MGID: mgid(n), Port: mad.GID{0xfe, 0x80, 15: port}, JoinState: registry.FullMember},
		})
	}
	for n := byte(1); n <= 3; n++ {
		apply(registry.PutGroup{Group: registry.Group{MGID: mgid(n), MLID: 0xc000 + mad.LID(n), PKey: mad.DefaultPKey,
			MTU: mad.MTU2048, Rate: 3}})
		join(n, 1)
	}
	old := r.Freeze()
	apply(registry.DeleteGroup{MGID: mgid(1)})
	join(2, 7)
	apply(registry.PutGroup{Group: registry.Group{MGID: mgid(9), MLID: 0xc009, PKey: mad.DefaultPKey, MTU: mad.MTU2048,
		Rate: 3}})
	step, _ := Compare(nil, Moment{v, old}, Moment{v, r.Freeze()})
	want := []Change{
		{Kind: Groups, Name: mgid(1).String(), From: "1 members"},
		{Kind: Groups, Name: mgid(2).String(), From: "1 members", To: "2 members"},
		{Kind: Groups, Name: mgid(9).String(), To: "0 members"},
	}
	if !slices.Equal(step.Changes, want) {
		t.Errorf("%+v", step.Changes)
	}
}

// TestPeers: a text that ends with a port of another node says which one, so that a client can give the node its own
// name.
func TestPeers(t *testing.T) {
	whole, none := viewtest.New(t, "fattree:k=4,levels=2", 1), viewtest.New(t, "fattree:k=2,levels=2", 2)
	given := names.Map{}
	for _, n := range whole.Topo.Switches {
		given[whole.Topo.Nodes[n].GUID] = "rack " + whole.Topo.Nodes[n].GUID.String()
	}
	gone, _ := Compare(given, Moment{whole, nil}, Moment{none, nil})
	came, _ := Compare(given, Moment{none, nil}, Moment{whole, nil})
	ends := map[Kind]int{}
	check := func(c *Change, text string, p *Peer) {
		switch {
		case p == nil && strings.Contains(text, " port "):
			t.Errorf("no port with %+v", c)
		case p == nil:
		case given[p.Node] != "" && p.Name != given[p.Node],
			!strings.HasSuffix(text, p.Name+" port "+strconv.Itoa(int(p.Port))):
			t.Errorf("%q ends with %+v", text, p)
		default:
			ends[c.Kind]++
		}
	}
	for _, s := range []*Step{gone, came} {
		for i := range s.Changes {
			c := &s.Changes[i]
			check(c, c.From, c.FromPeer)
			check(c, c.To, c.ToPeer)
		}
	}
	if ends[Nodes] < 8 || ends[Links] < 8 {
		t.Errorf("ports by kind of change: %v", ends)
	}
}
