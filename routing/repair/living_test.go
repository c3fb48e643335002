package repair

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// proof says that tests run in their full sizes.
func proof() bool { return os.Getenv("IBSM_PROOF") == "1" }

// cable is two ends.
type cable [2]net.End

// living is a fabric that loses cables and gets them back, and its tables, which are repaired each time.
type living struct {
	fabric *net.Net
	lost   []cable
	base   map[mad.GUID]mad.LID // of end ports
	lmc    uint8
	next   mad.LID // to give to a port

	topo   *topo.Topo
	lids   *topo.LIDs
	tables *routing.Tables
	report *verify.Report
	proof  *creditloop.Report
}

func newLiving(t testing.TB, spec string, lmc uint8, engine routing.Engine) *living {
	t.Helper()
	fabric, err := net.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	f := &living{fabric: fabric, base: map[mad.GUID]mad.LID{}, lmc: lmc, next: 1 << lmc}
	f.walk(t)
	if f.tables, err = engine(t.Context(), routing.In{Topo: f.topo, LIDs: f.lids}); err != nil {
		t.Fatal(err)
	}
	f.judge(t)
	return f
}

// self is the port of the manager, on the first host.
func (f *living) self() net.End {
	return net.End{Node: int32(slices.IndexFunc(f.fabric.Nodes, func(n net.Node) bool { return n.Type != mad.Switch })), Port: 1}
}

// walk finds the subnet, and gives each port that is new LIDs; others keep theirs, and so do those
// that are not there.
func (f *living) walk(t testing.TB) {
	t.Helper()
	var err error
	if f.topo, err = netwalk.Topo(f.fabric, f.self()); err != nil {
		t.Fatal(err)
	}
	base, lmc := make([]mad.LID, len(f.topo.Ports)), make([]uint8, len(f.topo.Ports))
	for _, p := range f.topo.EndPorts {
		guid := f.topo.Ports[p].GUID
		if f.base[guid] == 0 {
			f.base[guid] = f.next
			f.next += 1 << f.lmc
		}
		base[p] = f.base[guid]
		if f.topo.Nodes[f.topo.Ports[p].Node].Type != mad.Switch {
			lmc[p] = f.lmc
		}
	}
	f.lids = topo.NewLIDs(base, lmc)
}

// judge finds out what a manager knows of the tables.
func (f *living) judge(t testing.TB) {
	t.Helper()
	var err error
	if f.report, err = verify.Check(t.Context(), 0, f.topo, f.lids, f.tables, f.report); err != nil {
		t.Fatal(err)
	}
	if f.proof, err = creditloop.Find(t.Context(), search(f.topo, f.lids, f.tables)); err != nil {
		t.Fatal(err)
	}
}

func search(t *topo.Topo, l *topo.LIDs, tables *routing.Tables) creditloop.In {
	return creditloop.In{Topo: t, LIDs: l, Forwarding: routing.NewForwarding(t, l, tables), SLs: tables.SLs}
}

// cables are those between switches, or of hosts other than the first.
func (f *living) cables(hosts bool) (all []cable) {
	first := true
	for i := range f.fabric.Nodes {
		node := &f.fabric.Nodes[i]
		isHost := node.Type != mad.Switch
		if isHost && first {
			first = false
			continue
		}
		for num := 1; num < len(node.Ports); num++ {
			peer := node.Ports[num].Peer
			if peer.Node < 0 || isHost != hosts {
				continue
			}
			if !hosts && (f.fabric.Nodes[peer.Node].Type != mad.Switch || peer.Node < int32(i)) {
				continue
			}
			all = append(all, cable{{Node: int32(i), Port: uint8(num)}, peer})
		}
	}
	return all
}

func (f *living) cut(c cable) {
	for _, end := range c {
		f.fabric.Nodes[end.Node].Ports[end.Port].Peer = net.NoEnd
	}
	f.lost = append(f.lost, c)
}

// restore returns a cable that was lost.
func (f *living) restore(i int) {
	c := f.lost[i]
	f.fabric.Nodes[c[0].Node].Ports[c[0].Port].Peer = c[1]
	f.fabric.Nodes[c[1].Node].Ports[c[1].Port].Peer = c[0]
	f.lost = slices.Delete(f.lost, i, i+1)
}

// damage loses or returns some cables at random.
func (f *living) damage(rng *rand.Rand) {
	for range 1 + rng.IntN(3) {
		cables, hosts := f.cables(false), f.cables(true)
		switch what := rng.IntN(7); {
		case what < 3 && len(cables) > 0:
			f.cut(cables[rng.IntN(len(cables))])
		case what == 3 && len(hosts) > 0:
			f.cut(hosts[rng.IntN(len(hosts))])
		case what == 4 && len(cables) > 0: // all cables of a switch to others
			at := cables[rng.IntN(len(cables))][rng.IntN(2)].Node
			for _, c := range cables {
				if c[0].Node == at || c[1].Node == at {
					f.cut(c)
				}
			}
		default:
			for i := len(f.lost) - 1; i >= 0; i-- {
				if rng.IntN(2) == 0 {
					f.restore(i)
				}
			}
		}
	}
}

// found are the tables as a manager finds them after the subnet has changed: those of switches that are
// still there.
func (f *living) found(was *topo.Topo) *routing.Tables {
	found := &routing.Tables{LFT: make([][]uint8, len(f.topo.Switches)), Top: f.lids.Top, SLs: f.tables.SLs}
	for s, n := range f.topo.Switches {
		if old := was.FindNode(f.topo.Nodes[n].GUID); old != topo.None {
			found.LFT[s] = f.tables.LFT[was.Nodes[old].Switch]
		}
	}
	return found
}

// change damages the fabric, and returns what to repair.
func (f *living) change(t testing.TB, rng *rand.Rand) In {
	was := f.topo
	f.damage(rng)
	f.walk(t)
	found := f.found(was)
	return In{
		Topo: f.topo, LIDs: f.lids, Tables: found, Proof: f.proof,
		Was: f.report.Forwarding(), Good: f.report.Good(),
	}
}

func mustRepair(t testing.TB, in In) *Result {
	t.Helper()
	r, err := Tables(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// walk follows one route: the switches passed, up to the owner's, and whether it
// arrives there.
func walk(t *topo.Topo, l *topo.LIDs, rows [][]uint8, s topo.SwitchIdx, lid mad.LID) (path []topo.PortIdx, arrives bool) {
	owner := l.PortOf(lid)
	for len(path) <= len(t.Switches) {
		node := t.Switches[s]
		if int(lid) >= len(rows[s]) || rows[s][lid] > t.Nodes[node].NumPorts {
			return path, false
		}
		out := t.Port(node, rows[s][lid])
		if out == owner {
			return path, true
		}
		path = append(path, out)
		peer := t.Ports[out].Peer
		if peer == owner {
			return path, true
		}
		if peer == topo.None || t.Nodes[t.Ports[peer].Node].Type != mad.Switch {
			return path, false
		}
		s = t.SwitchOf(peer)
	}
	return path, false
}

// mustVerify wants every packet to arrive that can.
func mustVerify(t *testing.T, in In, r *Result) {
	t.Helper()
	report, err := verify.Check(t.Context(), 0, in.Topo, in.LIDs, r.Tables, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Bad() != 0 {
		t.Fatalf("%d of %d routes or entries are bad: %v, such as %v", report.Bad(), report.Routes, report.Count, report.Examples)
	}
}

// mustKeep wants what worked to stay, and everything to arrive that can. It counts entries.
func mustKeep(t *testing.T, in In, r *Result) (kept, repaired int) {
	t.Helper()
	mustVerify(t, in, r)
	for s := range r.Tables.LFT {
		changed := false
		for lid, owner := range in.LIDs.Owner {
			if owner == topo.None {
				continue
			}
			was := uint8(routing.NoPath)
			if lid < len(in.Tables.LFT[s]) {
				was = in.Tables.LFT[s][lid]
			}
			is := r.Tables.LFT[s][lid]
			changed = changed || is != was
			if _, worked := walk(in.Topo, in.LIDs, in.Tables.LFT, topo.SwitchIdx(s), mad.LID(lid)); !worked {
				repaired++
			} else if kept++; is != was {
				t.Errorf("switch %d LID %d: port %d worked and became %d", s, lid, was, is)
			}
		}
		same := len(in.Tables.LFT[s]) > 0 && &in.Tables.LFT[s][0] == &r.Tables.LFT[s][0]
		if !same && slices.Equal(in.Tables.LFT[s], r.Tables.LFT[s]) {
			t.Errorf("switch %d: a row that has not changed is another", s)
		}
		if same && changed {
			t.Errorf("switch %d: a row of the tables before was written", s)
		}
	}
	return kept, repaired
}

// subnet is for the naive search.
func subnet(in In, tables *routing.Tables) *routingtest.Subnet {
	return &routingtest.Subnet{Topo: in.Topo, LIDs: in.LIDs, Tables: tables, Maps: in.Maps}
}
