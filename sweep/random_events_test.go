package sweep

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/verify"
	"ibsm/sweep/engines"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// TestRandomEvents: links, switches and hosts are lost and return at random. Each sweep writes the blocks of forwarding
// tables that differ, and no others; what is proved from the proof before is what a full run finds; at most a tenth
// more entries change than must, as packets do not arrive by them, or would arrive by those of the beginning; and when
// everything is back, the tables are as at first. So it is with tables of the engine tree, and with adopted ones.
func TestRandomEvents(t *testing.T) {
	events := 40
	if os.Getenv("IBSM_PROOF") != "" {
		events = (10000 + 6) / 7
	}
	for i, c := range []struct {
		spec    string
		lmc     uint8
		adopted bool
	}{
		{"fattree:k=4", 0, false}, {"fattree:k=4", 2, false}, {"fattree:k=6,levels=2", 1, false},
		{"fattree:k=6,missing-links=3%,seed=2", 0, false},
		{"fattree:k=4", 0, true}, {"fattree:k=6,levels=2,missing-links=5%", 0, true}, {"two trees", 0, false},
	} {
		t.Run(c.spec, func(t *testing.T) {
			chain, err := engines.New([]string{"tree"}, &engines.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			n := (*net.Net)(nil)
			if c.spec == "two trees" {
				n = routingtest.TwoTrees(t)
				n.Profile = nettest.Profile(t)
			} else {
				n = nettest.Generate(t, c.spec)
			}
			cfg := Config{Engines: chain}
			if cfg.Settings.LMC.Value = c.lmc; c.lmc > 0 {
				cfg.Settings.LMC.Given = true
			}
			if c.adopted {
				cfg.Engines = engines.Chain{engines.MinHop}
			}
			b := newHarnessOf(t, n, cfg)
			b.heavy()
			if c.adopted {
				b.Abdicate()
				b.Configure(Config{Engines: engines.Default(&engines.Settings{})})
			}
			b.heavy()
			f := &eventful{harness: b, rng: rand.New(rand.NewPCG(uint64(i), 5)), first: b.lfts()}
			f.choose()
			back := 0
			for range events {
				f.event()
				f.mustFollow()
				if len(f.lost) == 0 {
					if back++; f.differ(f.first) > 0 {
						t.Fatalf("everything is back, and %d blocks are not as at first", f.differ(f.first))
					}
				}
			}
			t.Logf("%d events, %d blocks written, everything was back %d times", events, f.written, back)
			if back < events/20 || f.written < events {
				t.Error("too few")
			}
			if t.Logf("%d entries changed, %d had to", f.changed, f.must); f.changed*10 > f.must*11 {
				t.Error("too many")
			}
		})
	}
}

// eventful is a fabric in which something is lost or returns at each event.
type eventful struct {
	*harness
	rng   *rand.Rand
	first map[int32][]uint8
	links []net.End // between switches
	nodes []int32   // other than the manager's and its switch
	lost  []func()  // each brings back what was lost

	written int // blocks of forwarding tables
	changed int // entries of LIDs that some port has, at switches that are there
	must    int // of these, those that had to
}

// choose lists what can be lost.
func (b *eventful) choose() {
	own := b.at.At()
	leaf := b.net.Nodes[own.Node].Ports[own.Port].Peer.Node
	for i := range b.net.Nodes {
		node := &b.net.Nodes[i]
		if int32(i) != own.Node && int32(i) != leaf {
			b.nodes = append(b.nodes, int32(i))
		}
		for port := range node.Ports {
			if peer := node.Ports[port].Peer.Node; port > 0 && node.Type == mad.Switch && peer > int32(i) &&
				b.net.Nodes[peer].Type == mad.Switch {
				b.links = append(b.links, net.End{Node: int32(i), Port: uint8(port)})
			}
		}
	}
}

// event loses something, up to four at a time, or brings something back: now and then everything.
func (b *eventful) event() {
	switch what := b.rng.IntN(8); {
	case what == 0:
		for _, bring := range b.lost {
			bring()
		}
		b.lost = nil
	case what < 4 && len(b.lost) > 0 || len(b.lost) > 3:
		i := b.rng.IntN(len(b.lost))
		b.lost[i]()
		b.lost = slices.Delete(b.lost, i, i+1)
	case what < 6:
		at := b.links[b.rng.IntN(len(b.links))]
		b.fabric.LinkDown(at)
		b.lost = append(b.lost, func() { b.fabric.LinkUp(at) })
	default:
		node := b.nodes[b.rng.IntN(len(b.nodes))]
		b.fabric.NodeDown(node)
		b.lost = append(b.lost, func() { b.fabric.NodeUp(node) })
	}
}

// lfts are the blocks of forwarding tables that switches use: those up to LinearFDBTop.
func (b *harness) lfts() map[int32][]uint8 {
	rows := map[int32][]uint8{}
	for i := range int32(len(b.net.Nodes)) {
		if b.net.Nodes[i].Type == mad.Switch {
			row, info := b.fabric.LFT(i), b.fabric.SwitchInfo(i)
			rows[i] = slices.Clone(row[:min(len(row), routing.RowLen(info.LinearFDBTop()))])
		}
	}
	return rows
}

// differ is how many blocks of forwarding tables are others than before, or were not used before.
func (b *eventful) differ(before map[int32][]uint8) (blocks int) {
	for node, now := range b.lfts() {
		was := before[node]
		for from := 0; from < len(now); from += 64 {
			to := min(from+64, len(now))
			if len(was) < to || !slices.Equal(was[from:to], now[from:to]) {
				blocks++
			}
		}
	}
	return blocks
}

// mustFollow runs a sweep and compares what it does and finds with what it must, and then one that finds nothing to do.
func (b *eventful) mustFollow() {
	b.Helper()
	b.fabric.Advance(b.fabric.Now())
	for _, what := range []string{"after an event", "once more"} {
		before := b.lfts()
		out := b.heavy()
		written := 0
		for i := range b.sets {
			if b.sets[i].Attr == smp.AttrLinearForwardingTable {
				written++
			}
		}
		b.written += written
		b.count(out, before)
		if differ := b.differ(before); written != differ || what == "once more" && written > 0 {
			b.Fatalf("%s: %d blocks were written, %d differ", what, written, differ)
		}
		full, err := verify.Check(b.Context(), 0, out.Topo, out.LIDs, out.Tables, nil)
		if err != nil || full.Bad() > 0 || full.Routes != out.Report.Routes || full.Count != out.Report.Count ||
			full.Longest != out.Report.Longest || !slices.Equal(full.Good(), out.Report.Good()) {
			b.Fatalf("%s: %v: %d routes, the longest %d links, %v; all followed: %d, %d, %v", what, err,
				out.Report.Routes, out.Report.Longest, out.Report.Count, full.Routes, full.Longest, full.Count)
		}
		credit, err := creditloop.Find(b.Context(),
			creditloop.In{Topo: out.Topo, LIDs: out.LIDs, Forwarding: full.Forwarding(), SLs: out.Tables.SLs})
		if err != nil || (credit.Loop == nil) != (out.CreditLoop == nil) {
			b.Fatalf("%s: %v: the sweep found a credit loop of %d links, a full search one of %d", what, err,
				len(out.CreditLoop), len(credit.Loop))
		}
	}
}

// count counts entries that changed in a sweep, and those that had to.
func (b *eventful) count(out *Outcome, before map[int32][]uint8) {
	t, nodes := out.Topo, map[mad.GUID]int32{}
	for i := range b.net.Nodes {
		nodes[b.net.Nodes[i].GUID] = int32(i)
	}
	rows := func(of map[int32][]uint8) (rows [][]uint8) {
		for _, n := range t.Switches {
			rows = append(rows, of[nodes[t.Nodes[n].GUID]])
		}
		return rows
	}
	entry := func(row []uint8, lid int) uint8 {
		if lid < len(row) {
			return row[lid]
		}
		return routing.NoPath
	}
	tracer := routing.NewTracer(t, out.LIDs)
	arrives := func(rows [][]uint8, s topo.SwitchIdx, lid int) bool {
		home, egress := routing.Home(t, out.LIDs.PortOf(mad.LID(lid)))
		for range t.Switches {
			port := entry(rows[s], lid)
			if s == home {
				return port == egress
			}
			if s = tracer.Next(s, port); s == topo.None {
				return false
			}
		}
		return false
	}
	first, was, is := rows(b.first), rows(before), rows(b.lfts())
	for lid := 1; lid <= int(out.LIDs.Top); lid++ {
		if out.LIDs.PortOf(mad.LID(lid)) == topo.None {
			continue
		}
		for i := range t.Switches {
			s := topo.SwitchIdx(i)
			last := entry(was[s], lid)
			if entry(is[s], lid) == last {
				continue
			}
			b.changed++
			asFirst := arrives(first, s, lid)
			if asFirst && last != entry(first[s], lid) || !asFirst && !arrives(was, s, lid) && arrives(is, s, lid) {
				b.must++
			}
		}
	}
}
