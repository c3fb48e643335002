package sim_test

import (
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// unanswered, as the status of a request, leaves it without an answer.
const unanswered = mad.Status(0xffff)

// pkeyTrouble is a fabric of a manager and hosts in which a whole class of devices does not answer to requests of P_Key
// tables, or refuses them.
type pkeyTrouble struct {
	*harness
	m *watched
}

// newPKeyTrouble brings it up under a policy. From power-up every host has the default P_Key alone.
func newPKeyTrouble(t *testing.T, p *partitions.Policy, s partitions.Settings, class mad.NodeType, method mad.Method,
	status mad.Status) *pkeyTrouble {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	self := firstHost(n)
	b := &pkeyTrouble{
		harness: newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, nd *net.Node, c *fabric.Caps) {
			if c.PartitionEnforcementCap = 32; nd.Type == class && i != self.Node {
				c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
					if p.AttrID() == smp.AttrPKeyTable && p.Method() == method {
						return status, status != unanswered
					}
					return obey(), true
				}
			}
		}})}
	cfg := minhopConfig()
	cfg.Sweep.Partitions = sweep.Partitions{Policy: p, Settings: s}
	b.m = b.add(self, cfg)
	b.pass(90 * time.Second)
	return b
}

// pairs counts the pairs of hosts that reach each other by a P_Key, with and without those of the manager's host.
func (b *pkeyTrouble) pairs(key mad.PKey) (all, others int) {
	for _, from := range b.endPorts() {
		for _, to := range b.endPorts() {
			if b.Fabric.NodeType(from.Node) != mad.CA || b.Fabric.NodeType(to.Node) != mad.CA || from == to {
				continue
			}
			info := b.Fabric.PortInfo(to)
			if _, end := b.Fabric.Probe(from, info.LID(), key, 0, nil); end == fabric.Delivered {
				if all++; from.Node != firstHost(b.net).Node && to.Node != firstHost(b.net).Node {
					others++
				}
			}
		}
	}
	return all, others
}

// reports says whether the view has faults of a kind.
func (b *pkeyTrouble) reports(kind finding.Kind) bool {
	for _, f := range b.m.View.Findings {
		if f.Kind == kind {
			return true
		}
	}
	return false
}

// allAdapters is the default policy, and a partition of all adapters beside it.
func allAdapters() *partitions.Policy {
	p := partitions.Default()
	p.Partitions = append(p.Partitions,
		partitions.Partition{
			Key: 0x11, Name: "all", Members: []partitions.Member{{Who: partitions.AllCAs, Membership: partitions.Full}},
		})
	return p
}

// TestPKeyTrouble: a class of devices that has trouble with P_Key tables loses no connection that isolation does not
// need it to lose, and causes no sweeps of unanswered Gets.
//
// The fabric has 8 hosts: 56 pairs of two, 42 of them without the manager's, and 14 with it. OpenSM 3.3.23 on the same
// fabric, served by ibsim's protocol: where Gets fail, no link comes up; where Sets fail, all 56 pairs reach each other
// by the first two policies, and by the third the 14, where switches are the class. Where hosts are, packets from the
// manager reach them, and none comes back.
func TestPKeyTrouble(t *testing.T) {
	const all, others, manager = 56, 42, 14
	for _, status := range []mad.Status{unanswered, mad.StatusBadMethodAttr, mad.StatusBadField} {
		for _, method := range []mad.Method{mad.MethodGet, mad.MethodSet} {
			for _, class := range []mad.NodeType{mad.CA, mad.Switch} {
				judge := func(what string, p *partitions.Policy, s partitions.Settings, wantAll, wantOthers int,
					unenforced bool) {
					t.Helper()
					b := newPKeyTrouble(t, p, s, class, method, status)
					if n, of := b.pairs(mad.DefaultPKey); n < wantAll || of > wantOthers {
						t.Errorf("%s, %v of %v with %#x: %d pairs, %d of them without the manager; want %d, %d", what,
							method, class, uint16(status), n, of, wantAll, wantOthers)
					}
					if b.reports(finding.UnenforcedPort) != unenforced ||
						(b.m.says("do not enforce partitions") > 0) != unenforced {
						t.Errorf(
							"%s, %v of %v with %#x: without enforcement in the view %v and in the log %d times, want %v", what, method, class, uint16(status),
							b.reports(finding.UnenforcedPort), b.m.says("do not enforce partitions"), unenforced)
					}
					ups := len(b.m.ups)
					b.pass(time.Minute)
					if more := len(b.m.ups) - ups; method == mad.MethodGet && more > 0 {
						t.Errorf("%s, %v of %v with %#x: %d heavy sweeps in a minute of rest", what, method, class,
							uint16(status), more)
					}
				}
				// Nobody is excluded by OpenSM's policy without a file.
				judge("default policy", partitions.Default(), partitions.Settings{}, all, others, false)
				// Ports lack a P_Key, or one side of the link confines them. Where switches are the class, they do not
				// enforce.
				judge("a group", allAdapters(), partitions.Settings{}, all, others, class == mad.Switch)
				// All hosts are limited members, and have had the full P_Key from power-up: they must lose it, or stay
				// in INIT. Switch ports hold what they should from power-up, if it can be read.
				least := 0
				if class == mad.Switch {
					least = manager
				}
				judge("limited", partitions.Closed(), partitions.Settings{}, least, 0, class == mad.Switch &&
					method == mad.MethodGet)
			}
		}
	}
}

// TestPKeyTroubleOfTenants: where hosts may write their own tables, a switch port that does not hold its P_Keys is not
// used.
func TestPKeyTroubleOfTenants(t *testing.T) {
	for _, tenants := range []bool{false, true} {
		for _, method := range []mad.Method{mad.MethodGet, mad.MethodSet} {
			b := newPKeyTrouble(t, allAdapters(), partitions.Settings{Tenants: tenants}, mad.Switch, method,
				mad.StatusBadField)
			if n, _ := b.pairs(mad.DefaultPKey); (n == 0) != tenants {
				t.Errorf("tenants %v, %v: %d pairs", tenants, method, n)
			}
			if b.reports(finding.Excluded) != tenants || b.reports(finding.UnenforcedPort) == tenants {
				t.Errorf("tenants %v, %v: findings %v", tenants, method, b.m.View.Findings)
			}
		}
	}
}

// TestPKeysShown: a port that did not show its P_Key table and does again gets its P_Keys at the next light sweep.
func TestPKeysShown(t *testing.T) {
	for _, status := range []mad.Status{unanswered, mad.StatusBadMethodAttr} {
		n := nettest.Generate(t, "fattree:k=4,levels=2")
		sick := true
		b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, nd *net.Node, c *fabric.Caps) {
			if i == host(n, 3).Node {
				c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
					if sick && p.AttrID() == smp.AttrPKeyTable && p.AttrMod() == 1 { // the second block
						return status, status != unanswered
					}
					return obey(), true
				}
			}
		}})
		cfg := minhopConfig()
		cfg.Sweep.Partitions = sweep.Partitions{Policy: allAdapters()}
		m := b.add(firstHost(n), cfg)
		b.pass(time.Minute)
		ups := len(m.ups)
		b.pass(time.Minute)
		if len(m.ups) > ups {
			t.Errorf("%#x: %d heavy sweeps in a minute of rest", uint16(status), len(m.ups)-ups)
		}
		holds := func() bool { return len(b.Fabric.PKeys(host(n, 3))) > 1 && b.Fabric.PKeys(host(n, 3))[1] == 0x8011 }
		if holds() {
			t.Fatal("the port has its P_Keys: no test")
		}
		sick = false
		b.pass(settling)
		if !holds() {
			t.Errorf("%#x: P_Keys %v", uint16(status), b.Fabric.PKeys(host(n, 3)))
		}
	}
}

// TestEnforcementOfIBM: IBM's logical switch reports a PartitionEnforcementCap that means nothing. OpenSM reads no
// P_Key table of its external ports (osm_port_info_rcv.c).
func TestEnforcementOfIBM(t *testing.T) {
	for _, vendor := range []uint32{0x005076, 0x0002c9} {
		asked := 0
		n := nettest.Generate(t, "fattree:k=4,levels=2")
		b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(_ int32, nd *net.Node, c *fabric.Caps) {
			if c.PartitionEnforcementCap = 32; nd.Type == mad.Switch {
				c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
					status := obey()
					if p.AttrID() == smp.AttrNodeInfo {
						(*smp.NodeInfo)(p.Data()).SetVendorID(vendor)
					}
					if p.AttrID() == smp.AttrPKeyTable && p.AttrMod()>>16 != 0 {
						asked++
					}
					return status, true
				}
			}
		}})
		cfg := minhopConfig()
		cfg.Sweep.Partitions = sweep.Partitions{Policy: allAdapters()}
		m := b.add(firstHost(n), cfg)
		b.pass(settling)
		if ibm := vendor == 0x005076; (asked == 0) != ibm || len(m.ups) == 0 || m.ups[len(m.ups)-1].Errors {
			t.Errorf("vendor %#x: %d requests of P_Key tables of external ports, %v", vendor, asked, m.ups)
		}
	}
}
