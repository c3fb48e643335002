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
)

// proof says that tests run in their full sizes.
func proof() bool { return os.Getenv("IBSM_PROOF") == "1" }

// living is a fabric that changes, and its tables, which are repaired each time.
type living struct {
	*routingtest.Living
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
	f := &living{Living: routingtest.NewLiving(t, fabric, lmc)}
	if f.tables, err = engine(t.Context(), routing.In{Topo: f.Topo, LIDs: f.LIDs}); err != nil {
		t.Fatal(err)
	}
	f.judge(t)
	return f
}

// judge finds out what a manager knows of the tables.
func (f *living) judge(t testing.TB) {
	t.Helper()
	var err error
	if f.report, err = verify.Check(t.Context(), 0, f.Topo, f.LIDs, f.tables, f.report); err != nil {
		t.Fatal(err)
	}
	if f.proof, err = creditloop.Find(t.Context(), search(f.Topo, f.LIDs, f.tables)); err != nil {
		t.Fatal(err)
	}
}

func search(t *topo.Topo, l *topo.LIDs, tables *routing.Tables) creditloop.In {
	return creditloop.In{Topo: t, LIDs: l, Forwarding: routing.NewForwarding(t, l, tables), SLs: tables.SLs}
}

// change damages the fabric, and returns what to repair.
func (f *living) change(t testing.TB, rng *rand.Rand) In {
	was := f.Topo
	f.Damage(rng)
	f.Walk(t)
	found := f.Found(was, f.tables)
	return In{
		Topo: f.Topo, LIDs: f.LIDs, Tables: found, Proof: f.proof,
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
func walk(t *topo.Topo, l *topo.LIDs, rows [][]uint8, s topo.SwitchIdx, lid mad.LID) (path []topo.PortIdx,
	arrives bool) {
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
		t.Fatalf("%d of %d routes or entries are bad: %v, such as %v", report.Bad(), report.Routes, report.Count,
			report.Examples)
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
