package sim_test

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// latency of a quiet test fabric.
const latency = 5 * time.Microsecond

// settling is how long a quiet fabric may take to come up, or to take in a change.
const settling = time.Minute

// harness is a fabric with managers on it, and what they logged.
type harness struct {
	testing.TB
	*sim.World
	net *net.Net
}

// watched is a manager and what it logged.
type watched struct {
	*sim.Manager
	harness *harness
	ups     []manager.Up
	states  []smp.SMState
	shown   []*sweep.SweepPlan
	log     []string
}

func newHarness(t testing.TB, n *net.Net, cfg fabric.Config) *harness {
	if cfg.Latency == 0 {
		cfg.Latency = latency
	}
	n.Profile = nettest.Profile(t)
	w := &sim.World{Fabric: fabric.New(n, cfg), ComputeTime: 10 * time.Millisecond}
	record(t, w, n)
	return &harness{TB: t, World: w, net: n}
}

// minhopConfig is a manager as it is by default.
func minhopConfig() manager.Config {
	return manager.Config{Sweep: sweep.Config{Engines: engines.Chain{engines.MinHop}}, SweepInterval: 10 * time.Second}
}

// add puts a manager at a port.
func (b *harness) add(at net.End, cfg manager.Config) *watched {
	b.Helper()
	return b.addKept(at, cfg, nil)
}

// addKept puts a manager at a port, with a disk.
func (b *harness) addKept(at net.End, cfg manager.Config, disk *sim.Disk) *watched {
	b.Helper()
	m, err := b.Add(at, cfg, disk)
	if err != nil {
		b.Fatal(err)
	}
	w := &watched{Manager: m, harness: b}
	m.OnAction = w.took
	return w
}

func (w *watched) took(now time.Duration, a manager.Action) {
	switch a := a.(type) {
	case manager.Send:
		w.judgeSent(a.Datagrams)
	case manager.Up:
		w.ups = append(w.ups, a)
		w.log = append(w.log, fmt.Sprintf("%v UP %+v", now, a))
	case manager.Entered:
		w.states = append(w.states, a.State)
		w.log = append(w.log, fmt.Sprintf("%v entering %v", now, a.State))
	case manager.Show:
		w.shown = append(w.shown, a.Plan)
	case manager.Log:
		w.log = append(w.log, fmt.Sprintf("%v %v %s %v", now, a.Level, a.Msg, a.Args))
	}
}

// judgeSent fails the test where a manager uses a LID that no port can hold: adapters have
// 65535 before a manager sets theirs.
func (w *watched) judgeSent(sent []mad.Datagram) {
	for i := range sent {
		p := &sent[i].Packet
		if p.MgmtClass() != mad.ClassDirected && !sent[i].LID.IsUnicast() {
			w.harness.Errorf("%v of attribute %#04x goes to LID %d", p.Method(), uint16(p.AttrID()), sent[i].LID)
		}
		if notice := (*smp.Notice)(p.Data()); p.Method() == mad.MethodTrap && !notice.IssuerLID().IsUnicast() {
			w.harness.Errorf("trap %v of LID %d", notice.TrapNumber(), notice.IssuerLID())
		}
	}
}

// says counts the lines of the log in which all words occur.
func (w *watched) says(words ...string) (count int) {
line:
	for _, l := range w.log {
		for _, word := range words {
			if !strings.Contains(l, word) {
				continue line
			}
		}
		count++
	}
	return count
}

// dump shows what the manager logged, when a test has failed.
func (w *watched) dump() {
	if !w.harness.Failed() {
		return
	}
	from := max(0, len(w.log)-60)
	w.harness.Logf("the log, from line %d on:\n%s", from, strings.Join(w.log[from:], "\n"))
}

// pass lets some time pass.
func (b *harness) pass(d time.Duration) {
	b.Helper()
	before := b.Steps
	b.Run(b.Fabric.Now()+d, func() bool { return b.Steps-before > maxSteps })
	if b.Steps-before > maxSteps {
		b.Fatalf("more than %d steps in %v", maxSteps, d)
	}
}

// maxSteps is far beyond what any manager needs for what pass is asked for here.
const maxSteps = 20_000_000

// sweep asks for a sweep and waits until it is done.
func (w *watched) sweep(s manager.Sweep) manager.Up {
	w.harness.Helper()
	before := len(w.ups)
	w.harness.Ask(w.Manager, s)
	if s == manager.Light {
		w.harness.pass(time.Second)
		return manager.Up{}
	}
	if !w.harness.Run(w.harness.Fabric.Now()+settling, func() bool {
		return len(w.ups) > before || w.Exited
	}) || len(w.ups) == before {
		w.dump()
		w.harness.Fatal("the sweep that was asked for did not end")
	}
	return w.ups[len(w.ups)-1]
}

// until runs the fabric until something holds, and fails the test if that takes ten minutes.
func (b *harness) until(what string, holds func() bool) {
	b.Helper()
	if !b.Run(b.Fabric.Now()+10*time.Minute, holds) {
		b.Fatalf("after ten minutes, not: %s", what)
	}
}

// comeUp puts a manager at the first host and waits until all is quiet.
func (b *harness) comeUp(cfg manager.Config) *watched {
	b.Helper()
	m := b.add(firstHost(b.net), cfg)
	b.Cleanup(m.dump)
	b.pass(settling)
	if len(m.ups) == 0 {
		b.Fatal("the subnet did not come up")
	}
	return m
}

// sets counts the Sets that have arrived at agents.
func (b *harness) sets() (count uint64) {
	for k, n := range b.Fabric.Stats().SMPs {
		if k.Method == mad.MethodSet && k.Attr != smp.AttrSMInfo {
			count += n
		}
	}
	return count
}

// firstHost is a port of the first channel adapter.
func firstHost(n *net.Net) net.End { return host(n, 0) }

// host is port 1 of a channel adapter, counted from 0.
func host(n *net.Net, count int) net.End {
	for i := range n.Nodes {
		if n.Nodes[i].Type != mad.CA {
			continue
		}
		if count == 0 {
			return net.End{Node: int32(i), Port: 1}
		}
		count--
	}
	panic("not so many hosts")
}

// uplink is a port of the switch, one that leads to another switch.
func uplink(n *net.Net, sw int32) net.End {
	for num, p := range n.Nodes[sw].Ports {
		if p.Peer.Node >= 0 && n.Nodes[p.Peer.Node].Type == mad.Switch {
			return net.End{Node: sw, Port: uint8(num)}
		}
	}
	panic("no link to another switch")
}

// ordered iterates over a map in the order of its keys, so that each run of a test is the
// same.
func ordered[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
