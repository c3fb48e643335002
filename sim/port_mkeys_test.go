package sim_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/keys"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/plan"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// subnetSecret is the secret of the managers of the tests.
var subnetSecret = func() keys.Secret {
	s, err := keys.New(bytes.NewReader([]byte("a secret for tests, of 32 bytes.")))
	if err != nil {
		panic(err)
	}
	return s
}()

// portMKeys is minhopConfig with an M_Key for each port, by a number, as with security tenants.
func portMKeys(number uint32) manager.Config {
	cfg := minhopConfig()
	s := &cfg.Sweep.Settings
	s.MKey, s.MKeyProtect, s.MKeyLease = sweep.Given(mad.MKey(subnetSecret.MKey())), sweep.Given(uint8(2)),
		sweep.Given(uint16(60))
	s.PortMKeys, s.MKeyPerPort = subnetSecret.Ports(number), true
	return cfg
}

// agentGUID is the GUID of the port whose agent manages a port.
func (b *harness) agentGUID(at net.End) mad.GUID {
	if b.net.Nodes[at.Node].Type == mad.Switch {
		at.Port = 0
	}
	return b.Fabric.PortGUID(at)
}

// kept are guid2mkey and neighbors of the fabric as it is now, and the GUID of a manager's port.
func (b *harness) kept(at net.End) (k sweep.Restored) {
	k.MKeys, k.Behind, k.Port = map[mad.GUID]mad.MKey{}, map[plan.Key]plan.Key{}, b.Fabric.PortGUID(at)
	for at := range b.Fabric.EndPorts() {
		pi := b.Fabric.PortInfo(at)
		k.MKeys[b.Fabric.PortGUID(at)] = pi.MKey()
	}
	for at := range b.Fabric.Ports() {
		if peer := b.Fabric.Peer(at); peer != net.NoEnd {
			k.Behind[plan.Key{Node: b.agentGUID(at), Port: at.Port}] = plan.Key{Node: b.agentGUID(peer),
				Port: peer.Port}
		}
	}
	return k
}

// mustHoldPortMKeys fails the test where a port that is up has another M_Key than its own of a number, or another
// protection or lease.
func (b *harness) mustHoldPortMKeys(number uint32) {
	b.Helper()
	b.mustHoldMKeysOf(subnetSecret.Ports(number))
}

// mustHoldMKeysOf is mustHoldPortMKeys for those of any secrets, each port one of them.
func (b *harness) mustHoldMKeysOf(all ...keys.Ports) {
	b.Helper()
	wrong := 0
	for _, at := range b.endPorts() {
		pi := b.Fabric.PortInfo(at)
		held := slices.ContainsFunc(all, func(p keys.Ports) bool {
			return pi.MKey() == mad.MKey(p.Of(uint64(b.Fabric.PortGUID(at))))
		})
		if !held || pi.MKeyProtectBits() != 2 || pi.MKeyLeasePeriod() != 60 {
			if wrong++; wrong < 5 {
				p := all[0]
				b.Errorf("port %v has M_Key %v, protection %d, lease %d s; its key of number %d is %v", at, pi.MKey(),
					pi.MKeyProtectBits(), pi.MKeyLeasePeriod(), p.Number(),
					mad.MKey(p.Of(uint64(b.Fabric.PortGUID(at)))))
			}
		}
	}
	if wrong > 0 {
		b.Errorf("%d ports are not protected as they should be", wrong)
	}
}

// refusals are the SMPs that agents have refused for their M_Key.
func (b *harness) refusals() uint64 { return b.Fabric.Stats().Drops[fabric.DropMKey] }

// A cold fabric comes up with an M_Key for each port. Another manager with the secret, and with the files of the first,
// goes on with it, and so does a standby, without one wrong key. One whose store has lost the M_Keys, but not the
// links, tries no more than their own.
func TestPortMKeys(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	first := b.comeUp(portMKeys(1))
	t.Cleanup(first.dump)
	b.mustHoldPortMKeys(1)
	b.mustBeWhole(first)
	b.pass(3 * time.Minute)
	if refused := b.refusals(); refused > 0 {
		t.Errorf("%d SMPs refused", refused)
	}
	first.retire()
	before := b.snapshot()
	for _, files := range []string{"all", "links"} {
		cfg := portMKeys(1)
		cfg.Sweep.Restored = b.kept(firstHost(n))
		if files == "links" {
			cfg.Sweep.Restored.MKeys = nil
		}
		m := b.add(firstHost(n), cfg)
		t.Cleanup(m.dump)
		b.pass(settling)
		if len(m.ups) == 0 || b.refusals() > 0 {
			t.Fatalf("files %s: it came up %d times, %d SMPs were refused", files, len(m.ups), b.refusals())
		}
		b.mustHoldPortMKeys(1)
		b.mustBeWhole(m)
		b.mustBeAsBefore(before)
		m.retire()
	}
}

// A standby with the secret takes over a fabric whose ports have M_Keys of their own, without one wrong key.
func TestPortMKeysTakeover(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	first := b.comeUp(portMKeys(1))
	cfg := portMKeys(1)
	cfg.Sweep.Restored = b.kept(host(n, 5))
	cfg.Sweep.Restored.MKeys = nil
	standby := b.add(host(n, 5), cfg)
	t.Cleanup(standby.dump)
	b.pass(settling)
	if got := standby.last(); got != smp.Standby {
		t.Fatalf("the second manager is %v", got)
	}
	before := b.snapshot()
	first.retire()
	b.pass(2 * settling)
	if len(standby.ups) == 0 {
		t.Fatal("the standby did not take over")
	}
	b.mustHoldPortMKeys(1)
	b.mustBeWhole(standby)
	if refused := b.refusals(); refused > 0 {
		t.Errorf("%d SMPs refused", refused)
	}
	for at, is := range b.snapshot() { // but for the LID of the master
		if before[at] != is {
			t.Errorf("%s was %s, is %s", at, before[at], is)
		}
	}
}

// quiet is what of the ports of a fabric must not change while M_Keys do.
type quiet struct {
	*harness
	before map[net.End]smp.PortInfo
	sets   int
	wrong  int
	hosts  []net.End // whose packets are followed
	rng    *rand.Rand
	sent   int // packets
}

// talk sends a packet from a host to another. It must arrive.
func (q *quiet) talk() {
	from, to := q.hosts[q.rng.IntN(len(q.hosts))], q.hosts[q.rng.IntN(len(q.hosts))]
	info := q.Fabric.PortInfo(to)
	q.sent++
	if hops, end := q.Fabric.Probe(from, info.LID(), mad.DefaultPKey, 0, nil); end != fabric.Delivered {
		if q.wrong++; q.wrong < 5 {
			q.Errorf("after %d Sets: from %v to %v: %v after %d hops", q.sets, from, to, end, len(hops))
		}
	}
}

// withoutMKey is a PortInfo without what is about its M_Key.
func withoutMKey(pi smp.PortInfo) smp.PortInfo {
	pi.SetMKey(0)
	pi.SetMKeyProtectBits(0)
	pi.SetMKeyLeasePeriod(0)
	pi.SetMKeyViolations(0)
	return pi
}

// begin takes the fabric as it is.
func (q *quiet) begin() {
	q.before, q.sets = map[net.End]smp.PortInfo{}, 0
	for at := range q.Fabric.Ports() {
		q.before[at] = withoutMKey(q.Fabric.PortInfo(at))
	}
}

// took fails the test where a Set changes anything but an M_Key, its lease and its protection.
func (q *quiet) took(s fabric.Set) {
	if q.before == nil {
		return
	}
	q.sets++
	q.talk()
	at := net.End{Node: s.Node, Port: s.In}
	if q.net.Nodes[s.Node].Type == mad.Switch {
		at.Port = uint8(s.Mod)
	}
	if s.Attr != smp.AttrPortInfo || s.Status != mad.StatusOK || withoutMKey(q.Fabric.PortInfo(at)) != q.before[at] {
		if q.wrong++; q.wrong < 5 {
			q.Errorf("Set of attribute %#x at port %v, status %v: not only its M_Key changes", uint16(s.Attr), at,
				s.Status)
		}
	}
}

// mustHoldMKey fails the test where a port has another M_Key, protection or lease.
func (b *harness) mustHoldMKey(key mad.MKey, protect uint8, lease uint16) {
	b.Helper()
	for _, at := range b.endPorts() {
		if pi := b.Fabric.PortInfo(at); pi.MKey() != key || pi.MKeyProtectBits() != protect ||
			pi.MKeyLeasePeriod() != lease {
			b.Errorf("port %v has M_Key %v, protection %d, lease %d s", at, pi.MKey(), pi.MKeyProtectBits(),
				pi.MKeyLeasePeriod())
			return
		}
	}
}

// From open to an M_Key for each port, to those of the next number, to one for all, and to none: with traffic on, no
// port but changes its M_Key, in one Set and one Get each, no packet is lost, and no wrong M_Key is shown.
func TestPortMKeysUnderTraffic(t *testing.T) {
	spec, full := "fattree:k=4", os.Getenv("IBSM_PROOF") != ""
	if full {
		spec = "fattree:k=36"
	}
	n := nettest.Generate(t, spec)
	q := &quiet{rng: rand.New(rand.NewPCG(1, 20))}
	q.harness = newHarness(t, n, fabric.Config{Seed: 1, OnSet: q.took})
	for at := range q.Fabric.EndPorts() {
		if n.Nodes[at.Node].Type != mad.Switch {
			q.hosts = append(q.hosts, at)
		}
	}
	m := q.comeUp(minhopConfig())
	t.Cleanup(m.dump)
	before := q.snapshot()
	one, none := portMKeys(2), portMKeys(2)
	one.Sweep.Settings.MKeyPerPort, one.Sweep.Settings.MKeyProtect = false, sweep.Given(uint8(1))
	none.Sweep.Settings.MKeyPerPort = false
	none.Sweep.Settings.MKey, none.Sweep.Settings.MKeyProtect, none.Sweep.Settings.MKeyLease = sweep.Given(mad.MKey(0)),
		sweep.Given(uint8(0)), sweep.Given(uint16(0))
	for _, c := range []struct {
		name string
		cfg  manager.Config
		must func()
	}{
		{"a key for each port", portMKeys(1), func() { q.mustHoldPortMKeys(1) }},
		{"the next number", portMKeys(2), func() { q.mustHoldPortMKeys(2) }},
		{"one for all", one, func() { q.mustHoldMKey(mad.MKey(subnetSecret.MKey()), 1, 60) }},
		{"none", none, func() { q.mustHoldMKey(0, 0, 0) }},
	} {
		q.begin()
		ups, sets, gets, sent := len(m.ups), q.sets, q.smps(mad.MethodGet), q.sent
		began := q.Fabric.Now()
		q.Configure(m.Manager, c.cfg)
		q.Run(began+settling, func() bool { return len(m.ups) > ups })
		took := q.Fabric.Now() - began
		c.must()
		sets, gets = q.sets-sets, q.smps(mad.MethodGet)-gets
		if ends := len(q.endPorts()); sets != ends {
			t.Errorf("%s: %d Sets for %d ports", c.name, sets, ends)
		}
		t.Logf("%s: %d ports, %d Sets and %d Gets in %v, %d packets sent; %d went wrong so far", c.name,
			len(q.endPorts()), sets, gets, took, q.sent-sent, q.wrong)
		q.pass(settling)
		c.must()
		if !full { // where it takes minutes
			q.mustBeWhole(m)
		}
	}
	q.mustBeWhole(m)
	q.before = nil
	q.mustBeAsBefore(before)
	if refused := q.refusals(); refused > 0 {
		t.Errorf("%d SMPs refused", refused)
	}
}

// smps are the SMPs of a method.
func (b *harness) smps(m mad.Method) (count uint64) {
	for kind, n := range b.Fabric.Stats().SMPs {
		if kind.Method == m {
			count += n
		}
	}
	return count
}

// A standby without the secret, or with that of another fabric, stays out as long as there is a master, and says why.
// Without a master the leases let it in, hop by hop.
func TestPortMKeysWithoutSecret(t *testing.T) {
	other, err := keys.New(bytes.NewReader([]byte("the secret of another fabric, 32")))
	if err != nil {
		t.Fatal(err)
	}
	of := portMKeys(1)
	of.Sweep.Settings.MKey, of.Sweep.Settings.PortMKeys = sweep.Given(mad.MKey(other.MKey())), other.Ports(1)
	for name, c := range ordered(map[string]struct {
		cfg     manager.Config
		protect uint8
	}{"none": {minhopConfig(), 0}, "another": {of, 2}}) {
		t.Run(name, func(t *testing.T) {
			n := nettest.Generate(t, "fattree:k=4")
			b := newHarness(t, n, fabric.Config{Seed: 1})
			first := b.comeUp(portMKeys(1))
			outsider := b.add(host(n, 5), c.cfg)
			t.Cleanup(outsider.dump)
			b.pass(5 * time.Minute)
			if outsider.last() != smp.Discovering ||
				outsider.says("It may have an M_Key unknown to this manager") != 1 {
				t.Errorf("it is %v, and says so %d times", outsider.last(), outsider.says("It may have an M_Key"))
			}
			b.mustHoldPortMKeys(1)
			b.mustBeWhole(first)
			first.retire()
			b.pass(20 * time.Minute)
			if len(outsider.ups) == 0 {
				t.Fatal("it is not master after the leases")
			}
			for _, at := range b.endPorts() {
				if pi := b.Fabric.PortInfo(at); pi.MKeyProtectBits() != c.protect {
					t.Errorf("port %v has protection %d", at, pi.MKeyProtectBits())
				}
			}
		})
	}
}

// A standby with the secret that knows nothing of the subnet is let in by the master, which then protects its switches
// again.
func TestPortMKeysKnock(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	first := b.comeUp(portMKeys(1))
	cfg := portMKeys(1)
	cfg.Sweep.Restored.Port = b.Fabric.PortGUID(host(n, 5))
	standby := b.add(host(n, 5), cfg)
	t.Cleanup(first.dump)
	b.pass(time.Minute)
	if standby.last() != smp.Standby || slices.Contains(standby.states, smp.Master) {
		t.Fatalf("it was %v", standby.states)
	}
	b.pass(3 * time.Minute)
	b.mustHoldPortMKeys(1)
	b.mustBeWhole(first)
	b.mustHideMKeys(first, standby)
	// It does not know the hosts, because only switches were opened to it. Before it takes over it waits for them, and
	// they keep their links and their routes.
	before := b.snapshot()
	first.retire()
	b.pass(3 * time.Minute)
	if standby.last() != smp.Master {
		t.Fatalf("the standby is %v", standby.last())
	}
	for at, is := range b.snapshot() {
		if before[at] != is {
			t.Errorf("%s was %s, is %s", at, before[at], is)
		}
	}
	b.pass(10 * time.Minute)
	b.mustHoldPortMKeys(1)
	b.mustBeWhole(standby)
}

// mustHideMKeys fails the test where a log shows an M_Key of the subnet.
func (b *harness) mustHideMKeys(managers ...*watched) {
	b.Helper()
	own := subnetSecret.Ports(1)
	secrets := []uint64{subnetSecret.MKey(), own.Knock()}
	for at := range b.Fabric.EndPorts() {
		secrets = append(secrets, own.Of(uint64(b.Fabric.PortGUID(at))))
	}
	for _, m := range managers {
		for _, line := range m.log {
			for _, key := range secrets {
				if strings.Contains(line, fmt.Sprintf("%x", key)) || strings.Contains(line, fmt.Sprint(key)) {
					b.Fatalf("a log shows an M_Key: %s", line)
				}
			}
		}
	}
}

// setMKey has somebody at a host give its port an M_Key.
func (b *harness) setMKey(at net.End, key mad.MKey) {
	b.Helper()
	st, err := b.Fabric.Attach(at)
	if err != nil {
		b.Fatal(err)
	}
	info := b.Fabric.PortInfo(at)
	info.SetMKey(key)
	info.SetPortState(smp.PortNoChange)
	info.SetPortPhysicalState(smp.PhysNoChange)
	var d mad.Datagram
	d.Packet.SetDirected(&mad.Route{}, mad.MethodSet, smp.AttrPortInfo, 0)
	*d.Packet.Data() = info
	st.Send([]mad.Datagram{d})
	b.pass(time.Millisecond)
	if got := b.Fabric.PortInfo(at); got.MKey() != key {
		b.Fatalf("port %v has M_Key %v", at, got.MKey())
	}
}

// On the way back to no M_Key, one that somebody else has set stays.
func TestPortMKeysOfOthers(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	other := host(n, 3)
	m := b.comeUp(minhopConfig())
	b.setMKey(other, 0xbad)
	cfg := portMKeys(1)
	s := &cfg.Sweep.Settings
	s.MKeyPerPort, s.MKey, s.MKeyProtect, s.MKeyLease = false, sweep.Given(mad.MKey(0)), sweep.Given(uint8(0)),
		sweep.Given(uint16(0))
	b.Configure(m.Manager, cfg)
	b.pass(settling)
	for _, at := range b.endPorts() {
		pi, want := b.Fabric.PortInfo(at), mad.MKey(0)
		if at == other {
			want = 0xbad
		}
		if pi.MKey() != want {
			t.Errorf("port %v has M_Key %v, want %v", at, pi.MKey(), want)
		}
	}
	b.mustBeWhole(m)
}

// Where no port of a rack takes its M_Key the others are left alone.
func TestPortMKeysRefused(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	tried := 0
	refuse := func(p *mad.Packet, do func() mad.Status) (mad.Status, bool) {
		if info := (*smp.PortInfo)(p.Data()); p.Method() == mad.MethodSet && p.AttrID() == smp.AttrPortInfo &&
			info.MKey() != 0 {
			tried++
			info.SetMKey(0)
			info.SetMKeyProtectBits(0)
		}
		return do(), true
	}
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(_ int32, _ *net.Node, c *fabric.Caps) {
		c.Defect = refuse
	}})
	m := b.comeUp(minhopConfig())
	ups := len(m.ups)
	b.Configure(m.Manager, portMKeys(1))
	b.Run(b.Fabric.Now()+settling, func() bool { return len(m.ups) > ups })
	if tried != 2 { // a leaf switch and its host; the other one is the manager's
		t.Errorf("%d ports were sent an M_Key, want 2", tried)
	}
	b.pass(settling)
	b.mustBeWhole(m)
}

// At protection level 1 a manager whose store is old finds the M_Keys without one wrong Set.
func TestPortMKeysLevel1(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	level1 := func(number uint32) manager.Config {
		cfg := portMKeys(number)
		cfg.Sweep.Settings.MKeyProtect = sweep.Given(uint8(1))
		return cfg
	}
	first := b.comeUp(level1(3))
	first.retire()
	cfg := level1(2)
	cfg.Sweep.Restored.Port = b.Fabric.PortGUID(firstHost(n))
	m := b.add(firstHost(n), cfg)
	t.Cleanup(m.dump)
	b.pass(settling)
	own := subnetSecret.Ports(2)
	for _, at := range b.endPorts() {
		if pi := b.Fabric.PortInfo(at); pi.MKey() != mad.MKey(own.Of(uint64(b.Fabric.PortGUID(at)))) {
			t.Errorf("port %v has M_Key %v", at, pi.MKey())
		}
	}
	if refused := b.refusals(); refused > 0 {
		t.Errorf("%d SMPs refused", refused)
	}
	b.mustBeWhole(m)
}

// A manager that knows nothing of a subnet that nobody manages any more writes nothing but the protection of its own
// port until leases have ended.
func TestPortMKeysWaits(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	b.comeUp(portMKeys(1)).retire()
	cfg := portMKeys(1)
	cfg.Sweep.Restored.Port = b.Fabric.PortGUID(host(n, 5))
	m := b.add(host(n, 5), cfg)
	t.Cleanup(m.dump)
	sets := b.sets()
	b.pass(55 * time.Second)
	if own := b.Fabric.PortInfo(host(n, 5)); own.MKeyProtectBits() != 1 {
		t.Errorf("its own port has protection %d: others that wait do not find it", own.MKeyProtectBits())
	}
	if slices.Contains(m.states, smp.Master) || b.sets() != sets+1 ||
		m.says("nodes do not answer to any known M_Key") != 1 {
		t.Errorf("it was %v, sent %d Sets, and said why %d times", m.states, b.sets()-sets,
			m.says("nodes do not answer"))
	}
	b.pass(15 * time.Minute)
	b.mustHoldPortMKeys(1)
	b.mustBeWhole(m)
}

// Links behind which a host does not answer, because its M_Key is not known and has no lease, stay ACTIVE, and their
// routes stay.
func TestPortMKeysUnresponsiveHosts(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	forever := func(at net.End) manager.Config {
		cfg := portMKeys(1)
		cfg.Sweep.Settings.MKeyLease = sweep.Given(uint16(0))
		cfg.Sweep.Restored.Port = b.Fabric.PortGUID(at)
		return cfg
	}
	first := b.comeUp(forever(firstHost(n)))
	standby := b.add(host(n, 5), forever(host(n, 5)))
	t.Cleanup(standby.dump)
	b.pass(3 * time.Minute)
	before := b.snapshot()
	first.retire()
	b.pass(10 * time.Minute)
	if standby.last() != smp.Master || len(standby.ups) == 0 {
		t.Fatalf("the standby is %v", standby.last())
	}
	for at, is := range b.snapshot() {
		if before[at] != is {
			t.Errorf("%s was %s, is %s", at, before[at], is)
		}
	}
}

// A standby that does not learn of a rotation tries the next M_Key of the master's port, and stays a standby.
func TestPortMKeysPolls(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	first := b.comeUp(portMKeys(1))
	cfg := portMKeys(1)
	cfg.Sweep.Restored.Port = b.Fabric.PortGUID(host(n, 5))
	standby := b.add(host(n, 5), cfg)
	t.Cleanup(standby.dump)
	b.pass(settling)
	b.Configure(first.Manager, portMKeys(2))
	states, before := len(standby.states), b.refusals()
	b.pass(10 * time.Minute)
	if refused := b.refusals() - before; standby.last() != smp.Standby || len(standby.states)-states > 2 ||
		refused > 1000 {
		t.Errorf("it has been %v, %d SMPs were refused", standby.states[states:], refused)
	}
	b.mustHoldPortMKeys(2)
}

// A steady subnet costs no more SMPs with an M_Key for each port than without, but for the renewals of leases: one Get
// for each host and switch in a third of the lease.
func TestPortMKeysSteady(t *testing.T) {
	spec, agents := "fattree:k=4", uint64(36)
	if os.Getenv("IBSM_PROOF") != "" {
		spec, agents = "fattree:k=36", 11664+1620
	}
	n := nettest.Generate(t, spec)
	smps := func(cfg manager.Config) (count uint64) {
		b := newHarness(t, n, fabric.Config{Seed: 1})
		b.comeUp(cfg)
		b.pass(time.Minute)
		before := b.smps(mad.MethodGet) + b.smps(mad.MethodSet)
		b.pass(10 * time.Minute)
		return b.smps(mad.MethodGet) + b.smps(mad.MethodSet) - before
	}
	renewals := agents * 10 * 60 / 20
	with, without := smps(portMKeys(1)), smps(minhopConfig())
	if with != without+renewals {
		t.Errorf("%d SMPs in ten minutes, %d without M_Keys and %d renewals", with, without, renewals)
	}
	t.Logf("%d hosts and switches: %d SMPs in ten minutes, %d of them renewals; %d without M_Keys", agents, with,
		renewals, without)
}
