package sim_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sim/hosts"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// ways are those in which a master goes, and how soon its standby must be master. Each returns
// what brings its port back; nil where it is not gone.
var ways = []struct {
	name  string
	limit time.Duration
	lost  bool // its port goes, too
	goes  func(b *harness, master *watched) (back func())
}{
	{"killed", 2 * time.Second, false, func(b *harness, master *watched) func() {
		b.Kill(master.Manager)
		return nil
	}},
	{"link cut", 2 * time.Second, true, func(b *harness, master *watched) func() {
		at := master.Station.At()
		b.Fabric.LinkDown(at)
		return func() { b.Fabric.LinkUp(at) }
	}},
	{"host rebooted", 2 * time.Second, true, func(b *harness, master *watched) func() {
		at := master.Station.At()
		b.Kill(master.Manager)
		b.Fabric.NodeDown(at.Node)
		return func() { b.Fabric.NodeUp(at.Node) }
	}},
	{"stopped politely", 2 * time.Second, false, func(b *harness, master *watched) func() {
		b.pass(100 * time.Millisecond) // its disk has everything
		b.Kill(master.Manager)
		return nil
	}},
	{"is paused", 6500 * time.Millisecond, false, func(b *harness, master *watched) func() {
		master.Asleep = b.Fabric.Now() + 20*time.Second
		return nil
	}},
}

// A standby takes over from a master that goes in any way: in time, with all that hosts
// have registered, on the same MLIDs, and writing nothing but who is master now. Hosts that
// ask again meanwhile are all answered, and one that comes back does not take over again.
func TestFailover(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			f := newFailover(t)
			f.boot(hosts.Boot{Over: 10 * time.Second, Own: true})
			f.boot(hosts.Boot{Over: 10 * time.Second})
			before := f.first.Registrar().State()
			f.mustBeRegistered(before)
			lids := f.lids()
			f.watch(way.lost)
			f.pass(37 * time.Millisecond) // somewhere between two looks at the master
			from := f.Fabric.Now()
			back := way.goes(f.harness, f.first)
			f.mustBeMaster(from, way.limit)
			f.mustHave(before)
			f.boot(hosts.Boot{Over: 2 * time.Second, Own: true})
			f.boot(hosts.Boot{Over: 2 * time.Second})
			f.watching = false
			f.Logf("Sets: %v", f.sets)
			f.mustNeedSets()
			f.mustHave(before)
			if back != nil {
				back()
			}
			f.pass(settling)
			f.mustStandBy()
			f.mustForwardAsBefore()
			for guid, lid := range f.lids() {
				if lid != lids[guid] {
					f.Errorf("port %v had LID %d and has %d", guid, lids[guid], lid)
				}
			}
		})
	}
}

// written is a port that a Set was for.
type written struct {
	node int32
	port uint32
}

// failover is a fabric with a master, a standby and a crowd of hosts.
type failover struct {
	*harness
	first, second *watched
	crowd         *hosts.Crowd
	hosts         int

	watching bool
	lost     struct { // with the master: 0 and -1 where its port stays
		lid mad.LID
		sw  int32 // next to it, which shows that a port has changed
	}
	tables      map[int32][]byte   // of switches, when watching began
	sets        map[mad.AttrID]int // written while watching
	announced   map[written]bool   // that there is another master
	useless     []fabric.Set       // that say nothing new
	reregisters int
	early       int // written before the SA answered
	late        int // Sets of the first manager after it was paused
}

func newFailover(t *testing.T) *failover {
	n := nettest.Generate(t, stormSpec("fattree:k=8", "fattree:k=36"))
	f := &failover{sets: map[mad.AttrID]int{}, announced: map[written]bool{}}
	f.harness = newHarness(t, n, fabric.Config{Seed: 1, TrainTime: 100 * time.Millisecond, OnSet: f.set})
	if os.Getenv("IBSM_PROOF") != "" {
		f.ComputeTime = 500 * time.Millisecond // what it takes on one core, and more
	}
	high, low := registrarConfig(), registrarConfig()
	high.Elect.Priority, low.Elect.Priority = 9, 3
	high.Elect.MasterPriority, low.Elect.MasterPriority = 14, 14
	high.SweepInterval, low.SweepInterval = 0, 0
	// Of two masters the one with the lower GUID stays.
	f.first = f.addKept(host(n, 5), high, sim.NewDisk(time.Millisecond))
	t.Cleanup(f.first.dump)
	f.pass(settling)
	f.second = f.addKept(host(n, 0), low, sim.NewDisk(time.Millisecond))
	t.Cleanup(f.second.dump)
	f.pass(settling)
	if f.first.last() != smp.Master || f.second.last() != smp.Standby {
		t.Fatalf("the first is %v, the second %v", f.first.last(), f.second.last())
	}
	var others []net.End
	for at := range f.Fabric.EndPorts() {
		if at.Port != 0 && at != f.first.Station.At() && at != f.second.Station.At() {
			others = append(others, at)
		}
	}
	f.hosts = len(others)
	var err error
	if f.crowd, err = hosts.New(f.Fabric, 1, others); err != nil {
		t.Fatal(err)
	}
	forward := f.first.OnAction
	f.first.OnAction = func(now time.Duration, a manager.Action) {
		forward(now, a)
		if send, ok := a.(manager.Send); ok && f.watching {
			for i := range send.Datagrams {
				if p := &send.Datagrams[i].Packet; p.Method() == mad.MethodSet && p.AttrID() != smp.AttrSMInfo {
					f.late++
				}
			}
		}
	}
	return f
}

// set watches what is written.
func (f *failover) set(s fabric.Set) {
	if !f.watching {
		return
	}
	f.sets[s.Attr]++
	if f.second.View == nil {
		f.early++
	}
	info := (*smp.PortInfo)(&s.Data)
	if s.Attr == smp.AttrPortInfo && info.ClientReregister() {
		f.reregisters++
	}
	switch port := (written{s.Node, s.Mod}); {
	case s.Attr == smp.AttrPortInfo && !f.announced[port]:
		f.announced[port] = true
	case s.Attr == smp.AttrSwitchInfo && s.Node == f.lost.sw:
	case s.Attr == smp.AttrLinearForwardingTable && f.forgets(&s):
	default:
		f.useless = append(f.useless, s)
	}
}

// forgets reports whether a block of a table differs from what it was in the way to the
// port that is lost, and in nothing else.
func (f *failover) forgets(s *fabric.Set) bool {
	differs := 0
	for i, out := range s.Data {
		if lid := int(s.Mod)*len(s.Data) + i; lid < len(f.tables[s.Node]) && out != f.tables[s.Node][lid] {
			if mad.LID(lid) != f.lost.lid {
				return false
			}
			differs++
		}
	}
	return differs == 1
}

// watch begins to judge what is written. It knows whether the master's port goes.
func (f *failover) watch(lost bool) {
	f.tables = map[int32][]byte{}
	for node := range int32(f.Fabric.NumNodes()) {
		if f.Fabric.NodeType(node) == mad.Switch {
			f.tables[node] = bytes.Clone(f.Fabric.LFT(node))
		}
	}
	f.lost.sw = -1
	if lost {
		at := f.first.Station.At()
		pi := f.Fabric.PortInfo(at)
		f.lost.sw, f.lost.lid = f.Fabric.Peer(at).Node, pi.LID()
	}
	f.watching = true
}

// boot lets all hosts ask, and get the answers.
func (f *failover) boot(m hosts.Boot) {
	f.Helper()
	f.crowd.Begin(m)
	for end := f.Fabric.Now() + m.Over + 5*time.Second; f.Fabric.Now() < end; {
		f.crowd.Step()
		f.Run(f.Fabric.Now()+5*time.Millisecond, nil)
	}
	want := [hosts.NumKinds]int{hosts.BroadcastGroup: f.hosts, hosts.Join: f.hosts, hosts.Subscribe: 4 * f.hosts}
	if m.Own {
		want = [hosts.NumKinds]int{hosts.OwnGroup: f.hosts, hosts.Offer: f.hosts}
	}
	r := f.crowd.Report()
	for kind := range hosts.NumKinds {
		if o := &r.Kinds[kind]; len(o.Took) != want[kind] || o.GivenUp > 0 || len(o.Refused) > 0 {
			f.Errorf("%v: %d of %d granted, %d given up, refused %v", kind, len(o.Took), want[kind], o.GivenUp,
				o.Refused)
		}
	}
}

// mustBeRegistered fails the test where the crowd's registrations are not in a state.
func (f *failover) mustBeRegistered(s *registry.State) {
	f.Helper()
	if c := s.Counts(); c.Groups < f.hosts || c.Members != 2*f.hosts || c.Services != f.hosts ||
		c.Subscriptions != 4*f.hosts {
		f.Fatalf("%d hosts have registered %+v", f.hosts, c)
	}
}

// mustBeMaster waits until the second manager answers as master.
func (f *failover) mustBeMaster(from, limit time.Duration) {
	f.Helper()
	f.Run(from+time.Minute, func() bool { return f.second.last() == smp.Master })
	elected := f.Fabric.Now() - from
	f.Run(from+time.Minute, func() bool { return f.second.View != nil })
	serves := f.Fabric.Now() - from
	f.Logf("master after %v, SA answers after %v", elected, serves)
	if elected > limit {
		f.Errorf("the second manager is %v after %v", f.second.last(), elected)
	}
	if f.second.View == nil {
		f.Fatal("it does not answer")
	}
}

// mustHave fails the test where the second manager does not have what was registered.
func (f *failover) mustHave(before *registry.State) {
	f.Helper()
	is := f.second.Registrar().State()
	if !bytes.Equal(encoded(is), encoded(before)) {
		f.Errorf("%+v is registered, it was %+v", is.Counts(), before.Counts())
	}
}

func encoded(s *registry.State) (b []byte) {
	for c := range s.Changes() {
		b = c.AppendTo(b)
	}
	return b
}

// mustNeedSets fails the test where something was written that was not needed.
func (f *failover) mustNeedSets() {
	f.Helper()
	for _, s := range f.useless[:min(5, len(f.useless))] {
		f.Errorf("a useless Set of %s at %v of node %d port %d: % x", smp.AttrName(s.Attr), s.At, s.Node, s.Mod, s.Data)
	}
	if f.reregisters > 0 {
		f.Errorf("%d ports were asked to register again", f.reregisters)
	}
	if all := len(f.net.Nodes); len(f.announced) < all-1 || len(f.announced) > all {
		f.Errorf("%d of %d nodes know the master", len(f.announced), all)
	}
	if f.early > 0 {
		f.Errorf("%d Sets before the SA answers: hosts that ask for their paths anew are not answered", f.early)
	}
	if f.late > 0 {
		f.Errorf("the old master has sent %d Sets", f.late)
	}
}

// mustForwardAsBefore fails the test where a port is not Active, or a way is another than
// when watching began. A packet from each port to each other takes too long in full size.
func (f *failover) mustForwardAsBefore() {
	f.Helper()
	if at, not := f.Fabric.FirstNotActive(); not {
		f.Errorf("port %v is not Active", at)
	}
	for node, table := range f.tables {
		if !bytes.Equal(f.Fabric.LFT(node), table) {
			f.Errorf("switch %d forwards otherwise", node)
		}
	}
	if os.Getenv("IBSM_PROOF") == "" {
		f.mustBeWhole(f.second)
	}
}

// mustStandBy fails the test where the old master, if it still runs, is more than a standby.
func (f *failover) mustStandBy() {
	f.Helper()
	if !f.first.Exited && f.first.last() != smp.Standby || f.second.last() != smp.Master {
		f.Errorf("the first is %v, the second %v", f.first.last(), f.second.last())
	}
}
