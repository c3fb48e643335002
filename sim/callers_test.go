package sim_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/partitions/callers"
	"ibsm/registry"
	"ibsm/sa"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// callerRules are those of orders in simulations.
func callerRules(file *partitions.Policy, now int64) *callers.Rules {
	return &callers.Rules{File: file, Range: [2]mad.PKey{0x100, 0x1ff}, Now: now}
}

// pending is an order that may not be answered yet.
type pending struct {
	answered bool
	took     time.Duration
	sa.PartitionAnswer
}

// order gives a manager an order.
func (b *harness) order(m *watched, mirrored bool,
	decide func(s *registry.State, now int64) (*callers.Done, error)) *pending {
	p, began := &pending{}, b.Fabric.Now()
	b.World.Order(m.Manager, sa.PartitionOrder{Decide: decide, Mirrored: mirrored, Answer: func(a sa.PartitionAnswer) {
		if p.answered {
			b.Error("an order is answered twice")
		}
		p.answered, p.took, p.PartitionAnswer = true, b.Fabric.Now()-began, a
	}})
	return p
}

// put orders a partition, and waits for the answer.
func (b *harness) put(m *watched, w callers.Wanted) *callers.Done {
	b.Helper()
	p := b.order(m, false, func(s *registry.State, now int64) (*callers.Done, error) {
		return callerRules(nil, now).Put(s, &w, callers.Match{})
	})
	b.Run(b.Fabric.Now()+5*time.Second, func() bool { return p.answered })
	if !p.answered || p.Err != nil {
		b.Fatalf("partition %s: answered %t, %v", w.Name, p.answered, p.Err)
	}
	return p.Done
}

// delete orders a partition to be deleted.
func (b *harness) delete(m *watched, name string) {
	b.Helper()
	p := b.order(m, false, func(s *registry.State, now int64) (*callers.Done, error) {
		return callerRules(nil, now).Delete(s, name, callers.Match{})
	})
	b.Run(b.Fabric.Now()+5*time.Second, func() bool { return p.answered })
	if !p.answered || p.Err != nil {
		b.Fatalf("partition %s: answered %t, %v", name, p.answered, p.Err)
	}
}

func (b *harness) memberAt(at net.End) callers.Member {
	return callers.Member{Port: b.Fabric.PortGUID(at)}
}

// keysWithin waits until a port has exactly these P_Keys.
func (b *harness) keysWithin(d time.Duration, at net.End, want ...mad.PKey) {
	b.Helper()
	held := func() []mad.PKey {
		return slices.DeleteFunc(slices.Clone(b.Fabric.PKeys(at)), func(k mad.PKey) bool { return k == 0 })
	}
	if !b.Run(b.Fabric.Now()+d, func() bool { return slices.Equal(held(), want) }) {
		b.Errorf("%v has %v, want %v", at, held(), want)
	}
}

// TestCallers: without a partition file the P_Keys of callers' partitions alone are written and removed; over a
// restart and a takeover they stay.
func TestCallers(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	written := 0
	b := newHarness(t, n, fabric.Config{Seed: 1, OnSet: func(s fabric.Set) {
		if s.Attr == smp.AttrPKeyTable {
			written++
		}
	}})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	disk := sim.NewDisk(time.Millisecond)
	first := b.addKept(host(n, 0), high, disk)
	b.pass(settling)
	foreign := host(n, 3)
	b.Partition(first.Manager, sweep.Partitions{Policy: partitions.Default().WithPartitions([]partitions.Partition{
		{Name: "earlier", Key: 0x555, Members: []partitions.Member{{Who: partitions.OnePort,
			Port: b.Fabric.PortGUID(foreign), Membership: partitions.Full}}}}, 0, nil)})
	b.keysWithin(time.Second, foreign, 0xffff, 0x8555)
	b.Partition(first.Manager, sweep.Partitions{})
	one, two, away := host(n, 1), host(n, 2), host(n, 4)
	b.Fabric.LinkDown(away)
	b.pass(settling)

	done := b.put(first, callers.Wanted{Name: "red", IPoIB: true,
		Members: []callers.Member{b.memberAt(one), b.memberAt(two), b.memberAt(foreign), b.memberAt(away)}})
	if !done.Created || done.Partition.Key != 0x100 || done.Partition.Number != 1 {
		t.Errorf("made %+v", done)
	}
	red := mad.PKey(0x8100)
	b.keysWithin(time.Second, one, 0xffff, red)
	b.keysWithin(time.Second, foreign, 0xffff, 0x8555, red)
	if _, is := first.Registrar().State().Group(registry.BroadcastMGID(red, 2)); !is {
		t.Error("the partition has no broadcast group")
	}
	again := b.put(first, callers.Wanted{Name: "red", IPoIB: true,
		Members: []callers.Member{b.memberAt(away), b.memberAt(two), b.memberAt(foreign), b.memberAt(one)}})
	if len(again.Changes) > 0 || again.Partition.Number != 1 {
		t.Errorf("the same once more: %+v", again)
	}
	b.Fabric.LinkUp(away)
	active := func(at net.End) func() bool {
		return func() bool {
			info := b.Fabric.PortInfo(at)
			return info.PortState() == smp.PortActive
		}
	}
	if !b.Run(b.Fabric.Now()+settling, active(away)) || !slices.Contains(b.Fabric.PKeys(away), red) {
		t.Errorf("a port that comes back is ACTIVE with %v", b.Fabric.PKeys(away))
	}

	// a restart with the store writes no P_Key table, a takeover neither
	second := b.addKept(host(n, 5), low, sim.NewDisk(time.Millisecond))
	b.pass(settling)
	if got := second.Registrar().State().PartitionNumber(); got != 1 {
		t.Errorf("the standby knows %d changes", got)
	}
	written = 0
	b.Kill(first.Manager)
	if !b.Run(b.Fabric.Now()+settling, func() bool { return second.View != nil }) {
		t.Fatal("the standby does not take over")
	}
	b.pass(settling)
	first = b.addKept(host(n, 0), high, disk)
	b.pass(settling)
	if written > 0 {
		t.Errorf("a takeover and a restart wrote %d P_Key tables", written)
	}
	master := first
	if second.last() == smp.Master {
		master = second
	}
	b.delete(master, "red")
	b.keysWithin(time.Second, one, 0xffff)
	b.keysWithin(time.Second, foreign, 0xffff, 0x8555)
	if done := b.put(master, callers.Wanted{Name: "blue"}); done.Partition.Key != 0x101 {
		t.Errorf("within an hour P_Key %s is given again", done.Partition.Key)
	}
}

// TestCallersMirrored: an order is answered when the standby has it; where none answers within two seconds, it is
// answered without, or taken back where mirroring is required.
func TestCallersMirrored(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first := b.addKept(host(n, 0), high, sim.NewDisk(20*time.Millisecond))
	b.pass(settling)
	put := func(name string, mirrored bool) *pending {
		p := b.order(first, mirrored, func(s *registry.State, now int64) (*callers.Done, error) {
			return callerRules(nil, now).Put(s, &callers.Wanted{Name: name, Members: []callers.Member{
				b.memberAt(host(n, 1))}}, callers.Match{})
		})
		b.pass(3 * time.Second)
		if !p.answered {
			t.Fatalf("%s is not answered", name)
		}
		return p
	}
	number := func() uint64 { return first.Registrar().State().PartitionNumber() }
	if p := put("alone", false); p.Err != nil || p.Unmirrored || p.took < 20*time.Millisecond || p.took > time.Second {
		t.Errorf("without a standby: %v after %v", p.Err, p.took)
	}
	if p := put("required", true); !errors.Is(p.Err, sa.ErrNotMirrored) || number() != 1 {
		t.Errorf("required without a standby: %v, number %d", p.Err, number())
	}
	second := b.addKept(host(n, 5), low, sim.NewDisk(time.Millisecond))
	b.pass(settling)
	if p := put("both", true); p.Err != nil || p.Unmirrored || p.took > 200*time.Millisecond {
		t.Errorf("with a standby: %v after %v", p.Err, p.took)
	}
	if _, is := second.Registrar().State().PartitionNamed("both"); !is {
		t.Error("answered before the standby has it")
	}
	second.Asleep = b.Fabric.Now() + time.Hour
	if p := put("slow", false); p.Err != nil || !p.Unmirrored || p.took < sa.MirrorTimeout {
		t.Errorf("a standby that does not answer: %v after %v, unmirrored %t", p.Err, p.took, p.Unmirrored)
	}
	second.Asleep = 0
	b.pass(settling)
	before := slices.Collect(first.Registrar().State().Partitions())
	second.Asleep = b.Fabric.Now() + time.Hour
	if p := put("taken-back", true); !errors.Is(p.Err, sa.ErrNotMirrored) || p.took < sa.MirrorTimeout {
		t.Errorf("required, and the standby does not answer: %v after %v", p.Err, p.took)
	}
	if after := slices.Collect(first.Registrar().State().Partitions()); !slices.Equal(after, before) {
		t.Errorf("%v was taken back to %v", before, after)
	}
	standby := b.order(second, false, func(*registry.State, int64) (*callers.Done, error) { return nil, nil })
	if !errors.Is(standby.Err, sa.ErrNotMaster) {
		t.Errorf("a standby answers %v", standby.Err)
	}
}

// TestCallersApart: two halves of a cut subnet have a master each, and both take orders. When they are one again, what
// either has answered holds.
func TestCallersApart(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first := b.addKept(host(n, 0), high, sim.NewDisk(time.Millisecond))
	b.pass(settling)
	second := b.addKept(host(n, 5), low, sim.NewDisk(time.Millisecond))
	b.pass(settling)
	member := func(i int) []callers.Member { return []callers.Member{b.memberAt(host(n, i))} }
	b.put(first, callers.Wanted{Name: "both", Members: member(1)})
	b.put(first, callers.Wanted{Name: "deleted", Members: member(1)})

	leaf := b.Fabric.Peer(host(n, 0)).Node
	var cut []net.End
	for at := range b.Fabric.Ports() {
		if peer := b.Fabric.Peer(at); at.Node == leaf && at.Port != 0 && b.Fabric.NodeType(peer.Node) == mad.Switch {
			cut = append(cut, at)
		}
	}
	for _, at := range cut {
		b.Fabric.LinkDown(at)
	}
	if !b.Run(b.Fabric.Now()+settling, func() bool { return second.View != nil }) || first.View == nil {
		t.Fatal("not each half has a master")
	}
	b.pass(settling)
	b.put(first, callers.Wanted{Name: "both", Note: "first", Members: member(2)})
	b.delete(first, "deleted")
	b.put(first, callers.Wanted{Name: "mine", Members: member(3)})
	b.put(second, callers.Wanted{Name: "theirs", Key: 0x150, Members: member(6)})
	b.put(second, callers.Wanted{Name: "deleted", Members: member(7)})
	b.put(second, callers.Wanted{Name: "more", Key: 0x151, Members: member(7)})
	b.put(second, callers.Wanted{Name: "both", Note: "second", Members: member(4)})

	for _, at := range cut {
		b.Fabric.LinkUp(at)
	}
	b.pass(convergence)
	if first.last() != smp.Master || second.last() != smp.Standby {
		t.Fatalf("the first is %v, the second %v", first.last(), second.last())
	}
	for _, m := range []*watched{first, second} {
		s := m.Registrar().State()
		for name, members := range map[string][]int{"both": {2, 4}, "mine": {3}, "theirs": {6}, "deleted": {7},
			"more": {7}} {
			p, is := s.PartitionNamed(name)
			for _, i := range members {
				if _, member := s.PartitionMember(registry.MemberKey{Key: p.Key, Port: b.Fabric.PortGUID(host(n,
					i))}); !is || !member {
					t.Errorf("%v: host %d is not in %s, %+v", m.last(), i, name, p)
				}
			}
		}
		if p, _ := s.PartitionNamed("both"); p.Note != "second" { // the newer change
			t.Errorf("%v: %+v", m.last(), p)
		}
	}
	if got := first.Registrar().Stats().Joined; got != 1 {
		t.Errorf("joined %d times", got)
	}
	b.keysWithin(time.Second, host(n, 6), 0xffff, 0x8150)
}

// TestCallersTakenBack: the first order of all, without a partition file, is taken back, and no port keeps its P_Key.
func TestCallersTakenBack(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	first := b.addKept(host(n, 0), high, sim.NewDisk(time.Millisecond))
	second := b.addKept(host(n, 5), low, sim.NewDisk(time.Millisecond))
	b.pass(settling)
	second.Asleep = b.Fabric.Now() + time.Hour
	p := b.order(first, true, func(s *registry.State, now int64) (*callers.Done, error) {
		return callerRules(nil, now).Put(s, &callers.Wanted{Name: "red", IPoIB: true,
			Members: []callers.Member{b.memberAt(host(n, 1))}}, callers.Match{})
	})
	b.pass(3 * time.Second)
	if !p.answered || !errors.Is(p.Err, sa.ErrNotMirrored) {
		t.Fatalf("answered %t, %v", p.answered, p.Err)
	}
	if left := first.Registrar().State().Counts(); left.Partitions+left.PartitionMembers != 0 {
		t.Errorf("%+v is left", left)
	}
	b.keysWithin(time.Second, host(n, 1), 0xffff)
}
