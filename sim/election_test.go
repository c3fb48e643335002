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
	"ibsm/sim/fabric"
	"ibsm/sweep/elect"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// One seed decides where three managers are, how they rank, and what happens to them:
// packets are lost, the fabric splits and is joined again, managers pause, die, are ended, and
// come back. At any time
//
//   - of two masters that have been able to see each other for one polling interval only
//     one writes;
//   - a manager that was paused asks before it writes;
//   - nobody else writes;
//
// and when all is repaired one master remains, the fabric is whole, and the others stand by;
// when it hangs with its host, another one is master, until it is there again.
const (
	defaultElections = 30
	proofElections   = 1000
	electionHarms    = 12
	pollingInterval  = 10 * time.Second
	// longer than one poll, and than a manager that wakes every second can overlook
	longSleep = 3500 * time.Millisecond
)

func TestElections(t *testing.T) { contests(t, false) }

// The same holds for managers with a secret, of which two prove it, and the third shows the SM_Key, ignores managers
// that do not show it, and knows no proofs: it is of another kind, or an older ibsm.
func TestElectionsWithSecret(t *testing.T) { contests(t, true) }

func contests(t *testing.T, secret bool) {
	list := seedsOf(t, defaultElections, proofElections)
	masters := 0
	for _, seed := range list {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer repeat(t, seed)
			c := newContest(t, seed, secret)
			c.run()
			masters += c.changes
		})
	}
	if len(list) > 1 && masters < 3*len(list) {
		t.Errorf("the mastership has changed %d times in %d runs: too little happens", masters, len(list))
	}
}

// contest is the run of one seed.
type contest struct {
	*harness
	rng     *rand.Rand
	rivals  []*rival
	quiet   time.Duration // when the fabric last changed
	changes int           // of the mastership
	log     []string
	heal    func() // undoes a partition; nil for none
}

// rival is a place for a manager, and the one that runs there.
type rival struct {
	at    net.End
	cfg   manager.Config
	plain bool // like OpenSM: it polls at the default interval and knows no peer ibsm
	shows bool // it shows the secret SM_Key, for which its core has the default one, and knows no proofs
	m     *watched

	leaves bool          // it was asked to end
	wrote  time.Duration // last Set
	dozed  time.Duration // when it was paused
	woke   bool          // it was paused for long, and has not written since
	asked  int           // SMInfo asked since then
}

func newContest(t *testing.T, seed uint64, secret bool) *contest {
	rng := rand.New(rand.NewPCG(seed, 0xe1ec7))
	n := nettest.Generate(t, pick(rng, "fattree:k=4", "torus:dims=3x3", "mesh:dims=4x2"))
	c := &contest{rng: rng}
	c.harness = newHarness(t, n,
		fabric.Config{Seed: rng.Uint64(), Latency: pick(rng, 5*time.Microsecond, time.Millisecond),
			TrainTime: pick(rng, 0, time.Second)})
	c.ComputeTime = pick(rng, 0, 5*time.Millisecond, 300*time.Millisecond)
	hosts := rng.Perm(8)
	sticky := rng.IntN(4) == 0
	for i := range 3 {
		r := &rival{at: host(n, hosts[i]), cfg: minhopConfig(), plain: i == 2}
		r.cfg.Elect = elect.Config{Priority: uint8(rng.IntN(3)), SMKey: 1}
		if sticky {
			r.cfg.Elect.MasterPriority = 14
		}
		c.rivals = append(c.rivals, r)
	}
	if secret {
		c.share(seed%2 == 0)
	}
	for _, r := range c.rivals {
		c.start(r)
	}
	return c
}

// share gives the managers a secret. The last one is of another kind, or an older ibsm.
func (c *contest) share(older bool) {
	last := c.rivals[len(c.rivals)-1]
	last.plain, last.shows = !older, true
	for _, r := range c.rivals {
		if last.cfg.Elect.Allowed = append(last.cfg.Elect.Allowed, c.Fabric.PortGUID(r.at)); r != last {
			r.cfg.Elect.SMKey, r.cfg.Elect.Secret = subnetSecret.SMKey(), subnetSecret
		}
	}
}

// start puts a manager in its place.
func (c *contest) start(r *rival) {
	r.m, r.leaves, r.woke = c.add(r.at, r.cfg), false, false
	forward := r.m.OnAction
	r.m.OnAction = func(now time.Duration, a manager.Action) {
		forward(now, a)
		switch a := a.(type) {
		case manager.Send:
			for i := range a.Datagrams {
				c.sent(r, now, &a.Datagrams[i].Packet)
			}
		case manager.Entered:
			if a.State == smp.Master {
				c.changes++
			}
		case manager.Up:
			r.woke = r.woke && c.company(r) // it has looked, and there is nobody to be asked
		}
	}
	r.m.Heard = func(received []mad.Datagram) {
		for i := range received {
			p := &received[i].Packet
			if r.blind(p); r.shows && p.AttrID() == smp.AttrSMInfo && p.MgmtClass() == mad.ClassDirected {
				r.learn((*smp.SMInfo)(p.Data()), p.IsResponse())
			}
		}
	}
}

// learn has a manager that shows the SM_Key take another's SMInfo: its core knows the default key only, and ignores
// whoever shows none.
func (r *rival) learn(i *smp.SMInfo, says bool) {
	clear(i[24:56])
	switch key := i.SMKey(); {
	case key == subnetSecret.SMKey():
		i.SetSMKey(elect.DefaultSMKey)
	case key == 0 && says, key == elect.DefaultSMKey:
		i.SetSMKey(0xbad)
	}
}

// blind takes from SMInfo what OpenSM does not know of.
func (r *rival) blind(p *mad.Packet) {
	if r.plain && p.AttrID() == smp.AttrSMInfo && p.MgmtClass() == mad.ClassDirected {
		clear(p.Data()[21:])
	}
}

// sent judges what a manager sends.
func (c *contest) sent(r *rival, now time.Duration, p *mad.Packet) {
	r.blind(p)
	if i := (*smp.SMInfo)(p.Data()); r.shows && p.AttrID() == smp.AttrSMInfo && i.SMKey() == elect.DefaultSMKey {
		i.SetSMKey(subnetSecret.SMKey())
	}
	switch {
	case p.AttrID() == smp.AttrSMInfo && p.Method() == mad.MethodGet:
		r.asked++
		return
	case p.AttrID() == smp.AttrSMInfo || p.Method() != mad.MethodSet:
		return
	}
	if r.m.last() != smp.Master {
		c.Errorf("at %v %v writes, and is %v", now, r.at, r.m.last())
	}
	sees := c.reachable(r.at.Node)
	for _, o := range c.rivals {
		if o == r || !c.isAwake(o) || !sees[o.at.Node] {
			continue
		}
		if r.woke && r.asked == 0 {
			c.Errorf("at %v %v writes without having asked anybody since it was paused", now, r.at)
		}
		if since := c.quiet + pollingInterval; now > since && o.wrote > since && o.m.last() == smp.Master &&
			r.m.last() == smp.Master {
			c.Errorf("at %v two masters write, %v and %v (at %v), and see each other since %v", now, r.at, o.at,
				o.wrote, c.quiet)
		}
	}
	r.woke, r.wrote = false, now
}

// company reports whether a manager can see another one.
func (c *contest) company(r *rival) bool {
	sees := c.reachable(r.at.Node)
	return slices.ContainsFunc(c.rivals, func(o *rival) bool { return o != r && c.isAwake(o) && sees[o.at.Node] })
}

func (c *contest) isAwake(r *rival) bool { return !r.m.Exited && r.m.Asleep <= c.Fabric.Now() }

// run is the whole contest.
func (c *contest) run() {
	c.pass(time.Duration(c.rng.Int64N(int64(20 * time.Second))))
	for range electionHarms {
		if c.Failed() {
			break
		}
		c.harm()
		c.quiet = c.Fabric.Now() + 2*time.Second // links train, and sleepers wake
		for _, r := range c.rivals {
			c.quiet = max(c.quiet, r.m.Asleep)
		}
		c.pass(time.Duration(c.rng.ExpFloat64() * float64(pick(c.rng, time.Second, 10*time.Second, 40*time.Second))))
	}
	c.repair()
	c.quiet = c.Fabric.Now() + 2*time.Second
	c.pass(3 * time.Minute)
	if master := c.verify(); master != nil {
		c.hang(master)
		c.verify()
	}
	if c.Failed() {
		for _, l := range c.log {
			c.Log(l)
		}
		for _, r := range c.rivals {
			c.Logf("manager at %v, %+v", r.at, r.cfg.Elect)
			r.m.dump()
		}
	}
}

// harm does something to a manager or to the fabric.
func (c *contest) harm() {
	r := c.rivals[c.rng.IntN(len(c.rivals))]
	what := c.rng.IntN(9)
	c.log = append(c.log, fmt.Sprintf("%v harm %d to %v", c.Fabric.Now(), what, r.at))
	switch what {
	case 0, 1: // it dies, and comes back with the next harm
		if !r.m.Exited {
			c.Kill(r.m.Manager)
		} else {
			c.start(r)
		}
	case 2, 3:
		if c.isAwake(r) {
			r.dozed = c.Fabric.Now()
			r.m.Asleep = r.dozed +
				time.Duration(c.rng.ExpFloat64()*float64(pick(c.rng, time.Second, 10*time.Second, time.Minute)))
			r.woke, r.asked = r.m.Asleep-r.dozed > longSleep, 0
		}
	case 4, 5:
		if c.heal != nil {
			c.heal()
			c.heal = nil
		} else {
			c.split()
		}
	case 6:
		c.Fabric.SetFaults(fabric.Faults{Loss: pick(c.rng, 0, 0.001, 0.01), Duplicate: pick(c.rng, 0, 0.05),
			Reorder: pick(c.rng, 0, 0.05), ReorderBy: time.Millisecond})
	case 7:
		c.Fabric.LinkDown(r.at)
		c.pass(time.Duration(c.rng.Int64N(int64(15 * time.Second))))
		c.Fabric.LinkUp(r.at)
	case 8:
		if c.isAwake(r) {
			c.Leave(r.m.Manager) // it comes back as one that has died does
			r.leaves = true
		}
	}
}

// split cuts every cable between two random parts of the switches.
func (c *contest) split() {
	part := make([]bool, c.Fabric.NumNodes())
	for i := range part {
		part[i] = c.rng.IntN(2) == 0
	}
	var cut []net.End
	for at := range c.Fabric.Ports() {
		peer := c.Fabric.Peer(at)
		if peer == net.NoEnd || c.Fabric.NodeType(at.Node) != mad.Switch ||
			c.Fabric.NodeType(peer.Node) != mad.Switch || part[at.Node] == part[peer.Node] {
			continue
		}
		cut = append(cut, at)
		c.Fabric.LinkDown(at)
	}
	c.heal = func() {
		for _, at := range cut {
			c.Fabric.LinkUp(at)
		}
	}
}

// repair undoes every harm. A manager that sleeps is woken.
func (c *contest) repair() {
	if c.heal != nil {
		c.heal()
	}
	c.Fabric.SetFaults(fabric.Faults{})
	for _, r := range c.rivals {
		if now := c.Fabric.Now(); r.m.Asleep > now {
			r.m.Asleep, r.woke = now, now-r.dozed > longSleep
		}
		if r.leaves && !r.m.Exited {
			c.Kill(r.m.Manager)
		}
		if r.m.Exited {
			c.start(r)
		}
	}
	c.log = append(c.log, fmt.Sprintf("%v all is repaired", c.Fabric.Now()))
}

// hang has a master's host answer nothing any more, though its link stays up. Nothing but
// its silence shows it: the polls of the others must come to an end.
func (c *contest) hang(r *rival) {
	r.dozed = c.Fabric.Now()
	r.m.Asleep, r.woke, r.asked = r.dozed+2*time.Minute, true, 0
	c.quiet = r.m.Asleep + 2*time.Second
	c.log = append(c.log, fmt.Sprintf("%v the host at %v hangs", r.dozed, r.at))
	c.Fabric.SetUnresponsive(r.at.Node, true)
	c.pass(2*time.Minute - time.Millisecond)
	c.Fabric.SetUnresponsive(r.at.Node, false)
	if !slices.ContainsFunc(c.rivals, func(o *rival) bool { return o != r && o.m.last() == smp.Master }) {
		c.Errorf("at %v there is no master, though %v has hung since %v", c.Fabric.Now(), r.at, r.dozed)
	}
	c.pass(3 * time.Minute)
}

// verify is what must hold at the end. It returns the master.
func (c *contest) verify() (master *rival) {
	for _, r := range c.rivals {
		switch state := r.m.last(); {
		case state == smp.Master && master == nil:
			master = r
		case state != smp.Standby:
			c.Errorf("in the end the manager at %v is %v", r.at, state)
		}
	}
	if master == nil {
		c.Error("in the end there is no master")
		return nil
	}
	if master.cfg.Elect.MasterPriority == 0 {
		for _, r := range c.rivals {
			mine, theirs := master.cfg.Elect.Priority, r.cfg.Elect.Priority
			if theirs > mine || theirs == mine && c.Fabric.PortGUID(r.at) < c.Fabric.PortGUID(master.at) {
				c.Errorf("in the end %v rules, but %v ranks higher", master.at, r.at)
			}
		}
	}
	c.mustBeWhole(master.m)
	before := c.sets()
	if c.pass(time.Minute); c.sets() != before {
		c.Errorf("%d Sets at rest", c.sets()-before)
	}
	return master
}
