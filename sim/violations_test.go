package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// A host that goes on showing wrong M_Keys to switches loses its link, at the end of the switch, if m_key_violation_limit says so: not one that
// only another host names, not a standby, and not one that shows M_Keys of the subnet.
func TestMKeyViolations(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	const limit = 10
	at := host(n, 9)
	near := n.Nodes[at.Node].Ports[at.Port].Peer
	wrong := func(*harness) mad.MKey { return 0xbad }
	for _, c := range []struct {
		name     string
		limit    uint32
		times    int
		pause    time.Duration // between two packets
		key      func(*harness) mad.MKey
		standby  bool
		forged   bool
		disabled bool
	}{
		{name: "as many", limit: limit, times: limit, key: wrong, disabled: true},
		{name: "fewer", limit: limit, times: limit - 1, key: wrong},
		{name: "not within a minute", limit: limit, times: 2 * limit, pause: 10 * time.Second, key: wrong},
		{name: "not wanted", times: 3 * limit, key: wrong},
		{name: "the word of another host", limit: limit, times: 3 * limit, forged: true},
		{name: "a standby", limit: limit, times: 3 * limit, key: wrong, standby: true},
		{name: "an M_Key of the next number", limit: limit, times: 3 * limit, key: func(b *harness) mad.MKey {
			p := subnetSecret.Ports(2)
			return mad.MKey(p.Of(uint64(b.agentGUID(near))))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newHarness(t, n, fabric.Config{Seed: 1})
			cfg := portMKeys(1)
			cfg.Sweep.Settings.MKeyViolations = c.limit
			m := b.comeUp(cfg)
			var send func(d mad.Datagram)
			switch {
			case c.standby:
				cfg.Sweep.Restored = b.kept(at)
				standby := b.add(at, cfg)
				b.pass(settling)
				if standby.last() != smp.Standby {
					t.Fatalf("it is %v", standby.last())
				}
				send = func(d mad.Datagram) { standby.Station.Send([]mad.Datagram{d}) }
			case c.forged:
				i := b.intrude(host(n, 5))
				victim := b.Fabric.PortInfo(at)
				send = func(d mad.Datagram) {
					i.trap(firstHost(n), smp.TrapBadMKey, int(d.Packet.TID()), func(n *smp.Notice) { n.BadMKey().SetLID(victim.LID()) })
				}
			default:
				i := b.intrude(at)
				send = func(d mad.Datagram) { i.station.Send([]mad.Datagram{d}) }
			}
			for k := range c.times {
				var d mad.Datagram
				d.LID = mad.PermissiveLID
				route, _ := (&mad.Route{}).Then(at.Port)
				d.Packet.SetDirected(&route, mad.MethodGet, smp.AttrSwitchInfo, 0)
				d.Packet.SetTID(mad.TID(k + 1))
				if c.key != nil {
					d.Packet.SetMKey(c.key(b))
				}
				send(d)
				b.pass(max(c.pause, 1500*time.Millisecond))
			}
			b.pass(settling)
			if info := b.Fabric.PortInfo(near); (info.PortPhysicalState() == smp.PhysDisabled) != c.disabled {
				t.Errorf("the port of the switch is %v", info.PortPhysicalState())
			}
			want := 0
			if c.disabled {
				want = 1
			}
			if logged := m.says("a host shows wrong M_Keys and its link is disabled"); logged != want {
				t.Errorf("logged %d times", logged)
			}
		})
	}
}
