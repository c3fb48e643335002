package sim_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/vports"
	"ibsm/topo/net"
)

// held is what functions hold, by their GUIDs.
type held struct {
	lid  mad.LID
	keys string
}

// held is what all ACTIVE functions hold.
func (b *functions) held() map[mad.GUID]held {
	all := map[mad.GUID]held{}
	for at := range b.functions() {
		if info := b.Fabric.VPortInfo(at); info.VPortState() == smp.PortActive {
			keys := slices.DeleteFunc(b.Fabric.VPortPKeys(at), func(k mad.PKey) bool { return k == 0 })
			slices.Sort(keys) // whose places may be others
			all[info.PortGUID()] = held{b.Fabric.VPortLID(at), fmt.Sprint(keys)}
		}
	}
	return all
}

// tenantsByFunction is a policy in which each function is in a partition with those of its index, besides the default
// one.
func (b *functions) tenantsByFunction() *partitions.Policy {
	policy := &partitions.Policy{Partitions: []partitions.Partition{
		{Name: "Default", Key: partitions.DefaultKey, Members: []partitions.Member{
			{Who: partitions.All, Membership: partitions.Full}}}}}
	for at := range b.functions() {
		key := mad.PKey(at.Index)
		if policy.Find(key) == nil {
			policy.Partitions = append(policy.Partitions, partitions.Partition{Name: fmt.Sprint("t", key), Key: key})
		}
		part := policy.Find(key)
		part.Members = append(part.Members, partitions.Member{Who: partitions.OnePort, Port: functionGUID(at),
			Membership: partitions.Full})
	}
	return policy
}

// neverLost fails the test at the first Set after which a packet to a function that was reached is lost.
func (b *functions) neverLost(from net.End, to map[mad.GUID]held) func(fabric.Set) {
	return func(s fabric.Set) {
		for guid, h := range ordered(to) {
			if b.Failed() {
				return
			}
			if _, end := b.Fabric.Probe(from, h.lid, 0xffff, 0, nil); end != fabric.Delivered {
				b.Errorf("after a Set of %s at node %d, a packet to function %v, LID %v, ends with %v",
					smp.AttrName(s.Attr), s.Node, guid, h.lid, end)
			}
		}
	}
}

// A restart, with the manager's store or without, and a takeover by another manager move no LID and no P_Key of a
// function, and no switch forgets the way to one.
func TestFunctionsStay(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own LIDs %t", own), func(t *testing.T) {
			var look func(fabric.Set)
			b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3, OwnLIDs: own}, fabric.Config{
				OnSet: func(s fabric.Set) {
					if look != nil {
						look(s)
					}
				}})
			cfg := virtualConfig(vports.Enable)
			cfg.Sweep.Partitions = sweep.Partitions{Policy: b.tenantsByFunction()}
			disk := sim.NewDisk(10 * time.Millisecond)
			b.m = b.addKept(firstHost(b.net), cfg, disk)
			t.Cleanup(b.m.dump)
			b.pass(settling)
			b.mustAllBe(smp.PortActive)
			before := b.held()
			if len(before) != 8*3 {
				t.Fatalf("%d functions are ACTIVE", len(before))
			}
			look = b.neverLost(host(b.net, 1), before)
			ignoring := cfg
			ignoring.Sweep.Settings.VPorts.Mode = vports.Ignore
			for _, manager := range []struct {
				name   string
				begin  func() *watched
				ignore bool
			}{
				{"with its store", func() *watched { return b.addKept(firstHost(b.net), cfg, disk) }, false},
				{"without", func() *watched { return b.add(firstHost(b.net), cfg) }, false},
				{"at another", func() *watched { return b.add(host(b.net, 2), cfg) }, false},
				{"without virt_enabled", func() *watched { return b.add(host(b.net, 2), ignoring) }, true},
				{"at the first, with its store, without virt_enabled",
					func() *watched { return b.addKept(firstHost(b.net), ignoring, disk) }, true},
				{"with its store, and virt_enabled again",
					func() *watched { return b.addKept(firstHost(b.net), cfg, disk) }, false},
			} {
				b.World.Kill(b.m.Manager)
				if b.m = manager.begin(); manager.ignore {
					look = nil               // it knows of no LIDs of functions
					b.pass(10 * time.Minute) // longer than a port that does not answer keeps its LID
				} else {
					b.pass(settling)
					b.mustShow()
					b.mustReachFunctions()
					look = b.neverLost(host(b.net, 1), before)
				}
				if after := b.held(); !maps.Equal(before, after) {
					t.Errorf("a manager %s: functions hold %v, before %v", manager.name, after, before)
				}
			}
			b.mustBeWhole(b.m)
		})
	}
}

// A function moves to another host with its GUID, and its LID and P_Keys with it, whether it leaves before it comes,
// at once or later. Nobody else loses a packet.
func TestFunctionMoves(t *testing.T) {
	for name, overlap := range map[string]time.Duration{"before": -2 * time.Second, "at once": 0,
		"after": 5 * time.Second} {
		for _, own := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, own LIDs %t", name, own), func(t *testing.T) {
				var look func(fabric.Set)
				b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3, OwnLIDs: own}, fabric.Config{
					OnSet: func(s fabric.Set) {
						if look != nil {
							look(s)
						}
					}})
				cfg := virtualSAConfig()
				cfg.Sweep.Partitions = sweep.Partitions{Policy: b.tenantsByFunction()}
				b.start(cfg)
				from, to := fabric.VPort{At: host(b.net, 3), Index: 2}, fabric.VPort{At: host(b.net, 6), Index: 3}
				guid := functionGUID(from)
				b.Fabric.SetFunctionGUID(to, 0, 0)
				b.pass(settling)
				before := b.held()
				others := maps.Clone(before)
				delete(others, guid)
				want := map[mad.GUID][3]int{}
				for _, v := range []fabric.VPort{from, {At: host(b.net, 1), Index: 1}, {At: to.At}} {
					b.joinAs(v, clientGroup(0))
					b.offerAs(v)
					want[b.Fabric.VPortGID(v).GUID()] = [3]int{1, 1, 1}
				}
				look = b.neverLost(host(b.net, 1), others)
				leave := func() { b.Fabric.SetFunctionGUID(from, 0, 0) }
				come := func() { b.Fabric.SetFunctionGUID(to, guid, guid|1<<48) }
				switch {
				case overlap < 0:
					leave()
					b.pass(-overlap)
					come()
				case overlap == 0:
					leave()
					come()
				default:
					come()
					b.pass(overlap)
					leave()
				}
				b.pass(settling)
				info := b.Fabric.VPortInfo(to)
				if info.VPortState() != smp.PortActive || info.PortGUID() != guid {
					t.Fatalf("the function is %v with %v where it came", info.VPortState(), info.PortGUID())
				}
				now, was := b.held()[guid], before[guid]
				if now.keys != was.keys || own && now.lid != was.lid {
					t.Errorf("it holds %v, and held %v", now, was)
				}
				if i := b.m.View.Topo.FindVPort(guid); i < 0 ||
					b.m.View.Topo.Ports[b.m.View.Topo.VPorts.At(i).Port].GUID != b.Fabric.PortGUID(to.At) {
					t.Error("it is not found where it came")
				}
				b.mustReachFunctions()
				b.mustBeRegistered("after it has moved", want)
				if got := b.hears(host(b.net, 1), clientGroup(0)); !slices.Equal(got, []net.End{to.At}) {
					t.Errorf("a packet for the group reaches %v", got)
				}
				for _, f := range b.m.View.Findings {
					t.Errorf("a finding: %v", f.String())
				}
			})
		}
	}
}

// Two functions with one GUID for long are a finding, and both stay as they are; so do a function with the GUID of a
// port, and the port.
func TestFunctionDuplicates(t *testing.T) {
	b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3}, fabric.Config{})
	b.start(virtualConfig(vports.Enable))
	one, other := fabric.VPort{At: host(b.net, 3), Index: 2}, fabric.VPort{At: host(b.net, 6), Index: 3}
	b.Fabric.SetFunctionGUID(other, functionGUID(one), 7)
	b.Fabric.SetFunctionGUID(fabric.VPort{At: host(b.net, 4), Index: 1}, b.Fabric.PortGUID(host(b.net, 5)), 9)
	b.pass(5 * time.Minute)
	if b.state(one) != smp.PortActive || b.state(other) != smp.PortActive {
		t.Errorf("the two are %v and %v", b.state(one), b.state(other))
	}
	count := 0
	for _, f := range b.m.View.Findings {
		if f.Kind == finding.DuplicateVPort {
			count++
		}
	}
	if count != 2 {
		t.Errorf("%d findings of duplicates, want 2: %v", count, b.m.View.Findings)
	}
	b.mustBeWhole(b.m)
	b.Fabric.SetFunctionGUID(other, functionGUID(other), 7)
	b.pass(settling)
	b.mustReachFunctions()
	if b.state(one) != smp.PortActive || b.state(other) != smp.PortActive {
		t.Errorf("with GUIDs of their own they are %v and %v", b.state(one), b.state(other))
	}
}

// A GUID and its P_Key come first, and the function later, while hosts reboot and managers take over: a function is in
// its partitions before it is ACTIVE, each time.
func TestFunctionsAfterTheirPartitions(t *testing.T) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 57))
			b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 4, OwnLIDs: rng.IntN(2) == 0},
				fabric.Config{Seed: seed, TrainTime: 5 * time.Millisecond,
					Caps: func(_ int32, n *net.Node, c *fabric.Caps) {
						c.PartitionEnforcementCap = uint16(16 * rng.IntN(2))
					}})
			cfg := virtualConfig(vports.Enable)
			cfg.Sweep.Partitions = sweep.Partitions{Policy: b.tenantsByFunction()}
			b.keys = func(at fabric.VPort) []mad.PKey {
				guid := b.Fabric.VPortGID(at).GUID()
				return []mad.PKey{0xffff, 0x8000 | mad.PKey(guid&0xff)}
			}
			all := slices.Collect(b.functions())
			for _, at := range all {
				b.Fabric.SetFunctionGUID(at, 0, 0)
			}
			disk := sim.NewDisk(10 * time.Millisecond)
			b.m = b.addKept(firstHost(b.net), cfg, disk)
			t.Cleanup(func() { b.m.dump() })
			b.pass(20 * time.Second)
			for range 60 {
				at := all[rng.IntN(len(all))]
				switch rng.IntN(8) {
				case 0:
					b.Fabric.RebootFunction(at)
				case 1:
					b.Fabric.SetFunctionGUID(at, 0, 0)
				case 2:
					if at.At != firstHost(b.net) && at.At != host(b.net, 2) {
						b.Fabric.NodeDown(at.At.Node)
						b.pass(time.Duration(rng.IntN(2000)) * time.Millisecond)
						b.Fabric.NodeUp(at.At.Node)
					}
				case 3:
					b.World.Kill(b.m.Manager)
					if rng.IntN(2) == 0 {
						b.m = b.addKept(firstHost(b.net), cfg, disk)
					} else {
						b.m = b.add(host(b.net, 2), cfg)
						disk = sim.NewDisk(10 * time.Millisecond)
					}
				default:
					b.Fabric.SetFunctionGUID(at, functionGUID(at), functionGUID(at)|1<<48)
				}
				b.pass(time.Duration(rng.IntN(1500)) * time.Millisecond)
			}
			for _, at := range all {
				b.Fabric.SetFunctionGUID(at, functionGUID(at), functionGUID(at)|1<<48)
			}
			b.pass(5 * time.Minute)
			if len(b.early) > 0 {
				t.Errorf("%d times a function was ACTIVE too early: %v", len(b.early), b.early[0])
			}
			b.mustAllBe(smp.PortActive)
			b.mustShow()
			b.mustReachFunctions()
			b.mustBeWhole(b.m)
		})
	}
}

// A manager that knows nothing of functions gives the LID of one to a port that comes. The next one that does gives the
// function another LID, and leaves the port its own.
func TestFunctionLIDTaken(t *testing.T) {
	b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3, OwnLIDs: true}, fabric.Config{})
	late := host(b.net, 7)
	b.Fabric.LinkDown(late)
	cfg := virtualConfig(vports.Enable)
	b.start(cfg)
	before := b.held()
	b.World.Kill(b.m.Manager)
	ignoring := virtualConfig(vports.Ignore)
	b.m = b.add(host(b.net, 2), ignoring)
	b.pass(settling)
	b.Fabric.LinkUp(late)
	b.pass(settling)
	pi := b.Fabric.PortInfo(late)
	taken := pi.LID()
	var of mad.GUID
	for guid, h := range before {
		if h.lid == taken {
			of = guid
		}
	}
	if of == 0 {
		t.Fatalf("the port that came has LID %v, which no function has", taken)
	}
	b.World.Kill(b.m.Manager)
	b.m = b.add(firstHost(b.net), cfg)
	b.pass(settling)
	b.mustAllBe(smp.PortActive)
	b.mustShow()
	b.mustReachFunctions()
	b.mustBeWhole(b.m)
	if pi = b.Fabric.PortInfo(late); pi.LID() != taken {
		t.Errorf("the port has LID %v, had %v", pi.LID(), taken)
	}
	after := b.held()
	for guid, h := range before {
		if now := after[guid]; now != h && guid != of {
			t.Errorf("function %v holds %v, held %v", guid, now, h)
		}
	}
	if after[of].lid == taken {
		t.Errorf("function %v keeps LID %v of the port", of, taken)
	}
}

// Functions move between hosts at random, before, at once and after they leave, also together, while masters are killed
// and standbys take over: each that is up has its LID, P_Keys, memberships, services and subscriptions, and packets
// between all others never miss.
func TestFunctionsMoveAround(t *testing.T) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			moveAround(t, seed)
		})
	}
}

func moveAround(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 58))
	var look func(fabric.Set)
	own := rng.IntN(2) == 0
	b := newFunctions(t, "fattree:k=4,levels=2", fabric.VPorts{Functions: 3, OwnLIDs: own}, fabric.Config{
		Seed: seed, OnSet: func(s fabric.Set) {
			if look != nil {
				look(s)
			}
		}})
	all := slices.Collect(b.functions())
	for _, at := range all { // two of three have a GUID
		if at.Index == 3 {
			b.Fabric.SetFunctionGUID(at, 0, 0)
		}
	}
	cfg := virtualSAConfig()
	cfg.Sweep.Partitions = sweep.Partitions{Policy: b.tenantsByFunction()}
	masters := []net.End{host(b.net, 0), host(b.net, 2)}
	cfg.Elect.Priority = 15
	b.m = b.addKept(masters[0], cfg, sim.NewDisk(time.Millisecond))
	b.pass(10 * time.Second)
	cfg.Elect.Priority--
	standby := b.addKept(masters[1], cfg, sim.NewDisk(time.Millisecond))
	t.Cleanup(func() { b.m.dump() })
	b.pass(settling)
	want := map[mad.GUID][3]int{}
	for _, at := range all {
		if b.state(at) == smp.PortActive && rng.IntN(2) == 0 {
			b.joinAs(at, clientGroup(0))
			b.offerAs(at)
			want[functionGUID(at)] = [3]int{1, 1, 1}
		}
	}
	b.pass(time.Second)
	before := b.held()
	free := func() (list []fabric.VPort) {
		for _, at := range all {
			if b.Fabric.VPortGID(at).GUID() == 0 {
				list = append(list, at)
			}
		}
		return list
	}
	taken := func() (list []fabric.VPort) {
		for _, at := range all {
			if b.state(at) == smp.PortActive {
				list = append(list, at)
			}
		}
		return list
	}
	for range 12 {
		others := b.held()
		moves := map[fabric.VPort]fabric.VPort{}
		sources, targets := taken(), free()
		for range 1 + rng.IntN(2) {
			i, j := rng.IntN(len(sources)), rng.IntN(len(targets))
			if sources[i].At == targets[j].At {
				continue
			}
			moves[sources[i]] = targets[j]
			delete(others, b.Fabric.VPortGID(sources[i]).GUID())
			sources, targets = slices.Delete(sources, i, i+1), slices.Delete(targets, j, j+1)
		}
		look = b.neverLost(host(b.net, 1), others)
		kind, gap := rng.IntN(3), time.Duration(rng.IntN(5000))*time.Millisecond
		guids := map[fabric.VPort]mad.GUID{}
		from := slices.SortedFunc(maps.Keys(moves), func(x, y fabric.VPort) int {
			return cmp.Or(cmp.Compare(x.At.Node, y.At.Node), cmp.Compare(x.Index, y.Index))
		})
		for _, at := range from {
			guids[at] = b.Fabric.VPortGID(at).GUID()
			switch kind {
			case 0:
				b.Fabric.SetFunctionGUID(at, 0, 0)
			case 1:
				b.Fabric.MoveFunctionGUID(at, moves[at])
			default:
				b.Fabric.SetFunctionGUID(moves[at], guids[at], guids[at]|1<<48)
			}
		}
		b.pass(gap)
		takeover := rng.IntN(4) == 0
		if takeover { // the standby takes over meanwhile, and another one follows it
			b.World.Kill(b.m.Manager)
			masters[0], masters[1] = masters[1], masters[0]
			b.m = standby
			if !b.Run(b.Fabric.Now()+settling, func() bool { return b.m.View != nil }) {
				t.Fatal("the standby does not take over")
			}
			cfg.Elect.Priority--
			standby = b.addKept(masters[1], cfg, sim.NewDisk(time.Millisecond))
		}
		for _, at := range from {
			switch kind {
			case 0:
				b.Fabric.SetFunctionGUID(moves[at], guids[at], guids[at]|1<<48)
			case 2:
				b.Fabric.SetFunctionGUID(at, 0, 0)
			}
		}
		b.pass(20 * time.Second)
		look = nil
		after := b.held()
		for guid, was := range ordered(before) {
			is, up := after[guid]
			if !up || is.keys != was.keys || own && is.lid != was.lid {
				t.Fatalf("%v: function %v holds %v, is ACTIVE: %t, held %v", b.Fabric.Now(), guid, is, up, was)
			}
		}
		b.mustShow()
		if takeover { // the new master cannot know whether they restarted, and asks their clients to register again
			for _, at := range from {
				if members, _, _ := b.registered(guids[at]); members < want[guids[at]][0] {
					b.joinAs(moves[at], clientGroup(0))
					b.offerAs(moves[at])
				}
			}
		}
		b.mustBeRegistered(b.Fabric.Now().String(), want)
		b.mustReachFunctions()
	}
	b.pass(2 * time.Minute)
	for _, f := range b.m.View.Findings {
		t.Errorf("a finding: %v", f.String())
	}
	b.mustBeWhole(b.m)
}
