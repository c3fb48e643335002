package sim_test

import (
	"fmt"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// silence is the answer of a device that gives none; others are statuses.
const silence mad.Status = 0xffff

// refusesSome makes a Defect of requests that a device does not obey.
func refusesSome(which func(p *mad.Packet) bool, answer mad.Status) fabric.Defect {
	return func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		if which(p) {
			return answer, answer != silence
		}
		return obey(), true
	}
}

// models are the devices that have a quirk: quirks come by model.
var models = map[string]func(n *net.Node, self bool) bool{
	"all switches":              func(n *net.Node, _ bool) bool { return n.Type == mad.Switch },
	"all hosts but the manager": func(n *net.Node, self bool) bool { return n.Type == mad.CA && !self },
}

// withModel is a fat tree in which all devices of a model have a defect.
func withModel(t *testing.T, model string, d fabric.Defect, more func(c *fabric.Caps)) *harness {
	n := nettest.Generate(t, "fattree:k=4")
	return newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, nd *net.Node, c *fabric.Caps) {
		if more != nil {
			more(c)
		}
		if models[model](nd, i == firstHost(n).Node) {
			c.Defect = d
		}
	}})
}

// mustServe fails the test unless all links are ACTIVE and every host reaches every other. It returns how many Sets are
// sent in two quiet minutes.
func (b *harness) mustServe(name string, cfg manager.Config) (sets uint64) {
	b.Helper()
	b.add(firstHost(b.net), cfg)
	b.pass(time.Minute)
	down, lost := 0, 0
	for at := range b.Fabric.Ports() {
		if info := b.Fabric.PortInfo(at); at.Port != 0 && b.Fabric.Peer(at) != net.NoEnd &&
			info.PortState() != smp.PortActive {
			down++
		}
	}
	for _, from := range b.endPorts() {
		for _, to := range b.endPorts() {
			if b.Fabric.NodeType(from.Node) == mad.Switch || b.Fabric.NodeType(to.Node) == mad.Switch {
				continue
			}
			info := b.Fabric.PortInfo(to)
			if _, end := b.Fabric.Probe(from, info.LID(), mad.DefaultPKey, 0, nil); end != fabric.Delivered {
				lost++
			}
		}
	}
	if down > 0 || lost > 0 {
		b.Errorf("%s: %d ports are not ACTIVE, %d pairs of hosts do not reach each other", name, down, lost)
	}
	before := b.sets()
	b.pass(2 * time.Minute)
	return b.sets() - before
}

// TestModelsWithoutBit31: devices that do not know bit 31 of PortInfo's modifier, which OpenSM 3.3.23 has in no Get,
// come up as under OpenSM: they may leave it unanswered, or refuse it with any status, in all requests or in Sets
// alone.
func TestModelsWithoutBit31(t *testing.T) {
	for model := range ordered(models) {
		for _, method := range []string{"Get and Set", "Set"} {
			for _, answer := range []mad.Status{silence, 0x04, 0x08, mad.StatusBadMethodAttr, mad.StatusBadField} {
				for _, extended := range []fabric.Extended{fabric.ExtendedWhenAsked, fabric.ExtendedAlways} {
					bit31 := func(p *mad.Packet) bool {
						return p.AttrID() == smp.AttrPortInfo && p.AttrMod()>>31 != 0 &&
							(method != "Set" || p.Method() == mad.MethodSet)
					}
					b := withModel(t, model, refusesSome(bit31, answer), func(c *fabric.Caps) { c.Extended = extended })
					name := fmt.Sprintf("%s, %s, answer %#x, extended speeds %d", model, method, uint16(answer),
						extended)
					if sets := b.mustServe(name, minhopConfig()); sets > 0 {
						t.Errorf("%s: %d Sets in two quiet minutes", name, sets)
					}
				}
			}
		}
	}
}

// TestModelsWithoutLanes: a device that does not take the tables of lanes comes up all the same, as OpenSM goes on to
// ACTIVE, and so does all that is behind it. After a few sweeps nothing is sent again.
func TestModelsWithoutLanes(t *testing.T) {
	for model := range ordered(models) {
		for _, attr := range []mad.AttrID{smp.AttrSLtoVLMappingTable, smp.AttrVLArbitrationTable} {
			for _, method := range []string{"Get and Set", "Set"} {
				for _, answer := range []mad.Status{silence, mad.StatusOK, 0x04, mad.StatusBadMethodAttr,
					mad.StatusBadField} {
					which := func(p *mad.Packet) bool {
						return p.AttrID() == attr && (method != "Set" || p.Method() == mad.MethodSet)
					}
					for _, optimized := range []uint8{0, 1} {
						b := withModel(t, model, refusesSome(which, answer), func(c *fabric.Caps) {
							c.OptimizedSLtoVL = optimized
						})
						name := fmt.Sprintf("%s, %s(%s), answer %#x, wildcards %d", model, method, smp.AttrName(attr),
							uint16(answer), optimized)
						if sets := b.mustServe(name, laneConfig(5, 4)); sets > 0 {
							t.Errorf("%s: %d Sets in two quiet minutes", name, sets)
						}
					}
				}
			}
		}
	}
}

// TestModelsWithoutWildcards: switches that do not do what a wildcard for SLtoVLMappingTables says get the tables one
// by one in the same sweep, also those that acknowledge it; and no wildcards any more. Other switches have one table
// read back for the first wildcard.
func TestModelsWithoutWildcards(t *testing.T) {
	const all = smp.SLtoVLAllIn | smp.SLtoVLAllOut
	for _, answer := range []mad.Status{silence, mad.StatusOK, 0x04, mad.StatusBadMethodAttr, mad.StatusBadField} {
		wildcards := 0
		which := func(p *mad.Packet) bool {
			is := p.AttrID() == smp.AttrSLtoVLMappingTable && p.Method() == mad.MethodSet && p.AttrMod()&all != 0
			if is {
				wildcards++
			}
			return is
		}
		b := withModel(t, "all switches", refusesSome(which, answer), func(c *fabric.Caps) {
			c.OptimizedSLtoVL, c.OneVL = 1, true
		})
		name := fmt.Sprintf("answer %#x", uint16(answer))
		if sets := b.mustServe(name, laneConfig(5, 4)); sets > 0 {
			t.Errorf("%s: %d Sets in two quiet minutes", name, sets)
		}
		if wrong := b.lanesWrong(4); len(wrong) > 0 {
			t.Errorf("%s: %d ports have other lanes than wanted", name, len(wrong))
		}
		if count := len(b.switches()); wildcards == 0 || answer != silence && wildcards > count {
			t.Errorf("%s: %d wildcards are sent to %d switches", name, wildcards, count)
		}
	}
	reads := 0
	b := withModel(t, "all switches", func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		if p.AttrID() == smp.AttrSLtoVLMappingTable && p.Method() == mad.MethodGet {
			reads++
		}
		return obey(), true
	}, func(c *fabric.Caps) { c.OptimizedSLtoVL, c.OneVL = 1, true })
	b.mustServe("sound", laneConfig(5, 4))
	if count := len(b.switches()); reads != count {
		t.Errorf("%d tables of %d sound switches are read back", reads, count)
	}
}

// switches are the switches of the fabric.
func (b *harness) switches() (list []net.End) {
	for at := range b.Fabric.Ports() {
		if at.Port == 0 && b.Fabric.NodeType(at.Node) == mad.Switch {
			list = append(list, at)
		}
	}
	return list
}

// TestGivenUp: what a device does not take is logged once and is among the faults of the view; it is sent again when
// the device has restarted, and when a person asks for a heavy sweep.
func TestGivenUp(t *testing.T) {
	sets, answer := 0, mad.Status(mad.StatusBadField)
	b := withModel(t, "all hosts but the manager", func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
		if p.AttrID() == smp.AttrVLArbitrationTable && p.Method() == mad.MethodSet {
			if sets++; answer != mad.StatusOK {
				return answer, true
			}
		}
		return obey(), true
	}, nil)
	m := b.comeUp(laneConfig(5, 4))
	hosts := 0
	for _, f := range m.View.Findings {
		if f.Kind == finding.GivenUp {
			hosts++
		}
	}
	if hosts != 15 || len(m.View.Findings) != hosts {
		t.Errorf("%d of %d faults are that an attribute is given up, of 15 hosts", hosts, len(m.View.Findings))
	}
	if logged := m.says("a device does not accept an attribute"); logged != 15 {
		t.Errorf("%d lines in the log", logged)
	}
	before := sets
	if m.sweep(manager.Heavy); sets == before {
		t.Error("a person has asked for a heavy sweep, and nothing is sent again")
	}
	b.pass(time.Minute)
	before = sets
	rebooted := host(b.net, 3)
	b.Fabric.Reboot(rebooted.Node)
	if b.pass(time.Minute); sets != before+2*2 {
		t.Errorf("%d Sets, and not 2 blocks in two sweeps, after a host has restarted", sets-before)
	}
	answer = mad.StatusOK
	m.sweep(manager.Heavy)
	if b.pass(time.Minute); len(m.View.Findings) > 0 {
		t.Errorf("all hosts take the attribute now: %v", m.View.Findings)
	}
}

// TestModelsWithoutGeneralInfo: a switch that does not answer GeneralInfo is asked in two walks, and not again, nor are
// others of its model, which quick walks have not asked a second time yet. A person who asks for a heavy sweep has them
// asked once more.
func TestModelsWithoutGeneralInfo(t *testing.T) {
	asked := map[mad.GUID]int{}
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(_ int32, nd *net.Node, c *fabric.Caps) {
		c.NVIDIA = true
		c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			if p.AttrID() != smp.AttrGeneralInfo {
				return obey(), true
			}
			asked[nd.GUID]++
			return 0, false
		}
	}})
	m := b.comeUp(minhopConfig())
	count := func() (total int) {
		for _, k := range asked {
			total += k
		}
		return total
	}
	const attempts = 4
	if got := count(); len(asked) != 20 || got != 20*attempts {
		t.Errorf("%d attempts to ask %d switches", got, len(asked))
	}
	before := count()
	for walk := 2; walk <= 4; walk++ {
		b.Fabric.Reboot(host(n, walk).Node)
		b.pass(time.Minute)
		if got := count(); walk == 2 && got != before+attempts || walk > 2 && got != before {
			t.Errorf("walk %d: %d attempts in all", walk, got)
		}
		before = count()
	}
	if m.sweep(manager.Heavy); count() == before {
		t.Error("a person has asked for a heavy sweep, and no switch is asked")
	}
}
