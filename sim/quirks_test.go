package sim_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/routing/lanes"
	"ibsm/sim/fabric"
	"ibsm/sim/fabric/fabrictest"
	"ibsm/sweep"
	"ibsm/topo/net"
)

// quirkConfig is the manager of a setup: the settings are those of quirkConf in cmd/ibfabric.
func quirkConfig(t *testing.T, setup string) manager.Config {
	cfg := minhopConfig()
	s := &cfg.Sweep.Settings
	switch setup {
	case "qos":
		limit := uint8(4)
		s.QoS, s.Lanes = true, lanes.NewUses(lanes.Settings{
			HighLimit: &limit,
			High:      []lanes.Turn{{VL: 0, Weight: 4}},
			Low:       []lanes.Turn{{VL: 0, Weight: 4}, {VL: 1, Weight: 11}, {VL: 2, Weight: 12}},
			SLtoVL:    []uint8{0, 1, 2, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1},
		}, [lanes.Kinds]lanes.Settings{})
	case "partitions":
		policy, errors, _ := partitions.Parse("partitions.conf", []byte(fabrictest.QuirkPartitions)).Policy()
		if len(errors) > 0 {
			t.Fatal(errors)
		}
		cfg.Sweep.Partitions = sweep.Partitions{Policy: policy}
	case "m_keys":
		s.MKey, s.MKeyProtect, s.MKeyLease = sweep.Given(fabrictest.QuirkMKey), sweep.Given(uint8(2)),
			sweep.Given(uint16(60))
	}
	return cfg
}

// isQuirk reports whether a cell has one of some attributes, and one of some answers.
func isQuirk(c fabrictest.QuirkCell, method mad.Method, attrs []mad.AttrID, answers ...fabric.Answer) bool {
	return c.Method == method && slices.Contains(attrs, c.Attr) && slices.Contains(answers, c.Answer)
}

// fewerPackets reports whether fewer packets may arrive than under OpenSM.
//
// OpenSM takes the zeroes of an error for the PortInfo of an adapter, and brings its port up: ibsm leaves a port alone
// of which it does not know what it holds. Where a port does not take the P_Keys of the policy, OpenSM lets it keep
// those that it has, and so talk to whom it should not: ibsm does not activate it (docs/partitions.md).
func fewerPackets(c fabrictest.QuirkCell) bool {
	return isQuirk(c, mad.MethodGet, []mad.AttrID{smp.AttrPortInfo}, fabric.AnswersStatus) && c.Model != "switches" ||
		c.Setup == "partitions" && isQuirk(c, mad.MethodSet, []mad.AttrID{smp.AttrPKeyTable}, fabric.NoAnswer,
			fabric.AnswersStatus, fabric.Ignores)
}

// quirkShare is the share of the cells that are tested without IBSM_PROOF.
const quirkShare = 8

// TestQuirks: where all devices of a model have a quirk, at least as many packets arrive as under OpenSM, and after the
// third sweep nothing is set any more.
func TestQuirks(t *testing.T) {
	table := fabrictest.ReadQuirkTable(t, "testdata/opensm_quirks.txt")
	cells := fabrictest.QuirkCells()
	if len(table) != len(cells) {
		t.Errorf("the table of OpenSM has %d cells, not %d", len(table), len(cells))
	}
	if os.Getenv("IBSM_PROOF") == "" {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
		cells = cells[:len(cells)/quirkShare]
	}
	for _, c := range cells {
		quirkCell(t, c, table[c])
	}
}

// thirdSweep is when the third sweep has ended.
const thirdSweep = 35 * time.Second

// quirkCell runs a manager on the fabric of a cell. opensm is how many packets arrive under OpenSM.
func quirkCell(t *testing.T, c fabrictest.QuirkCell, opensm int) {
	n, asked := fabrictest.QuirkNet(t), 0
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, _ *net.Node, caps *fabric.Caps) {
		if c.Has(n, i) {
			defect := c.Defect()
			caps.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
				if p.Method() == c.Method && p.AttrID() == c.Attr {
					asked++
				}
				return defect(p, obey)
			}
		}
	}})
	m := b.add(fabrictest.Manager(n), quirkConfig(t, c.Setup))
	if c.Multicasts() {
		b.joinAll(m)
	}
	b.pass(thirdSweep)
	ups, before := len(m.ups), b.sets()
	switch {
	case asked > 0:
		b.pass(time.Minute)
	case c.Multicasts() && c.Method == mad.MethodSet:
		t.Errorf("%v: no multicast table was set", c)
	}
	sets := b.sets() - before
	arrive, all := c.Pairs(b.Fabric)
	fewer, again := arrive < opensm && !fewerPackets(c), sets > 0
	if fewer || again {
		t.Errorf("%v: %d of %d packets arrive, under OpenSM %d; %d Sets in a minute, heavy sweeps %d, then %d", c,
			arrive, all, opensm, sets, ups, len(m.ups)-ups)
	}
}

// joinAll has all adapters but the manager's be members of the first group.
func (b *harness) joinAll(m *watched) {
	c := choir{harness: b, m: m, reg: registry.New()}
	c.group(0, 0)
	for _, at := range fabrictest.Members(b.Fabric) {
		c.join(0, at, registry.FullMember)
	}
	b.Register(m.Manager, c.reg.Freeze())
}

// multicastFindings are those of multicast in the view of a manager, by node.
func (w *watched) multicastFindings(kind finding.Kind) map[mad.GUID]bool {
	all := map[mad.GUID]bool{}
	for i := range w.View.Findings {
		if f := &w.View.Findings[i]; f.Kind == kind {
			all[f.Node] = true
		}
	}
	return all
}

// TestMulticastNotKept: where no switch keeps the multicast table that it acknowledges, the subnet is up, each switch
// that trees need has a finding, and in two quiet minutes nothing is sent; a rest later the switches are tried again.
// Where they keep it then, or the second time at once, packets arrive, and the findings end without a sweep.
func TestMulticastNotKept(t *testing.T) {
	n := fabrictest.QuirkNet(t)
	quirk := fabrictest.QuirkCell{Setup: "plain", Model: "switches", Quirk: fabric.Quirk{Method: mad.MethodSet,
		Attr: smp.AttrMulticastForwardingTable, Answer: fabric.Acknowledges}}
	for _, second := range []bool{true, false} {
		b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, _ *net.Node, caps *fabric.Caps) {
			if quirk.Has(n, i) {
				defect, sent := quirk.Defect(), false
				caps.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
					if second && sent {
						return obey(), true
					}
					sent = sent || p.Method() == quirk.Method && p.AttrID() == quirk.Attr
					return defect(p, obey)
				}
			}
		}})
		m := b.add(fabrictest.Manager(n), quirkConfig(t, quirk.Setup))
		b.joinAll(m)
		b.pass(thirdSweep)
		ups, avoided := len(m.ups), m.multicastFindings(finding.MFTAvoided)
		if m.ups[ups-1].Errors {
			t.Errorf("the last sweep ended with errors: %+v", m.ups[ups-1])
		}
		if !second {
			// the four leaves, and the spine that connects them
			if len(avoided) != 5 || len(m.multicastFindings(finding.Unreached)) == 0 {
				t.Errorf("findings %v", m.View.Findings)
			}
			before := b.sets()
			b.pass(2 * time.Minute)
			if sets := b.sets() - before; sets > 0 {
				t.Errorf("%d Sets in two quiet minutes", sets)
			}
			b.pass(time.Minute)
			// once more to five switches that are used again, and to the leaf where two members are
			if sets := b.sets() - before; sets == 0 || sets > 2*5+1 {
				t.Errorf("%d Sets in the minute in which the rest ends", sets)
			}
			for i := range n.Nodes {
				b.Fabric.SetDefect(int32(i), nil)
			}
			b.pass(3 * time.Minute)
		}
		for _, kind := range []finding.Kind{finding.MFTsIncomplete, finding.MFTAvoided, finding.Unreached} {
			if all := m.multicastFindings(kind); len(all) > 0 {
				t.Errorf("%s: %v", kind.Name(), all)
			}
		}
		if arrive, all := quirk.Pairs(b.Fabric); arrive < all || len(m.ups) != ups {
			t.Errorf("%d of %d packets arrive; heavy sweeps %d, then %d", arrive, all, ups, len(m.ups)-ups)
		}
	}
}
