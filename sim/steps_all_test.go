package sim_test

import (
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/routes"
	"ibsm/topo/net"
)

// everything is a fabric whose manager sets M_Keys, P_Keys, lanes, multicast tables and ARInfo.
type everything struct {
	*harness
	m       *watched
	members [2]*fabric.Station
}

func newEverything(t *testing.T, n *net.Net) *everything {
	// each packet is a step
	b := newHarness(t, n,
		fabric.Config{Seed: 1, TrainTime: time.Millisecond, Faults: fabric.Faults{Jitter: 2 * time.Microsecond},
			Caps: func(_ int32, node *net.Node, c *fabric.Caps) {
				if c.NVIDIA, c.OneVL, c.VLCap = true, true, 4; node.Type == mad.Switch {
					c.AR = fabric.AROn
				}
			}})
	cfg := registrarConfig()
	s := &cfg.Sweep.Settings
	s.MKey, s.MKeyProtect, s.AR = sweep.Given(repliesKey), sweep.Given(uint8(2)), routes.DisableAR
	s.QoS, s.Lanes = true, useOf(highLimit)
	cfg.Sweep.Partitions.Policy = tenantPolicy()
	e := &everything{harness: b, m: b.add(firstHost(n), cfg)}
	for i, h := range []int{2, 5} {
		st, err := b.Fabric.Attach(host(n, h))
		if err != nil {
			t.Fatal(err)
		}
		e.members[i] = st
	}
	return e
}

// join has the members join the broadcast group, again where they have lost their port.
func (e *everything) join() {
	for _, st := range e.members {
		e.joinBroadcast(st)
	}
	e.pass(replyTime)
}

// judge fails the test unless the fabric holds all that the manager sets.
func (e *everything) judge() {
	e.mustBeWhole(e.m)
	for _, wrong := range e.lanesWrong(highLimit) {
		e.Error(wrong)
	}
	for at := range e.Fabric.EndPorts() {
		pi, keys := e.Fabric.PortInfo(at), e.Fabric.PKeys(at)
		if pi.MKey() != repliesKey || pi.MKeyProtectBits() != 2 {
			e.Errorf("%v has M_Key %v/%d", at, pi.MKey(), pi.MKeyProtectBits())
		}
		if !slices.Contains(keys, mad.DefaultPKey) || !slices.Contains(keys, tenantKey|mad.FullMember) {
			e.Errorf("%v has P_Keys %v", at, keys)
		}
		if at.Port == 0 && e.Fabric.AdaptiveRoutes(at.Node) {
			e.Errorf("adaptive routing of %v is on", at)
		}
	}
	g, is := e.m.Registrar().State().Group(clientGroup(0))
	if !is {
		e.Error("there is no broadcast group")
		return
	}
	for i, st := range e.members {
		to := e.members[1-i].At()
		if spread := e.Fabric.ProbeMulticast(st.At(), g.MLID, mad.DefaultPKey, 0); !slices.Equal(spread.Delivered,
			[]net.End{to}) {
			e.Errorf("a packet from %v to MLID %v: %+v, want it at %v", st.At(), g.MLID, spread, to)
		}
	}
}

// TestRebootAtEachStepOfAll is TestRebootAtEachStep for a manager that writes each kind of table: a switch also reboots
// in the steps in which those Sets are out, and in those of joins.
func TestRebootAtEachStepOfAll(t *testing.T) {
	rebootAtEachStep(t, 150, func(t *testing.T, n *net.Net, later bool) stepped {
		e := newEverything(t, n)
		if later {
			e.pass(settling)
			e.join()
			e.Fabric.ResetStats()
			e.Fabric.Reboot(spine(n))
			for _, st := range e.members { // during the sweep, so that trees change, too
				e.joinBroadcast(st)
			}
		}
		judge := func() {
			e.join()
			e.judge()
		}
		undisturbed := func() {
			sets := map[mad.AttrID]bool{}
			for kind, n := range e.Fabric.Stats().SMPs {
				sets[kind.Attr] = sets[kind.Attr] || kind.Method == mad.MethodSet && n > 0
			}
			for _, attr := range []mad.AttrID{smp.AttrPortInfo, smp.AttrPKeyTable, smp.AttrSLtoVLMappingTable,
				smp.AttrVLArbitrationTable, smp.AttrLinearForwardingTable, smp.AttrARInfo,
				smp.AttrMulticastForwardingTable} {
				if !sets[attr] && (later || attr != smp.AttrMulticastForwardingTable) {
					t.Errorf("no Set of %s is out in any step", smp.AttrName(attr))
				}
			}
		}
		return stepped{e.m, judge, undisturbed}
	})
}
