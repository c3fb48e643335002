package baddays

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/sim/fabric"
	"ibsm/sim/hosts"
	"ibsm/topo/net"
)

// Course is a bad day as it goes on. It belongs to whoever owns the fabric, and is called between its events.
type Course struct {
	f      *fabric.Fabric
	random *rand.Rand
	began  time.Duration
	lasts  time.Duration
	events []event // in the order of their times; those before next have happened
	next   int
	crowd  *hosts.Crowd // that asks; nil for none
	boots  []hosts.Boot // that it has not begun

	spared map[int32]bool // nodes: hosts that nothing happens to, and the switches next to them
	hosts  []net.End      // others
	leaves []int32        // switches with such hosts, that are not spared
	spine  int32          // a switch without hosts, or else the first of leaves
}

type event struct {
	at time.Duration // since the beginning
	do func()
}

// Begin begins a bad day now, which lasts so long unless it has a length of its own. Nothing happens to the hosts at
// the spared ports, and the switches next to these have power throughout.
func (d Day) Begin(f *fabric.Fabric, spared []net.End, seed uint64, lasts time.Duration) (*Course, error) {
	c := &Course{f: f, random: rand.New(rand.NewPCG(seed, 0xbad)), began: f.Now(), lasts: lasts,
		spared: map[int32]bool{}, spine: -1}
	for _, at := range spared {
		c.spared[at.Node], c.spared[f.Peer(at).Node] = true, true
	}
	c.look()
	if len(c.leaves) == 0 || len(c.hosts) < 2 {
		return nil, errors.New("there must be a switch with hosts besides that of the managers, and three hosts at it")
	}
	if c.spine < 0 {
		c.spine = c.leaves[0]
	}
	if err := d.plan(c); err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return c, nil
}

// look finds hosts, leaves and a spine.
func (c *Course) look() {
	leaf := map[int32]bool{}
	for at := range c.f.EndPorts() {
		if peer := c.f.Peer(at); at.Port > 0 && peer.Node >= 0 {
			leaf[peer.Node] = true
			if !c.spared[at.Node] {
				c.hosts = append(c.hosts, at)
			}
		}
	}
	for node := range int32(c.f.NumNodes()) {
		switch {
		case c.f.NodeType(node) != mad.Switch || c.spared[node]:
		case leaf[node]:
			c.leaves = append(c.leaves, node)
		default:
			c.spine = node
		}
	}
}

// moment is a random time below d.
func (c *Course) moment(d time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(d)))
}

func (c *Course) at(t time.Duration, do func()) { c.events = append(c.events, event{t, do}) }

// ask has hosts ask from a time on: for what is in the first of boots, and when all have begun that, for the next.
func (c *Course) ask(from time.Duration, at []net.End, boots ...hosts.Boot) (err error) {
	if c.crowd, err = hosts.New(c.f, c.random.Uint64(), at); err != nil {
		return err
	}
	c.at(from, func() {
		c.crowd.Begin(boots[0])
		c.boots = boots[1:]
	})
	return nil
}

// Lasts is how long the day lasts, without the time that hosts take to get their answers.
func (c *Course) Lasts() time.Duration { return c.lasts }

// Step does what is due. Call it often.
func (c *Course) Step() {
	for ; c.next < len(c.events) && c.began+c.events[c.next].at <= c.f.Now(); c.next++ {
		c.events[c.next].do()
	}
	if c.crowd == nil {
		return
	}
	if c.crowd.Step(); len(c.boots) > 0 && c.crowd.Begun() {
		c.crowd.Begin(c.boots[0])
		c.boots = c.boots[1:]
	}
}

// Over reports whether all has happened, and no host waits for an answer.
func (c *Course) Over() bool {
	return c.next == len(c.events) && c.f.Now() >= c.began+c.lasts &&
		(c.crowd == nil || len(c.boots) == 0 && c.crowd.Begun() && c.crowd.Open() == 0)
}

// Close takes all hosts that have asked away from their ports.
func (c *Course) Close() {
	if c.crowd != nil {
		c.crowd.Close()
	}
}

// Answers are what hosts were answered since the last time.
func (c *Course) Answers() (r hosts.Report) {
	if c.crowd != nil {
		r = c.crowd.Report()
	}
	return r
}
