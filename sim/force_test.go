package sim_test

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// enabledMasks are what a port may train to: widths, speeds, extended speeds.
type enabledMasks [3]uint8

func masks(pi *smp.PortInfo) enabledMasks {
	return enabledMasks{uint8(pi.LinkWidthEnabled()), pi.LinkSpeedEnabled(), pi.LinkSpeedExtEnabled()}
}

// The wanted values of what ports enable are written once to those that do not have it, with no link taken
// down. A link that would not come up again with it is spared, and logged once.
func TestForcedLinks(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	slow := host(n, 5) // whose cable has one lane
	n.Nodes[slow.Node].Ports[slow.Port].Width = mad.Width1x
	peer := n.Nodes[slow.Node].Ports[slow.Port].Peer
	n.Nodes[peer.Node].Ports[peer.Port].Width = mad.Width1x
	b := newHarness(t, n, fabric.Config{Seed: 1})
	cfg := minhopConfig()
	m := b.comeUp(cfg)
	all := enabledMasks{uint8(smp.LinkWidthAll), smp.LinkSpeedAll, smp.LinkSpeedExtAll}
	for _, c := range []struct {
		name  string
		force enabledMasks
		spare bool // the slow link
	}{
		{"slow", enabledMasks{uint8(mad.Width1x), 1, 1}, false},
		{"no extended speed", enabledMasks{0, 3, smp.LinkSpeedExtNone}, false},
		{"all", all, false},
		{"four lanes", enabledMasks{uint8(mad.Width4x), 0, 0}, true},
		{"nothing", enabledMasks{}, false},
	} {
		s := &cfg.Sweep.Settings
		s.LinkWidth, s.LinkSpeed, s.LinkSpeedExt = mad.LinkWidth(c.force[0]), c.force[1], c.force[2]
		want, changed := map[net.End]enabledMasks{}, uint64(0)
		for at := range b.Fabric.Ports() {
			pi := b.Fabric.PortInfo(at)
			is, to := masks(&pi), masks(&pi)
			supported := enabledMasks{uint8(pi.LinkWidthSupported()), pi.LinkSpeedSupported(),
				pi.LinkSpeedExtSupported()}
			for i, f := range c.force {
				switch {
				case f == 0 || pi.PortState() <= smp.PortDown || c.spare && (at == slow || at == peer) ||
					at.Port == 0 && i == 2:
				case f == all[i]:
					to[i] = supported[i]
				default:
					to[i] = f
				}
			}
			if want[at] = to; to != is {
				changed++
			}
		}
		sets := b.sets()
		b.Configure(m.Manager, cfg)
		b.pass(settling)
		b.Ask(m.Manager, manager.Heavy)
		b.pass(settling)
		for at, w := range want {
			if pi := b.Fabric.PortInfo(at); masks(&pi) != w {
				t.Errorf("%s: port %v has %v enabled, want %v", c.name, at, masks(&pi), w)
			}
		}
		if now := b.sets() - sets; now != changed {
			t.Errorf("%s: %d Sets for %d ports", c.name, now, changed)
		}
		b.mustBeWhole(m)
	}
	if logged := m.says("WARN", "links keep their width and speed", "detail 1, such as"); logged != 1 {
		t.Errorf("the link that is spared was logged %d times", logged)
	}
	b.Fabric.LinkDown(slow)
	b.pass(settling)
	b.Fabric.LinkUp(slow)
	b.pass(settling)
	b.mustBeWhole(m)
}

// A port that does not accept the wanted width or speed is written twice, and then left alone.
func TestForcedLinksRefused(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	stubborn := host(n, 5)
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, _ *net.Node, c *fabric.Caps) {
		if i != stubborn.Node {
			return
		}
		c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			if p.Method() == mad.MethodSet && p.AttrID() == smp.AttrPortInfo {
				(*smp.PortInfo)(p.Data()).SetLinkWidthEnabled(0)
			}
			return obey(), true
		}
	}})
	cfg := minhopConfig()
	cfg.Sweep.Settings.LinkWidth = mad.Width1x
	m := b.comeUp(cfg)
	for range 3 {
		b.Ask(m.Manager, manager.Heavy)
		b.pass(settling)
	}
	sets := b.sets()
	for range 3 {
		b.Ask(m.Manager, manager.Heavy)
		b.pass(settling)
	}
	if now := b.sets() - sets; now > 0 || m.says("LinkWidthEnabled") != 1 {
		t.Errorf("%d Sets go on, logged %d times", now, m.says("LinkWidthEnabled"))
	}
	b.mustBeWhole(m)
}

// A port that answers 0 for fields that were sent as "no change" does not count as refusing.
func TestEchoedNoChange(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(_ int32, _ *net.Node, c *fabric.Caps) {
		c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
			asked := smp.PortInfo(*p.Data())
			status := obey()
			if p.Method() == mad.MethodSet && p.AttrID() == smp.AttrPortInfo {
				answer := (*smp.PortInfo)(p.Data())
				answer.SetLinkWidthEnabled(asked.LinkWidthEnabled())
				answer.SetLinkSpeedEnabled(asked.LinkSpeedEnabled())
				answer.SetLinkSpeedExtEnabled(asked.LinkSpeedExtEnabled())
			}
			return status, true
		}
	}})
	m := b.comeUp(minhopConfig())
	if logged := m.says("LinkWidthEnabled") + m.says("LinkSpeedEnabled"); logged > 0 {
		t.Errorf("logged %d times", logged)
	}
	b.mustBeWhole(m)
}
