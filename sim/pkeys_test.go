package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/partitions"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// tenants is a fabric whose partitions change, and the wanted partitions.
type tenants struct {
	*harness
	rng      *rand.Rand
	m        *watched
	settings partitions.Settings
	policy   *partitions.Policy
	keys     map[net.End][]mad.PKey   // what the policy means, by port; 0 is the first
	before   []map[net.End][]mad.PKey // the same of the policies since the fabric was last at rest
	watching bool                     // each Set is followed by probes
	watch    func(fabric.Set)
	bare     map[int32]bool // switches that were powered up and have not been given a P_Key since
}

// meaning is what a policy says of each end port that is there: its keys, the one for
// index 0 first. It is another program than the manager's.
func (b *tenants) meaning(p *partitions.Policy) map[net.End][]mad.PKey {
	out := map[net.End][]mad.PKey{}
	for at := range b.Fabric.EndPorts() {
		typ := b.Fabric.NodeType(at.Node)
		var first mad.PKey
		for i := range p.Partitions {
			part := &p.Partitions[i]
			var last *partitions.Member
			for j := range part.Members {
				m := &part.Members[j]
				if m.Who == partitions.All || m.Who == partitions.AllCAs && typ == mad.CA ||
					m.Who == partitions.AllSwitches && typ == mad.Switch ||
					m.Who == partitions.Self && at == b.m.Station.At() || m.Who == partitions.OnePort &&
					m.Port == b.Fabric.PortGUID(at) {
					last = m
				}
			}
			if last == nil {
				continue
			}
			key := part.Key
			if last.Membership != partitions.Limited {
				key |= mad.FullMember
			}
			out[at] = append(out[at], key)
			if last.Membership == partitions.Both && b.settings.AllowBoth {
				out[at] = append(out[at], part.Key)
			}
			if last.Index0 && first == 0 || part.Key == partitions.DefaultKey && first == 0 {
				first = key
			}
		}
		i := slices.Index(out[at], first)
		out[at][0], out[at][i] = out[at][i], out[at][0]
	}
	return out
}

// share are the bases by which two ports may talk.
func share(a, b []mad.PKey) (bases []mad.PKey) {
	for _, k := range a {
		for _, l := range b {
			if k.Matches(l) {
				bases = append(bases, k.Base())
			}
		}
	}
	return bases
}

// someone is a random policy: some partitions with random members.
func (b *tenants) someone() *partitions.Policy {
	p := partitions.Closed()
	if b.rng.IntN(3) == 0 {
		p = partitions.Default()
	}
	var guids []mad.GUID
	for at := range b.Fabric.EndPorts() {
		if b.Fabric.NodeType(at.Node) == mad.CA {
			guids = append(guids, b.Fabric.PortGUID(at))
		}
	}
	for range 1 + b.rng.IntN(3) {
		key := mad.PKey(1 + b.rng.IntN(5)) // few, so that they come back
		if p.Find(key) != nil {
			continue
		}
		part := partitions.Partition{Key: key, Name: fmt.Sprintf("tenant %d", key)}
		for _, g := range guids {
			if b.rng.IntN(2) == 0 {
				part.Members = append(part.Members, partitions.Member{Who: partitions.OnePort, Port: g,
					Membership: pick(b.rng, partitions.Full, partitions.Full, partitions.Limited, partitions.Both)})
			}
		}
		p.Partitions = append(p.Partitions, part)
	}
	return p
}

// newTenants brings a fabric up under a policy. caps are the entries of hosts' tables and
// of switches' external ports.
func newTenants(t *testing.T, seed uint64, spec string, settings partitions.Settings, host, external uint16) *tenants {
	b := &tenants{rng: rand.New(rand.NewPCG(seed, 257)), settings: settings, bare: map[int32]bool{}}
	b.harness = newHarness(t, nettest.Generate(t, spec), fabric.Config{
		Seed: seed, TrainTime: 5 * time.Millisecond,
		Caps: func(_ int32, n *net.Node, c *fabric.Caps) {
			if c.PartitionEnforcementCap = 0; n.Type == mad.Switch {
				c.PartitionEnforcementCap = external
			} else {
				c.PartitionCap = host
			}
		},
		OnSet: func(s fabric.Set) {
			if b.watch != nil {
				b.watch(s)
			}
			if s.Attr == smp.AttrPKeyTable {
				delete(b.bare, s.Node)
			}
			if b.watching && s.Attr != smp.AttrLinearForwardingTable && s.Attr != smp.AttrSwitchInfo {
				b.talk()
			}
		},
	})
	b.m = b.add(firstHost(b.net), minhopConfig())
	t.Cleanup(b.m.dump)
	b.policy = b.someone()
	b.Partition(b.m.Manager, sweep.Partitions{Policy: b.policy, Settings: settings})
	b.pass(20 * time.Second)
	b.keys = b.meaning(b.policy)
	return b
}

// hosts are the ports of adapters that carry data.
func (b *tenants) hosts() (ports []net.End) {
	for _, at := range b.endPorts() {
		if pi := b.Fabric.PortInfo(at); b.Fabric.NodeType(at.Node) == mad.CA && pi.PortState() == smp.PortActive {
			ports = append(ports, at)
		}
	}
	return ports
}

// send sends a data packet with a key.
func (b *tenants) send(from, to net.End, key mad.PKey) fabric.Drop {
	pi := b.Fabric.PortInfo(to)
	_, end := b.Fabric.Probe(from, pi.LID(), key|mad.FullMember, 0, nil)
	return end
}

// talk tests that no pair that may talk by all the policies since the last rest and by the
// one that comes lacks a key to do so now. Packets may be lost for other reasons.
func (b *tenants) talk() {
	for _, from := range b.hosts() {
		for _, to := range b.hosts() {
			if from == to || b.Failed() {
				continue
			}
			may := share(b.keys[from], b.keys[to])
			always := len(may) > 0
			for _, keys := range b.before {
				was := share(keys[from], keys[to])
				always = always && len(was) > 0
				may = append(may, was...)
			}
			if always && !slices.ContainsFunc(may, func(k mad.PKey) bool { return !b.refused(from, to, k) }) {
				b.Errorf("at %v %v and %v may talk by one of %v all the time, and cannot now: they hold %v and %v",
					b.Fabric.Now(), from, to, may, b.Fabric.PKeys(from), b.Fabric.PKeys(to))
			}
		}
	}
}

// refused reports whether a packet is lost for want of a key. A switch that was powered up
// since it was walked may be given a link to carry before anybody can know that it has no
// tables any more; what it loses until it has is lost for another reason.
func (b *tenants) refused(from, to net.End, key mad.PKey) bool {
	pi := b.Fabric.PortInfo(to)
	hops, end := b.Fabric.Probe(from, pi.LID(), key|mad.FullMember, 0, nil)
	if end != fabric.DropPKey || len(hops) == 0 {
		return end == fabric.DropPKey
	}
	last := hops[len(hops)-1]
	return !b.bare[b.Fabric.Peer(net.End{Node: last.Node, Port: last.Out}).Node]
}

// change gives the manager another policy.
func (b *tenants) change() {
	b.before = append(b.before, b.keys)
	b.policy = b.someone()
	b.keys = b.meaning(b.policy)
	b.Partition(b.m.Manager, sweep.Partitions{Policy: b.policy, Settings: b.settings})
}

// judgeTables holds every table against the policy, and against the one before it.
func (b *tenants) judgeTables(held map[net.End][]mad.PKey) {
	b.Helper()
	for _, at := range b.endPorts() {
		got, want := b.Fabric.PKeys(at), b.keys[at]
		entries := slices.DeleteFunc(slices.Clone(got), func(k mad.PKey) bool { return k == 0 })
		slices.Sort(entries)
		sorted := slices.Sorted(slices.Values(want))
		if !slices.Equal(entries, sorted) || got[0] != want[0] {
			b.Errorf("%v holds %v, want %v with %v first", at, got, want, want[0])
		}
		for i, k := range held[at] {
			if j := slices.Index(got, k); k.Valid() && j >= 0 && j != i && i != 0 && j != 0 {
				b.Errorf("%v of %v moved from index %d to %d", k, at, i, j)
			}
		}
	}
}

// judgePaths tests that a packet arrives where the ports share its key, and nowhere else.
func (b *tenants) judgePaths() {
	b.Helper()
	for _, from := range b.hosts() {
		for _, to := range b.hosts() {
			may := share(b.keys[from], b.keys[to])
			for base := mad.PKey(1); base <= 6 && from != to; base++ {
				if base == 6 {
					base = partitions.DefaultKey
				}
				if got := b.send(from, to, base) == fabric.Delivered; got != slices.Contains(may, base) {
					b.Errorf("%v from %v to %v arrives: %v; they hold %v and %v", base, from, to, got, b.keys[from],
						b.keys[to])
				}
			}
		}
	}
}

// tables are those of all end ports.
func (b *tenants) tables() map[net.End][]mad.PKey {
	out := map[net.End][]mad.PKey{}
	for at := range b.Fabric.EndPorts() {
		out[at] = b.Fabric.PKeys(at)
	}
	return out
}

// TestPartitions changes policies at random, with probes after every single Set.
func TestPartitions(t *testing.T) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			settings := partitions.Settings{
				Enforce:   partitions.Enforcement(seed % 4),
				AllowBoth: seed%3 == 0, ForgetIndexes: seed%5 == 0,
			}
			b := newTenants(t, seed, "fattree:k=4,levels=2", settings,
				pick[uint16](rand.New(rand.NewPCG(seed, 1)), 16, 33, 64), []uint16{0, 12, 64}[seed%3])
			b.judgeTables(nil)
			for range 8 {
				if b.judgePaths(); t.Failed() {
					return
				}
				held := b.tables()
				b.before, b.watching = nil, true
				b.change()
				b.pass(5 * time.Second)
				b.watching = false
				b.judgeTables(held)
				b.mustBeSettled()
			}
		})
	}
}

// mustBeSettled: another sweep finds nothing to write.
func (b *tenants) mustBeSettled() {
	b.Helper()
	before := b.sets()
	if b.m.sweep(manager.Heavy); b.sets() != before {
		b.Errorf("%d Sets in a further sweep", b.sets()-before)
	}
}

// TestPartitionsUnderFire changes policies while packets are lost, doubled and late, links
// fail and nodes reboot. Nobody loses a key that it keeps, and in the end every table is
// as the last policy says.
func TestPartitionsUnderFire(t *testing.T) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			settings := partitions.Settings{Enforce: partitions.Enforcement(seed % 2 * 3), AllowBoth: seed%3 == 0}
			b := newTenants(t, seed, "fattree:k=4,levels=2", settings, 64, 64)
			for range 4 {
				b.Fabric.SetFaults(fabric.Faults{
					Loss: pick(b.rng, 0, 0.01, 0.03), Duplicate: pick(b.rng, 0, 0.05),
					Reorder: pick(b.rng, 0, 0.05), ReorderBy: 7 * time.Millisecond,
					Jitter: pick(b.rng, 0, 20*time.Microsecond),
				})
				b.before, b.watching = nil, true
				for range 6 {
					if b.rng.IntN(2) == 0 {
						b.change()
					}
					repair := b.harm()
					b.pass(time.Duration(
						b.rng.ExpFloat64() * float64(
							pick(b.rng, time.Millisecond, 50*time.Millisecond, 2*time.Second))))
					repair()
				}
				b.Fabric.SetFaults(fabric.Faults{})
				b.pass(convergence)
				if b.watching = false; t.Failed() {
					return
				}
				b.judgeTables(nil)
				b.judgePaths()
				b.mustBeSettled()
			}
		})
	}
}

// harm does some, and returns what repairs it.
func (b *tenants) harm() (repair func()) {
	hosts := b.hosts()
	at := hosts[b.rng.IntN(len(hosts))]
	if at == b.m.Station.At() {
		return func() {}
	}
	switch b.rng.IntN(5) {
	case 0, 1:
		at = uplinkOf(b.Fabric, b.rng)
		b.Fabric.LinkDown(at)
		return func() { b.Fabric.LinkUp(at) }
	case 2:
		b.Fabric.LinkDown(at)
		return func() { b.Fabric.LinkUp(at) }
	case 3:
		b.Fabric.Reboot(at.Node)
	case 4:
		leaf := b.Fabric.Peer(at).Node
		b.bare[leaf] = true
		b.Fabric.Reboot(leaf)
	}
	return func() {}
}

// TestPartitionsTakenOver: a manager that comes after another moves no key, whether it has
// the same policy or none.
func TestPartitionsTakenOver(t *testing.T) {
	for name, same := range ordered(map[string]bool{"the same policy": true, "no policy": false}) {
		t.Run(name, func(t *testing.T) {
			settings := partitions.Settings{}
			b := newTenants(t, 5, "fattree:k=4,levels=2", settings, 64, 64)
			b.change()
			b.pass(5 * time.Second)
			held, at := b.tables(), b.m.Station.At()
			b.Kill(b.m.Manager)
			written := 0
			b.watch = func(s fabric.Set) {
				if s.Attr == smp.AttrPKeyTable {
					written++
				}
			}
			cfg := minhopConfig()
			if same {
				cfg.Sweep.Partitions = sweep.Partitions{Policy: b.policy, Settings: settings}
			}
			b.m = b.add(at, cfg)
			b.pass(20 * time.Second)
			if written != 0 || len(b.m.ups) == 0 {
				t.Errorf("%d P_Key blocks written, %d sweeps", written, len(b.m.ups))
			}
			for at, keys := range b.tables() {
				if !slices.Equal(keys, held[at]) {
					t.Errorf("%v held %v, holds %v", at, held[at], keys)
				}
			}
			b.judgePaths()
			if !same {
				return
			}
			// A host that has lost its table gets it again, at the same indexes.
			b.Fabric.Reboot(b.hosts()[2].Node)
			b.pass(20 * time.Second)
			b.judgeTables(nil)
			b.judgePaths()
		})
	}
}

// TestPartitionsFull: where a table has no room for old and new keys together, they are
// exchanged in the wave that removes keys, and one port too full for its keys is logged.
func TestPartitionsFull(t *testing.T) {
	b := newTenants(t, 1, "fattree:k=4,levels=2", partitions.Settings{}, 3, 64)
	everyone := func(keys ...mad.PKey) *partitions.Policy {
		p := partitions.Closed()
		for _, k := range keys {
			p.Partitions = append(p.Partitions,
				partitions.Partition{
					Key: k, Members: []partitions.Member{{Who: partitions.AllCAs, Membership: partitions.Full}},
				})
		}
		return p
	}
	for _, keys := range [][]mad.PKey{{1, 2}, {3, 4}, {4, 5}} {
		b.policy = everyone(keys...)
		b.keys = b.meaning(b.policy)
		b.Partition(b.m.Manager, sweep.Partitions{Policy: b.policy})
		b.pass(5 * time.Second)
		b.judgeTables(nil)
		b.judgePaths()
		b.mustBeSettled()
	}
	b.Partition(b.m.Manager, sweep.Partitions{Policy: everyone(4, 5, 6)})
	b.pass(5 * time.Second)
	if n := b.m.says("ERROR", "holds 3 P_Keys, and no room is left for 0x8006"); n != 8 {
		t.Errorf("%d ports are logged, want each of 8 once", n)
	}
	b.judgePaths()
	b.mustBeSettled()
}

// TestBadKeys: traps 257 and 259 are logged with GUIDs, and counted by the sender of the packet.
func TestBadKeys(t *testing.T) {
	for trap, enforce := range ordered(map[smp.TrapNumber]partitions.Enforcement{smp.TrapBadPKey: partitions.EnforceOff,
		smp.TrapSwitchBadPKey: partitions.EnforceBoth}) {
		b := newTenants(t, 1, "fattree:k=4,levels=2", partitions.Settings{Enforce: enforce}, 64, 64)
		from, to := host(b.net, 2), host(b.net, 5)
		p := partitions.Closed()
		p.Partitions = append(p.Partitions, partitions.Partition{Key: 1, Members: []partitions.Member{
			{Who: partitions.OnePort, Port: b.Fabric.PortGUID(from), Membership: partitions.Full},
		}})
		b.Partition(b.m.Manager, sweep.Partitions{Policy: p, Settings: b.settings})
		b.pass(5 * time.Second)
		if end := b.send(from, to, 1); end != fabric.DropPKey {
			t.Fatalf("to one that is no member: %v", end)
		}
		b.pass(2 * time.Second)
		stats := b.m.Core.Stats()
		offenders := slices.Collect(stats.Offenders())
		if len(offenders) != 1 || offenders[0].Port != b.Fabric.PortGUID(from) || offenders[0].Trap != trap ||
			offenders[0].Count == 0 {
			t.Errorf("%v: %+v", trap, offenders)
		}
		if b.m.says("from port "+b.Fabric.PortGUID(from).String(), "to port "+b.Fabric.PortGUID(to).String()) == 0 {
			t.Errorf("%v: the ports are not logged", trap)
		}
	}
}

// TestLatePKeys: a Set of the first wave that arrives when the second is over puts a key
// back that was removed. A late answer shows it, and where that is lost, too, the next light
// sweep, if the block had to be sent twice.
func TestLatePKeys(t *testing.T) {
	for _, lost := range []bool{false, true} { // the answers to the late Sets
		b := newTenants(t, 1, "fattree:k=4,levels=2", partitions.Settings{Enforce: partitions.EnforceOff}, 64, 64)
		policy := func(key mad.PKey) {
			b.policy = partitions.Closed()
			b.policy.Partitions = append(b.policy.Partitions, partitions.Partition{Key: key,
				Members: []partitions.Member{{Who: partitions.AllCAs, Membership: partitions.Full}}})
			b.keys = b.meaning(b.policy)
			b.Partition(b.m.Manager, sweep.Partitions{Policy: b.policy, Settings: b.settings})
		}
		policy(1)
		b.pass(5 * time.Second)
		var late []mad.Datagram // what the hosts were sent in the first wave
		forward := b.m.OnAction
		b.m.OnAction = func(now time.Duration, a manager.Action) {
			if send, ok := a.(manager.Send); ok {
				for _, d := range send.Datagrams {
					if d.Packet.AttrID() == smp.AttrPKeyTable && d.Packet.Method() == mad.MethodSet &&
						d.Packet.AttrMod() == 0 && len(late) < 8 {
						late = append(late, d)
					}
				}
			}
			forward(now, a)
		}
		dropping := false
		b.m.Heard = func(received []mad.Datagram) {
			for i := range received {
				if dropping && received[i].Packet.AttrID() == smp.AttrPKeyTable {
					received[i].Packet.SetTID(0)
					received[i].Packet.SetMethod(mad.MethodSend)
				}
			}
		}
		dropping = lost // the first answers are lost, so that all is sent again
		policy(2)
		b.pass(100 * time.Millisecond)
		dropping = false
		b.pass(3 * time.Second)
		b.judgeTables(nil)
		whole := b.tables()
		dropping = lost
		b.m.Station.Send(late)
		b.pass(time.Millisecond)
		dropping = false
		if slices.EqualFunc(b.hosts(), b.hosts(), func(at, _ net.End) bool {
			return slices.Equal(whole[at], b.Fabric.PKeys(at))
		}) {
			t.Fatal("the late Sets change nothing: no test")
		}
		b.pass(settling)
		b.judgeTables(nil)
		b.judgePaths()
	}
}
