package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// laneKinds are kinds of port that differ in their lanes.
var laneKinds = []string{"VLCap 1", "VLCap 2", "VLCap 3", "VLCap 5", "no VL arbitration", "one VL in use",
	"VLHighLimit of before", "no SLMapping", "wildcards of SLtoVL"}

// newLaneCase is a fabric of ports with different lanes, and settings of all kinds of port.
func newLaneCase(t *testing.T, seed uint64) *fieldCase {
	r := rand.New(rand.NewPCG(seed, 0x905))
	c := &fieldCase{t: t, seed: seed, settings: laneSettings(r)}
	n := c.net()
	kinds, arb := make([]*portKind, len(n.Nodes)), make([][2]uint8, len(n.Nodes))
	c.kinds = make([]string, len(n.Nodes))
	for i := range kinds {
		if r.IntN(2) == 0 {
			name := laneKinds[r.IntN(len(laneKinds))]
			kinds[i] = &portKinds[slices.IndexFunc(portKinds, func(k portKind) bool { return k.name == name })]
			c.kinds[i] = name
			if kinds[i].on != 0 && n.Nodes[i].Type != mad.Switch {
				kinds[i], c.kinds[i] = nil, ""
			}
		}
		arb[i] = [2]uint8{uint8(r.IntN(65)), []uint8{8, 32, 33, 64}[r.IntN(4)]}
	}
	c.caps = func(i int32, _ *net.Node, caps *fabric.Caps) {
		d := &device{caps: caps}
		caps.VLArbHighCap, caps.VLArbLowCap = arb[i][0], arb[i][1]
		if kinds[i] != nil {
			kinds[i].make(d)
		}
		caps.PowerUp = func(num uint8, info *smp.PortInfo) {
			for _, change := range d.powerUp {
				change(num, info)
			}
		}
	}
	return c
}

// laneSettings are settings of all kinds of port, some of which are absent.
func laneSettings(r *rand.Rand) settings {
	s := settings{"qos": "TRUE", "max_op_vls": strconv.Itoa(1 + r.IntN(5)), "impose": "max_op_vls",
		"use_optimized_slvl": among("TRUE", "FALSE")(r)}
	list := func(n int, entry func() string) string {
		var entries []string
		for range n {
			entries = append(entries, entry())
		}
		return strings.Join(entries, ",")
	}
	turns := func() string {
		return list(1+r.IntN(32), func() string { return fmt.Sprintf("%d:%d", r.IntN(15), r.IntN(256)) })
	}
	for _, kind := range []string{"qos_", "qos_ca_", "qos_sw0_", "qos_swe_", "qos_rtr_"} {
		if r.IntN(2) == 0 {
			s[kind+"high_limit"] = strconv.Itoa(r.IntN(256))
		}
		if r.IntN(2) == 0 {
			s[kind+"vlarb_high"] = turns()
		}
		if r.IntN(2) == 0 {
			s[kind+"vlarb_low"] = turns()
		}
		if r.IntN(2) == 0 {
			s[kind+"sl2vl"] = list(16, func() string { return strconv.Itoa(r.IntN(16)) })
		}
		if r.IntN(4) == 0 {
			s[kind+"max_vls"] = strconv.Itoa(1 + r.IntN(15))
		}
	}
	return s
}

// lanes are what the ports that have a link hold of lanes.
func (m *managed) lanes() map[item]string {
	held := map[item]string{}
	if s := m.settled(); s != nil {
		for i, v := range s.held {
			if i.attr == smp.AttrSLtoVLMappingTable || i.attr == smp.AttrVLArbitrationTable ||
				i.part == "VLHighLimit" || i.part == "OperationalVLs" {
				if place := s.ports[i.at].place; place != unconnected && place != basePort0 {
					held[i] = v
				}
			}
		}
	}
	return held
}

// laneSets are the tables of lanes that were set where nothing is listed. After OpenSM, that is at a takeover, port 0
// may be.
func (m *managed) laneSets(takeover bool) (sets []item) {
	var all []item
	m.server.Do(func(*fabric.Fabric) { all = slices.Clone(m.fields.all) })
	for _, i := range all {
		if (i.attr == smp.AttrSLtoVLMappingTable || i.attr == smp.AttrVLArbitrationTable) &&
			!(takeover && m.listed(i, m)) {
			sets = append(sets, i)
		}
	}
	return sets
}

// sameLanes waits until two managers have left the same, but for the differences listed.
func (c *fieldCase) sameLanes(theirs, ours *managed) {
	c.t.Helper()
	for late := time.Now().Add(patience()); ; {
		a, b := theirs.lanes(), ours.lanes()
		var wrong []string
		for i := range union(a, b) {
			if a[i] != b[i] && !c.listed(i, ours) {
				wrong = append(wrong, fmt.Sprintf("%v %d[%d] %q: %s with OpenSM, %s with ibsm", smp.AttrName(i.attr),
					i.at.Node, i.at.Port, i.part, a[i], b[i]))
			}
		}
		if len(a) > 0 && len(b) > 0 && wrong == nil {
			return
		}
		if time.Now().After(late) {
			slices.Sort(wrong)
			c.t.Fatalf("%d differences:\n%s\n%s%q", len(wrong), strings.Join(wrong[:min(len(wrong), 20)], "\n"),
				c.settings, c.kinds)
		}
		// OpenSM computes tables by the OperationalVLs of the sweep before.
		theirs.manager.skip()
		theirs.manager.signal(syscall.SIGHUP)
		theirs.manager.await("SUBNET UP")
	}
}

// listed reports whether a difference is one of docs/fields.md or docs/opensm.md.
func (c *fieldCase) listed(i item, m *managed) (yes bool) {
	m.server.Do(func(f *fabric.Fabric) {
		if f.NodeType(i.at.Node) != mad.Switch || i.at.Port != 0 || i.attr != smp.AttrSLtoVLMappingTable {
			return
		}
		info := f.SwitchInfo(i.at.Node)
		yes = info.OptimizedSLtoVLMappingProgramming() != 0 && c.settings["use_optimized_slvl"] == "TRUE"
		// OpenSM writes the table from port 0 to port 0 twice in a sweep, and a table of zeroes only in some sweeps.
		// Its Set can be a wildcard for all incoming ports.
		yes = yes || (strings.HasSuffix(i.part, "port 0") || i.part == "wildcard 2") &&
			c.settings["qos_sw0_sl2vl"] != c.settings["qos_swe_sl2vl"]
	})
	return yes
}

// TestQoS: with the same settings OpenSM and ibsm leave the same SLtoVLMappingTables, VL
// arbitration, VLHighLimit and OperationalVLs at every port. A sweep more, a restart and a takeover
// from OpenSM send no Set of the tables.
func TestQoS(t *testing.T) {
	to := uint64(2)
	if proof() {
		to = 300
	}
	for seed := range to {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			c := newLaneCase(t, seed)
			theirs := c.manage(nil, "ibsim-run", "opensm")
			ours := c.manage(map[string]string{"guid2lid": theirs.read("guid2lid")}, program(t, "ibsm"), "--ibsim")
			defer func() { ours.manager.kill() }()
			c.sameLanes(theirs, ours)
			quiet := func(what string, m *managed, act func()) {
				t.Helper()
				m.happen(func(*fabric.Fabric) {})
				m.manager.skip()
				act()
				m.manager.await("SUBNET UP")
				for m.settled() == nil {
				}
				if sets := m.laneSets(what == "a takeover"); len(sets) > 0 {
					t.Errorf("%s: %d tables of lanes are set, such as %v", what, len(sets), sets[0])
				}
			}
			quiet("another sweep", ours, func() { ours.manager.signal(syscall.SIGHUP) })
			quiet("a restart", ours, func() {
				ours.manager.kill()
				ours.start(program(t, "ibsm"), "--ibsim")
			})
			theirs.manager.kill()
			quiet("a takeover", theirs, func() { theirs.start(program(t, "ibsm"), "--ibsim") })
			theirs.manager.kill()
		})
	}
}
