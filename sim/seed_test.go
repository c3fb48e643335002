package sim_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/registry"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// One seed decides everything: the fabric, how it loses and delays, what breaks
// and when. While things break the manager has to go on answering; when they have
// been repaired it has to bring the fabric into order within convergence.
const (
	defaultSeeds = 20
	proofSeeds   = 200
	convergence  = 90 * time.Second
)

// seeds are those to run: see seedsOf.
func seeds(t *testing.T) []uint64 { return seedsOf(t, defaultSeeds, proofSeeds) }

// seedsOf are IBSM_SEED alone, which is a number or N-M for those from N to M-1, or the first of them all: few, or with
// IBSM_PROOF many, and those in testdata/seeds, with which make hunt has found a fault.
func seedsOf(t *testing.T, few, many uint64) (list []uint64) {
	if out := recordTo(); out != nil {
		fmt.Fprintln(out, "== seeded") // make compare runs further seeds
	}
	from, to := uint64(0), few
	if os.Getenv("IBSM_PROOF") != "" {
		to = many
	}
	if text := os.Getenv("IBSM_SEED"); text != "" {
		first, last, several := strings.Cut(text, "-")
		var err error
		if from, err = strconv.ParseUint(first, 0, 64); err == nil {
			if to = from + 1; several {
				to, err = strconv.ParseUint(last, 0, 64)
			}
		}
		if err != nil {
			t.Fatal("IBSM_SEED:", err)
		}
	}
	for seed := from; seed < to; seed++ {
		list = append(list, seed)
	}
	if os.Getenv("IBSM_SEED") == "" {
		list = append(list, foundSeeds(t)...)
	}
	return list
}

// foundSeeds are those of a test in testdata/seeds.
func foundSeeds(t *testing.T) (list []uint64) {
	text, err := os.ReadFile(filepath.Join("testdata", "seeds", t.Name()))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for word := range strings.FieldsSeq(string(text)) {
		seed, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			t.Fatalf("testdata/seeds/%s: %v", t.Name(), err)
		}
		list = append(list, seed)
	}
	return list
}

// repeat says how one seed is run again.
func repeat(t *testing.T, seed uint64) {
	if t.Failed() {
		t.Logf("to repeat: IBSM_SEED=%d go test ./sim -run '%s'", seed, t.Name())
	}
}

func TestSeeds(t *testing.T) {
	runSeeds(t, newOrdeal)
}

// Two managers go through it together: in the end one is master and the other stands by.
func TestSeedsOfTwo(t *testing.T) {
	runSeeds(t, func(t *testing.T, seed uint64) *ordeal {
		o := newOrdeal(t, seed)
		cfg := minhopConfig()
		cfg.Elect.Priority = uint8(o.rng.IntN(3))
		o.other = o.addNoted(o.otherHost(), cfg, nil)
		return o
	})
}

// A manager that is killed and started again goes on where it was: what was on its disk
// does not change.
func TestSeedsOfRestarts(t *testing.T) {
	runSeeds(t, func(t *testing.T, seed uint64) *ordeal {
		o := newOrdeal(t, seed)
		o.restarts = true
		return o
	})
}

// Ports join and leave multicast groups all the while. In the end each member gets one
// copy and nobody else any.
func TestSeedsOfGroups(t *testing.T) {
	runSeeds(t, func(t *testing.T, seed uint64) *ordeal {
		o := newOrdeal(t, seed)
		o.restarts = seed%3 == 1
		if seed%3 == 2 {
			o.other = o.addNoted(o.otherHost(), minhopConfig(), nil)
		}
		o.choir = &choir{harness: o.harness, reg: registry.New()}
		for i := range ordealGroups {
			o.choir.group(i, 0)
		}
		return o
	})
}

// ordealGroups is more than one block of multicast LIDs.
const ordealGroups = 40

// regroup makes some ports join and leave.
func (o *ordeal) regroup() {
	if o.choir == nil {
		return
	}
	ports := slices.Collect(o.Fabric.EndPorts())
	for range o.rng.IntN(20) {
		o.choir.randomChange(o.rng, ordealGroups, ports)
	}
	o.register()
}

// register gives all managers what is registered.
func (o *ordeal) register() {
	if o.choir == nil {
		return
	}
	for _, m := range []*watched{o.m, o.other} {
		if m != nil {
			o.Register(m.Manager, o.choir.reg.Freeze())
		}
	}
}

func runSeeds(t *testing.T, begin func(*testing.T, uint64) *ordeal) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			first := begin(t, seed)
			first.run()
			if t.Failed() || recordTo() != nil {
				return
			}
			second := begin(t, seed)
			second.run()
			if first.digest() != second.digest() {
				t.Error("the same seed does not give the same bytes twice")
			}
		})
	}
}

// ordeal is the run of one seed.
type ordeal struct {
	*harness
	m     *watched
	other *watched // nil where one manager is alone
	rng   *rand.Rand
	sent  hash.Hash // of every datagram that the manager sent, with its time
	lids  map[mad.GUID]mad.LID
	asks  mad.TID // SMInfo requests made so far
	heal  []func()
	log   []string

	begun    time.Duration // when the manager began
	restarts bool          // the manager is killed and started again, too
	choir    *choir        // nil where there are no groups
}

func newOrdeal(t *testing.T, seed uint64) *ordeal {
	rng := rand.New(rand.NewPCG(seed, 0x51b))
	n := randomNet(t, rng)
	o := &ordeal{rng: rng, sent: sha256.New(), lids: map[mad.GUID]mad.LID{}}
	o.harness = newHarness(t, n, fabric.Config{
		Seed:      rng.Uint64(),
		Latency:   pick(rng, 0, 2*time.Microsecond, 50*time.Microsecond, time.Millisecond),
		TrainTime: pick(rng, 0, 30*time.Millisecond, time.Second),
		Caps:      randomCaps(rng),
	})
	o.ComputeTime = pick(rng, 0, 5*time.Millisecond, 300*time.Millisecond)
	o.m = o.addNoted(firstHost(n), minhopConfig(), sim.NewDisk(pick(rng, 0, 10*time.Millisecond, time.Second)))
	return o
}

// addNoted adds a manager of which everything is noted.
func (o *ordeal) addNoted(at net.End, cfg manager.Config, disk *sim.Disk) *watched {
	m := o.addKept(at, cfg, disk)
	forward := m.OnAction
	m.OnAction = func(now time.Duration, a manager.Action) {
		o.note(now, a)
		forward(now, a)
	}
	return m
}

func pick[T any](rng *rand.Rand, choices ...T) T { return choices[rng.IntN(len(choices))] }

// note keeps what the manager sent, and holds its views against each other: a port
// keeps its LID whatever happens to it.
func (o *ordeal) note(now time.Duration, a manager.Action) {
	switch a := a.(type) {
	case manager.Send:
		for i := range a.Datagrams {
			binary.Write(o.sent, binary.BigEndian, int64(now))
			o.sent.Write(a.Datagrams[i].Packet[:])
		}
	case manager.Publish:
		if a.View == nil {
			return
		}
		for _, p := range a.View.Topo.EndPorts {
			guid, lid := a.View.Topo.Ports[p].GUID, a.View.LIDs.Base[p]
			if was := o.lids[guid]; was != 0 && was != lid && o.other == nil {
				o.Errorf("at %v port %v was given LID %d, it had %d", now, guid, lid, was)
			}
			o.lids[guid] = lid
		}
	}
}

func (o *ordeal) digest() [sha256.Size]byte { return [sha256.Size]byte(o.sent.Sum(nil)) }

// run is the whole ordeal: quiet or not it comes up, things break, all is repaired,
// and everything has to be in order.
func (o *ordeal) run() {
	o.Fabric.SetFaults(fabric.Faults{
		Loss:      pick(o.rng, 0, 0.01, 0.1),
		Duplicate: pick(o.rng, 0, 0.05),
		Reorder:   pick(o.rng, 0, 0.05),
		ReorderBy: pick(o.rng, time.Millisecond, 7*time.Millisecond),
		Jitter:    pick(o.rng, 0, 20*time.Microsecond, 2*time.Millisecond),
	})
	o.pass(time.Duration(o.rng.Int64N(int64(20 * time.Second))))
	end := o.Fabric.Now() + 2*time.Minute
	for o.Fabric.Now() < end && !o.Failed() {
		o.breakSomething()
		o.regroup()
		if o.restarts && o.rng.IntN(8) == 0 {
			o.restart()
		}
		o.pass(time.Duration(
			o.rng.ExpFloat64() * float64(pick(o.rng, 5*time.Millisecond, 500*time.Millisecond, 5*time.Second))))
		o.askSMInfo()
		o.repairSomething()
	}
	o.repairAll()
	o.pass(convergence)
	if o.other != nil {
		o.pass(agreement)
		o.findMaster()
	}
	if o.Failed() {
		o.fail()
		return
	}
	o.verify()
}

// restart kills the manager, at any moment, and starts it again a while later. LIDs that
// were on their way to the disk may be lost with it.
func (o *ordeal) restart() {
	disk := o.m.Disk
	o.Kill(o.m.Manager)
	o.log = append(o.log, fmt.Sprintf("%v killed", o.Fabric.Now()))
	kept := map[mad.GUID]mad.LID{}
	for _, l := range disk.Contents().LIDs {
		kept[l.Port] = l.Base
	}
	for guid := range o.lids {
		if kept[guid] == 0 {
			delete(o.lids, guid)
		}
	}
	o.pass(pick(o.rng, 0, time.Second, 2*time.Minute))
	o.m = o.addNoted(o.m.Station.At(), minhopConfig(), disk)
	o.begun = o.Fabric.Now()
	o.register()
	o.pass(introduction)
}

// agreement is how much longer two managers may take, which poll each other every ten
// seconds and give up after five polls.
const agreement = 2 * time.Minute

// findMaster makes sure that one of two managers rules, and makes it the one to look at.
func (o *ordeal) findMaster() {
	if o.other.last() == smp.Master {
		o.m, o.other = o.other, o.m
	}
	if o.m.last() != smp.Master || o.other.last() != smp.Standby {
		o.Errorf("one manager is %v, the other %v", o.m.last(), o.other.last())
	}
}

// otherHost is a place for a second manager.
func (o *ordeal) otherHost() net.End {
	hosts := 0
	for i := range o.net.Nodes {
		if o.net.Nodes[i].Type == mad.CA {
			hosts++
		}
	}
	return host(o.net, 1+o.rng.IntN(hosts-1))
}

// verify is what must hold at the end.
func (o *ordeal) verify() {
	o.mustBeWhole(o.m)
	if o.choir != nil {
		o.choir.m = o.m
		o.choir.judgeMulticast()
	}
	before := o.sets()
	if up := o.m.sweep(manager.Heavy); up.Failures > 0 || o.sets() != before {
		o.Errorf("%d Sets in a further sweep: %v", o.sets()-before, up)
	}
	if st := o.m.Core.Stats().Txn; st.OnWire > 0 || st.Parked > 0 {
		o.Errorf("requests are left over: %+v", st)
	}
	o.askSMInfo()
	if o.Failed() {
		o.fail()
	}
}

func (o *ordeal) fail() {
	o.m.dump()
	if o.other != nil {
		o.other.dump()
	}
	for _, l := range o.log {
		o.Log(l)
	}
}

// introduction is how long a manager may need to learn which port it is at.
const introduction = 3 * time.Second

// askSMInfo asks what anybody may ask at any time, and expects the answer at once.
func (o *ordeal) askSMInfo() {
	if o.Fabric.Now() < o.begun+introduction {
		return
	}
	o.asks++
	var d mad.Datagram
	d.Packet.SetDirected(&mad.Route{}, mad.MethodGet, smp.AttrSMInfo, 0)
	d.Packet.SetTID(o.asks)
	answered := false
	forward := o.m.OnAction
	o.m.OnAction = func(now time.Duration, a manager.Action) {
		if send, ok := a.(manager.Send); ok {
			for i := range send.Datagrams {
				p := &send.Datagrams[i].Packet
				answered = answered || p.TID() == o.asks && p.AttrID() == smp.AttrSMInfo &&
					p.Method() == mad.MethodGetResp
			}
		}
		forward(now, a)
	}
	o.Deliver(o.m.Manager, d)
	o.m.OnAction = forward
	if !answered {
		o.Errorf("at %v SMInfo was not answered", o.Fabric.Now())
	}
}

// breakSomething does one random harm. What undoes it is kept.
func (o *ordeal) breakSomething() {
	node := int32(o.rng.IntN(o.Fabric.NumNodes()))
	own := o.m.Station.At()
	harm := o.rng.IntN(12)
	o.log = append(o.log, fmt.Sprintf("%v harm %d at node %d %q", o.Fabric.Now(), harm, node, o.net.Nodes[node].Desc))
	switch harm {
	case 0, 1, 2:
		at := net.End{Node: node, Port: uint8(1 + o.rng.IntN(int(o.Fabric.NumPorts(node))))}
		o.Fabric.LinkDown(at)
		o.heal = append(o.heal, func() { o.Fabric.LinkUp(at) })
	case 3, 4:
		at := uplinkOf(o.Fabric, o.rng)
		o.Fabric.LinkDown(at)
		if o.rng.IntN(2) == 0 {
			o.Fabric.LinkUp(at) // a flap
			return
		}
		o.heal = append(o.heal, func() { o.Fabric.LinkUp(at) })
	case 5, 6:
		if node != own.Node {
			o.Fabric.Reboot(node)
		}
	case 7:
		if node != own.Node {
			o.Fabric.NodeDown(node)
			o.heal = append(o.heal, func() { o.Fabric.NodeUp(node) })
		}
	case 8:
		if node != own.Node {
			o.Fabric.SetUnresponsive(node, true)
			o.heal = append(o.heal, func() { o.Fabric.SetUnresponsive(node, false) })
		}
	case 9:
		o.Fabric.LinkDown(own)
		o.heal = append(o.heal, func() { o.Fabric.LinkUp(own) })
	case 10:
		o.recable()
	case 11:
		o.Ask(o.m.Manager, pick(o.rng, manager.Light, manager.Heavy))
	}
}

// uplinkOf is a random port of a random switch.
func uplinkOf(f *fabric.Fabric, rng *rand.Rand) net.End {
	for {
		node := int32(rng.IntN(f.NumNodes()))
		if f.NodeType(node) == mad.Switch {
			return net.End{Node: node, Port: uint8(1 + rng.IntN(int(f.NumPorts(node))))}
		}
	}
}

// recable moves an end of a random cable to a free port of the same switch.
func (o *ordeal) recable() {
	from := uplinkOf(o.Fabric, o.rng)
	peer := o.Fabric.Peer(from)
	if peer == net.NoEnd {
		return
	}
	for num := 1; num <= int(o.Fabric.NumPorts(from.Node)); num++ {
		to := net.End{Node: from.Node, Port: uint8(num)}
		if o.Fabric.Peer(to) == net.NoEnd {
			pi := o.Fabric.PortInfo(from)
			o.Fabric.Plug(to, peer, max(pi.LinkWidthActive(), mad.Width1x), mad.HDR)
			return
		}
	}
}

// repairSomething undoes one harm, half of the time.
func (o *ordeal) repairSomething() {
	if len(o.heal) == 0 || o.rng.IntN(2) == 0 {
		return
	}
	i := o.rng.IntN(len(o.heal))
	o.heal[i]()
	o.heal = append(o.heal[:i], o.heal[i+1:]...)
}

// repairAll undoes every harm, and nothing is lost on the way any more.
func (o *ordeal) repairAll() {
	for _, undo := range o.heal {
		undo()
	}
	o.heal = nil
	for at := range o.Fabric.Ports() {
		o.Fabric.LinkUp(at)
	}
	o.Fabric.SetFaults(fabric.Faults{})
	o.log = append(o.log, fmt.Sprintf("%v all is repaired", o.Fabric.Now()))
}
