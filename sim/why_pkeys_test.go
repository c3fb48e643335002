package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ibsm/ctl/ctltest"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// dropped are the rows of traps that a manager has received, as if their last one came now.
func (w *managed) dropped() []manager.DroppedPackets {
	stats := w.m.Core.Stats()
	rows := slices.Clone(stats.DroppedPackets())
	for i := range rows {
		rows[i].Last = time.Now().Unix()
	}
	return rows
}

// enforces is the setting for checks in these directions.
func enforces(in, out bool) partitions.Enforcement {
	switch {
	case in && out:
		return partitions.EnforceBoth
	case in:
		return partitions.EnforceIn
	}
	return partitions.EnforceOut
}

// TestWhyPKeys: another manager has left a P_Key table that drops packets of a host. The diagnosis of the host, of
// the host and another one, and of the subnet name the switch port that drops them, by its table and by the trap.
func TestWhyPKeys(t *testing.T) {
	const far = 0 // the manager's host
	full, limited, other := []mad.PKey{0xffff}, []mad.PKey{0x7fff}, []mad.PKey{0x8005}
	for name, c := range ordered(map[string]struct {
		host, table []mad.PKey // of the host, and of the switch ports that check
		in, out     bool       // what these check
		between     bool       // they are between switches, and not in front of the host
		noFile      bool       // the manager has no partition file: it reads no table of a switch port
		works       bool
		from        bool // the packets that are dropped come from the host
		text        string
	}{
		"in": {host: full, table: other, in: true, from: true,
			text: "drops packets with P_Key 0xffff from %[2]s to %[3]s: it checks P_Keys on the way in, and its table has 0x8005"},
		"out": {host: full, table: other, out: true,
			text: "drops packets with P_Key 0xffff from %[3]s to %[2]s: it checks P_Keys on the way out, and its table has 0x8005"},
		"full behind limited": {host: full, table: limited, in: true, from: true,
			text: "drops packets with P_Key 0xffff from %[2]s to %[3]s: it checks P_Keys on the way in, and its table has 0x7fff"},
		"no file":             {host: full, table: other, in: true, noFile: true, from: true},
		"between switches":    {host: full, table: other, in: true, between: true, noFile: true, from: true},
		"limited as OpenSM":   {host: limited, table: limited, in: true, out: true, noFile: true, works: true},
		"limited behind full": {host: limited, table: full, in: true, out: true, noFile: true, works: true},
	}) {
		t.Run(name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4,levels=2")
			hosts := adapters(n)
			victim := hosts[len(hosts)-1]
			leaf := n.Nodes[victim].Ports[1].Peer
			checks := func(node int32, num uint8) bool {
				if !c.between {
					return net.End{Node: node, Port: num} == leaf
				}
				peer := net.NoEnd
				if num > 0 && n.Nodes[node].Type == mad.Switch {
					peer = n.Nodes[node].Ports[num].Peer
				}
				return peer != net.NoEnd && n.Nodes[peer.Node].Type == mad.Switch
			}
			b := newHarness(t, n, fabric.Config{Caps: func(node int32, _ *net.Node, caps *fabric.Caps) {
				caps.PKeys = func(num uint8) []mad.PKey {
					switch {
					case node == victim:
						return c.host
					case checks(node, num):
						return c.table
					}
					return nil
				}
				caps.PowerUp = func(num uint8, info *smp.PortInfo) {
					if checks(node, num) {
						info.SetPartitionEnforcementInbound(c.in)
						info.SetPartitionEnforcementOutbound(c.out)
					}
				}
				if node == leaf.Node { // the manager cannot put its tables right
					caps.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
						if p.AttrID() == smp.AttrPKeyTable && p.Method() == mad.MethodSet && p.AttrMod() != 0 {
							return mad.StatusBadField, true
						}
						return obey(), true
					}
				}
			}})
			f := &managed{b, b.add(firstHost(n), minhopConfig())}
			f.pass(settling) // the subnet is in use
			if !c.noFile {
				b.Partition(f.m.Manager,
					sweep.Partitions{Policy: partitions.Default(),
						Settings: partitions.Settings{Enforce: enforces(c.in, c.out)}})
				f.pass(settling)
			}
			x, y := net.End{Node: victim, Port: 1}, net.End{Node: hosts[far], Port: 1}
			sender, receiver := x, y
			if !c.from {
				sender, receiver = y, x
			}
			info := f.Fabric.PortInfo(receiver)
			hops, why := f.Fabric.Probe(sender, info.LID(), mad.DefaultPKey, 0, nil)
			if (why == fabric.Delivered) != c.works {
				t.Fatalf("a packet is %v", why)
			}
			f.pass(2 * time.Second)
			called := func(at net.End) string { return fmt.Sprintf("%q port %d", f.desc(at.Node), at.Port) }
			rows := f.dropped()
			s := server.Show(f.m.View, rows...)
			pair := ctltest.Diagnose(t, s, f.desc(victim), f.desc(hosts[far]))
			alone := ctltest.Diagnose(t, s, f.desc(victim), "")
			if pair.Works != c.works {
				t.Errorf("reaches: %t, %+v", pair.Works, pair.Reasons)
			}
			if c.works {
				if len(rows) > 0 || len(pair.Reasons) > 0 || len(alone.Reasons) > 0 {
					t.Errorf("traps %+v, %+v, %+v", rows, pair.Reasons, alone.Reasons)
				}
				return
			}
			guilty := leaf
			if c.between {
				last := hops[len(hops)-1] // lost at the other end of the link
				guilty = f.Fabric.Peer(net.End{Node: last.Node, Port: last.Out})
			}
			stopped := fmt.Sprintf("%[1]s "+c.text, called(guilty), called(x), called(y))
			trap := fmt.Sprintf("%s dropped packets with P_Key 0xffff from %s to %s: reported once, last at ",
				called(guilty), called(sender), called(receiver))
			if !c.noFile && !ctltest.HasReason(pair, "P_Key stopped", stopped) ||
				!ctltest.HasReason(pair, "P_Key dropped", trap) {
				t.Errorf("the pair: %+v, want %s", pair.Reasons, stopped)
			}
			if !ctltest.HasReason(alone, "P_Key dropped", trap) || !c.noFile &&
				!ctltest.HasReason(alone, "P_Key stopped", called(guilty)) {
				t.Errorf("the host: %+v", alone.Reasons)
			}
			all, err := s.Diagnose("", "")
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for d := range all {
				at := d.Port.Desc == f.desc(guilty.Node) && d.Port.Port == guilty.Port
				found = found || at && (ctltest.HasReason(d, "P_Key dropped", trap))
			}
			if !found {
				t.Error("the subnet's diagnosis does not name the switch port")
			}
		})
	}
}
