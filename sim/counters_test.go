package sim_test

import (
	"slices"
	"testing"
	"time"

	"ibsm/congestioncontrol"
	"ibsm/mad"
	"ibsm/mad/pma"
	"ibsm/manager"
	"ibsm/perf"
	"ibsm/sim/fabric"
	"ibsm/sweep/engines"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// counting reads the counters of a fabric at a host, by the views of a manager and with what that says of nodes
// that may have rebooted.
type counting struct {
	*harness
	m       *perf.Machine
	st      *fabric.Station
	waiting map[mad.TID]uint64 // tags of requests on the way
	answers []mad.Datagram
	tid     mad.TID
	image   *perf.Image
	said    map[mad.GUID]bool // nodes of which a manager said that they may have rebooted
}

func (b *harness) count(at net.End) *counting {
	b.Helper()
	st, err := b.Fabric.Attach(at)
	if err != nil {
		b.Fatal(err)
	}
	c := &counting{harness: b, st: st, m: perf.New(perf.Settings{Window: 50, QueryInfo: true}),
		waiting: map[mad.TID]uint64{}, said: map[mad.GUID]bool{}}
	st.OnReceive(func(d mad.Datagram) { c.answers = append(c.answers, d) })
	return c
}

// follow takes what a manager says.
func (c *counting) follow(w *watched) {
	forward := w.OnAction
	w.OnAction = func(now time.Duration, a manager.Action) {
		if r, is := a.(manager.Restarted); is {
			nodes := map[mad.GUID]bool{}
			for _, n := range r.Nodes {
				nodes[n], c.said[n] = true, true
			}
			c.step(&perf.Rebooted{Nodes: nodes})
		}
		forward(now, a)
	}
}

func (c *counting) step(e perf.Event) {
	out := c.m.Step(c.Fabric.Now(), e)
	if out.Image != nil {
		c.image = out.Image
	}
	for i := range out.Asks {
		c.tid++
		d := mad.Datagram{Addr: out.Asks[i].To, Packet: out.Asks[i].Packet}
		d.Packet.SetTID(c.tid)
		c.waiting[c.tid] = out.Asks[i].Tag
		c.st.Send([]mad.Datagram{d})
	}
}

// read reads all ports, and returns the notes of those of a node, without that some counters of theirs have 32 bits. An
// enhanced port 0 that counts nothing, as with ideal devices, does not show a reboot.
func (c *counting) read(w *watched) (notes func(node int32) []perf.Note) {
	c.Helper()
	c.image = nil
	c.step(&perf.Ports{List: perf.PortsOf(w.View, false)})
	c.step(&perf.SweepNow{})
	for quiet := 0; c.image == nil; quiet++ {
		c.pass(time.Millisecond)
		for len(c.answers) > 0 {
			d := c.answers[0]
			c.answers, quiet = c.answers[1:], 0
			if tag, ok := c.waiting[d.Packet.TID()]; ok && d.Packet.IsResponse() {
				delete(c.waiting, d.Packet.TID())
				c.step(&perf.Answered{Tag: tag, Packet: &d.Packet})
			}
		}
		if quiet < 100 {
			continue
		}
		for tid, tag := range ordered(c.waiting) {
			delete(c.waiting, tid)
			c.step(&perf.Unanswered{Tag: tag})
		}
	}
	image := c.image
	return func(node int32) (list []perf.Note) {
		for k, d := range image.All {
			if k.Port == 0 && d.N == [pma.NumCounters]uint64{} {
				continue
			}
			if note := d.Note &^ perf.MayOverflow; k.Node == c.net.Nodes[node].GUID && !slices.Contains(list, note) {
				list = append(list, note)
			}
		}
		return list
	}
}

// use sends data from each host to each other one.
func (c *counting) use() {
	c.Helper()
	for i := range 16 {
		for j := range 16 {
			to := c.Fabric.PortInfo(host(c.net, j))
			if _, why := c.Fabric.Send(host(c.net, i), to.LID(), mad.DefaultPKey, 0,
				fabric.Load{Packets: 100, Words: 100_000}); i != j && why != fabric.Delivered {
				c.Errorf("host %d to host %d: %v", i, j, why)
			}
		}
	}
}

// Reboots of a host and of a switch, a reset by somebody else and a cable that was cut are distinguished, where all of
// them come between two readings.
func TestCountersRestart(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	c := b.count(host(n, 5))
	c.follow(m)
	quiet := func(what string) {
		t.Helper()
		c.use()
		notes := c.read(m)
		for node := range int32(len(n.Nodes)) {
			if got := notes(node); !slices.Equal(got, []perf.Note{0}) {
				t.Errorf("%s: %s: %v", what, b.Fabric.NodeID(node), got)
			}
		}
	}
	c.use()
	c.read(m)
	quiet("in peace")
	lost, cut := spine(n), host(n, 11)
	downs := b.Fabric.Counter(cut, pma.LinkDownedCounter)
	b.Fabric.Reboot(host(n, 9).Node)
	b.Fabric.Reboot(lost)
	b.Fabric.LinkDown(cut)
	b.pass(time.Second)
	b.Fabric.LinkUp(cut)
	b.pass(settling)
	var d mad.Datagram
	reset := b.Fabric.PortInfo(host(n, 13))
	d.LID, d.QPN = reset.LID(), 1
	pma.SetResetExtended(&d.Packet, 1, pma.AllCounters)
	c.st.Send([]mad.Datagram{d})
	b.pass(time.Second)
	notes := c.read(m)
	for node := range int32(len(n.Nodes)) {
		want := perf.Note(0)
		switch node {
		case host(n, 9).Node, lost:
			want = perf.AfterReboot
		case host(n, 13).Node:
			want = perf.ResetByOther
		}
		if got := notes(node); !slices.Equal(got, []perf.Note{want}) {
			t.Errorf("%s: %v, want %v", b.Fabric.NodeID(node), got, want)
		}
	}
	if got, _ := c.image.Port(perf.Key{Node: n.Nodes[cut.Node].GUID, Port: 1}); got.N[pma.LinkDownedCounter] != 1 ||
		b.Fabric.Counter(cut, pma.LinkDownedCounter) != downs+1 {
		t.Errorf("the cable that was cut: %d times", got.N[pma.LinkDownedCounter])
	}
	b.mustBeWhole(m)
	quiet("in peace again")

	// A manager that is new takes no switch for one that has rebooted.
	m.retire()
	clear(c.said)
	second := b.add(host(n, 3), minhopConfig())
	c.follow(second)
	b.pass(settling)
	if second.View == nil {
		t.Fatal("the second manager did not come up")
	}
	m = second
	quiet("with another manager")
	for node := range int32(len(n.Nodes)) {
		if n.Nodes[node].Type == mad.Switch && c.said[n.Nodes[node].GUID] {
			t.Errorf("%s has rebooted, it says", b.Fabric.NodeID(node))
		}
	}
}

// Requests for counters and of congestion control go with the SL that the routing engine gives to their path.
func TestCountersSL(t *testing.T) {
	for engine, spec := range ordered(
		map[string]string{"auto": "torus:dims=5x5,hosts=1", "dfsssp": "torus:dims=4x4,hosts=1",
			"lash": "torus:dims=5x5,hosts=1"}) {
		n := nettest.Generate(t, spec)
		b := newHarness(t, n, fabric.Config{Seed: 1})
		m := b.comeUp(chainConfig(t, engines.Settings{}, engine))
		v, others := m.View, 0
		own := v.LIDs.Base[v.Topo.Self]
		check := func(what string, to mad.Addr) {
			if want := v.Tables.SLs.Of(own, to.LID); to.SL != want || to.QPN != 1 {
				t.Errorf("%s: %s to LID %d with SL %d, want %d", engine, what, to.LID, to.SL, want)
			}
			if to.SL != 0 {
				others++
			}
		}
		for _, p := range perf.PortsOf(v, false) {
			check("counters", p.To)
		}
		for _, p := range congestioncontrol.PortsOf(v) {
			check("congestion control", p.To)
		}
		if others == 0 {
			t.Errorf("%s: all go with SL 0: %+v", engine, v.Routing)
		}
	}
}
