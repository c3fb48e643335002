package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/partitions"
	"ibsm/sim/fabric"
	"ibsm/sweep/device"
	"ibsm/sweep/plan"
	"ibsm/sweep/routes"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// lostAnswer is a Set after which the manager does not know what the device holds.
type lostAnswer struct {
	name     string
	executed bool
	status   mad.Status // of its answer; 0 for none
	late     lateness   // when the answer comes that came to no request
	again    bool       // the first Set to a port is refused, so that some are sent again, and that Set is the one
}

type lateness uint8

const (
	never lateness = iota
	atOnce
	afterSweep     // in which the Set was sent
	afterNextSweep // by which the port is repaired
)

var lostAnswers = []lostAnswer{
	{"executed, no answer", true, 0, never, false},
	{"not executed, no answer", false, 0, never, false},
	{"executed, error status", true, mad.StatusBusy, never, false},
	{"executed, answer to no request", true, 0, atOnce, false},
	{"executed, answer after the sweep", true, 0, afterSweep, false},
	{"executed, answer after the next sweep", true, 0, afterNextSweep, false},
	{"refused, and executed when sent again, no answer", true, 0, never, true},
}

var extents = map[Extent]string{Full: "full", Second: "second", Quick: "quick", Retry: "retry"}

// losing has a harness lose the answers to the Sets of an attribute of some ports.
type losing struct {
	*harness
	lostAnswer
	lost    map[topo.PortIdx]int // by port: Sets
	answers []mad.Packet         // that came too late
}

// lose begins to lose those that of accepts; stop ends that.
func (b *harness) lose(c lostAnswer, attr mad.AttrID, of func(t *topo.Topo, p topo.PortIdx) bool) (l *losing,
	stop func()) {
	l = &losing{harness: b, lostAnswer: c, lost: map[topo.PortIdx]int{}}
	hit := func(req *txn.Request) (p topo.PortIdx, is bool) {
		t := b.state.prev
		if p = t.Along(req.Route.Ports()); req.Method != mad.MethodSet || req.Attr != attr || p == topo.None {
			return p, false
		}
		if node := &t.Nodes[t.Ports[p].Node]; node.Type == mad.Switch {
			switch attr {
			case smp.AttrPKeyTable:
				num, _ := device.Of(attr).Named(node, 0, req.Mod)
				p = t.Port(t.Ports[p].Node, num)
			case smp.AttrPortInfo, smp.AttrExtendedPortInfo:
				p = t.Port(t.Ports[p].Node, uint8(req.Mod))
			default:
				p = node.First
			}
		}
		return p, of(t, p)
	}
	b.drop = func(req *txn.Request) bool {
		p, is := hit(req)
		return is && (!c.executed || c.again && l.lost[p] == 0)
	}
	b.meddle = func(req *txn.Request, o *txn.Outcome) {
		p, is := hit(req)
		if !is {
			return
		}
		if l.lost[p]++; c.again && l.lost[p] == 1 {
			o.Result, o.Status = txn.Replied, mad.StatusBusy
			return
		}
		if c.late != never {
			var answer mad.Packet
			answer.SetDirected(&req.Route, mad.MethodGetResp, req.Attr, req.Mod)
			*answer.Data() = o.Data
			l.answers = append(l.answers, answer)
		}
		if o.Status = c.status; c.status == 0 {
			o.Result = txn.TimedOut
		}
		if c.late == atOnce {
			l.arrive()
		}
	}
	return l, func() { b.drop, b.meddle = nil, nil }
}

// arrive has the answers come that were lost.
func (l *losing) arrive() {
	for i := range l.answers {
		l.UnmatchedReply(&l.answers[i])
	}
	l.answers = nil
}

// arriveAfter has them come if it is their time.
func (l *losing) arriveAfter(when lateness) {
	if l.late == when {
		l.arrive()
	}
}

// kinds are a host's port, port 0 of a switch, and an external one towards a host, which are not our own.
func kinds(t *topo.Topo) (all []topo.PortIdx) {
	var hosts []topo.PortIdx
	for _, p := range t.EndPorts {
		if t.Nodes[t.Ports[p].Node].Type == mad.CA && p != t.Self {
			hosts = append(hosts, p)
		}
	}
	return []topo.PortIdx{hosts[0], t.Nodes[t.Switches[0]].First, t.Ports[hosts[len(hosts)-1]].Peer}
}

// policyOf is a policy by its file.
func policyOf(t *testing.T, file string) Partitions {
	t.Helper()
	policy, errors, _ := partitions.Parse("partitions.conf", []byte(file)).Policy()
	if len(errors) > 0 {
		t.Fatal(errors)
	}
	return Partitions{Policy: policy}
}

// gets is the number of Gets since the last sweep began.
func (b *harness) gets(attr mad.AttrID) int {
	sets := 0
	for _, s := range b.sets {
		if s.Attr == attr {
			sets++
		}
	}
	return b.asked[attr] - sets
}

// keys are the P_Keys that ports hold, sorted.
func (b *harness) keys() map[net.End][]mad.PKey {
	all := map[net.End][]mad.PKey{}
	for at := range b.fabric.Ports() {
		keys := slices.DeleteFunc(b.fabric.PKeys(at), func(k mad.PKey) bool { return k == 0 })
		slices.Sort(keys)
		all[at] = keys
	}
	return all
}

const blocksOfPKeys = 4 // that a port has at most

// TestLostPKeys: after a Set of P_KeyTable of which nobody knows what has become, the block is
// not known until it is read. So the next sweep repairs the port, also when the policy has become what
// it was before.
func TestLostPKeys(t *testing.T) {
	less := policyOf(t, "Default=0x7fff : ALL=full ;\n")
	more := policyOf(t, "Default=0x7fff : ALL=full ;\nx=0x1234 : ALL=full ;\n")
	for _, c := range lostAnswers {
		for _, way := range []struct {
			name          string
			before, after Partitions
		}{{"add", less, more}, {"remove", more, less}} {
			for _, extent := range []Extent{Full, Quick, Retry, Second} {
				t.Run(fmt.Sprintf("%s, %s, then a %s sweep", way.name, c.name, extents[extent]), func(t *testing.T) {
					b := up(t, "fattree:k=4", Config{Partitions: way.before})
					want, victims := b.keys(), kinds(b.state.prev)
					l, stop := b.lose(c, smp.AttrPKeyTable, func(_ *topo.Topo, p topo.PortIdx) bool {
						return slices.Contains(victims, p)
					})
					b.Configure(Config{Partitions: way.after, Engines: b.cfg.Engines})
					b.heavy()
					stop()
					if len(l.lost) != len(victims) {
						t.Fatalf("lost %v, not of each of %v", l.lost, victims)
					}
					l.arriveAfter(afterSweep)
					b.Configure(Config{Partitions: way.before, Engines: b.cfg.Engines})
					b.extent = extent
					b.heavy()
					b.extent = Full
					if gets, most := b.gets(smp.AttrPKeyTable), len(victims)*blocksOfPKeys; gets == 0 || gets > most {
						t.Errorf("%d Gets of P_KeyTable, of %d ports", gets, len(victims))
					}
					l.arriveAfter(afterNextSweep)
					if c.late == afterNextSweep {
						b.heavy()
					}
					for at, has := range b.keys() {
						if !slices.Equal(has, want[at]) {
							t.Errorf("port %v has the P_Keys %v, not %v", at, has, want[at])
						}
					}
					if b.heavy(); len(b.sets) > 0 || b.asked[smp.AttrPKeyTable] > 0 {
						t.Errorf("a sweep afterwards: %d Sets, %d Gets of P_KeyTable", len(b.sets),
							b.asked[smp.AttrPKeyTable])
					}
				})
			}
		}
	}
}

// TestLostPKeysUnread: a block stays unknown until it is read, however many sweeps do not succeed in that: because the
// Get of it gets no answer, or that of the port's PortInfo, so that the walk goes by what it was.
func TestLostPKeysUnread(t *testing.T) {
	less := policyOf(t, "Default=0x7fff : ALL=full ;\n")
	more := policyOf(t, "Default=0x7fff : ALL=full ;\nx=0x1234 : ALL=full ;\n")
	for _, attr := range []mad.AttrID{smp.AttrPKeyTable, smp.AttrPortInfo} {
		b := up(t, "fattree:k=4", Config{Partitions: less})
		want, victims := b.keys(), kinds(b.state.prev)
		_, stop := b.lose(lostAnswers[0], smp.AttrPKeyTable, func(_ *topo.Topo, p topo.PortIdx) bool {
			return slices.Contains(victims, p)
		})
		b.Configure(Config{Partitions: more, Engines: b.cfg.Engines})
		b.heavy()
		stop()
		b.Configure(Config{Partitions: less, Engines: b.cfg.Engines})
		at := b.state.prev
		b.drop = func(req *txn.Request) bool {
			p := at.Along(req.Route.Ports())
			if p == topo.None || req.Method != mad.MethodGet || req.Attr != attr {
				return false
			}
			if attr == smp.AttrPortInfo && at.Nodes[at.Ports[p].Node].Type == mad.Switch {
				// without that of port 0 the whole switch counts as gone
				return at.Port(at.Ports[p].Node, uint8(req.Mod)) == victims[2]
			}
			return attr == smp.AttrPKeyTable
		}
		for range 2 {
			b.heavy()
		}
		stop()
		for range 2 {
			b.heavy()
		}
		for at, has := range b.keys() {
			if !slices.Equal(has, want[at]) {
				t.Errorf("Gets of %v lost: port %v has the P_Keys %v, not %v", smp.AttrName(attr), at, has, want[at])
			}
		}
		if b.heavy(); len(b.sets) > 0 || b.asked[smp.AttrPKeyTable] > 0 {
			t.Errorf("Gets of %v lost, a sweep afterwards: %d Sets, %d Gets of P_KeyTable", smp.AttrName(attr),
				len(b.sets), b.asked[smp.AttrPKeyTable])
		}
	}
}

// rejoin cuts a switch off until it counts as gone, and brings it back: the sweep that finds it has Found.Changed, and
// so is followed by a walk that asks only ports that have not answered a Set since.
func (b *harness) rejoin() {
	b.Helper()
	t := b.state.prev
	spine := t.Switches[len(t.Switches)-1]
	for s, n := range t.Switches {
		if t.Nodes[n].Info.NumPorts() > 0 && !slices.ContainsFunc(t.EndPorts, func(p topo.PortIdx) bool {
			return t.Ports[p].Peer != topo.None && t.Ports[t.Ports[p].Peer].Node == n
		}) {
			spine = t.Switches[s]
		}
	}
	guid := t.Nodes[spine].GUID
	var cut []net.End
	for num := uint8(1); num <= t.Nodes[spine].NumPorts; num++ {
		if p := t.Port(spine, num); t.Ports[p].Peer != topo.None {
			at, _ := b.fabric.Find(t.Ports[t.Nodes[spine].First].GUID)
			cut = append(cut, net.End{Node: at.Node, Port: num})
		}
	}
	for _, at := range cut {
		b.fabric.LinkDown(at)
	}
	for b.state.prev.FindNode(guid) != topo.None {
		b.heavy()
	}
	for _, at := range cut {
		b.fabric.LinkUp(at)
	}
	b.fabric.Advance(b.fabric.Now())
}

// TestLostPortInfo and SwitchInfo: likewise.
func TestLostPortInfo(t *testing.T) {
	before := Settings{SubnetTimeOut: Given[uint8](18), LeafHOQLife: Given[uint8](16), HOQLife: Given[uint8](18),
		PacketLifeTime: Given[uint8](18)}
	after := before
	after.SubnetTimeOut, after.LeafHOQLife, after.HOQLife, after.PacketLifeTime = Given[uint8](17), Given[uint8](15),
		Given[uint8](17), Given[uint8](17)
	for _, attr := range []mad.AttrID{smp.AttrPortInfo, smp.AttrSwitchInfo} {
		for _, c := range lostAnswers {
			for _, extent := range []Extent{Full, Quick, Retry, Second} {
				t.Run(fmt.Sprintf("%v, %s, then a %s sweep", smp.AttrName(attr), c.name, extents[extent]),
					func(t *testing.T) {
						b := up(t, "fattree:k=4", Config{Settings: before})
						want := b.settings()
						if extent == Second {
							b.rejoin()
						}
						victims := kinds(b.state.prev)
						if attr == smp.AttrSwitchInfo {
							victims = victims[1:2]
						}
						l, stop := b.lose(c, attr, func(_ *topo.Topo, p topo.PortIdx) bool {
							return slices.Contains(victims, p)
						})
						b.Configure(Config{Settings: after, Engines: b.cfg.Engines})
						if out := b.heavy(); out.Found.Changed != (extent == Second) {
							t.Errorf("changed: %v", out.Found.Changed)
						}
						stop()
						if len(l.lost) != len(victims) {
							t.Fatalf("lost %v, not of each of %v", l.lost, victims)
						}
						l.arriveAfter(afterSweep)
						b.Configure(Config{Settings: before, Engines: b.cfg.Engines})
						b.extent = extent
						b.heavy()
						b.extent = Full
						// A quick sweep takes over all ports but our own.
						if gets := b.gets(smp.AttrPortInfo); extent == Quick && gets > len(victims)+1 {
							t.Errorf("%d Gets of PortInfo", gets)
						}
						l.arriveAfter(afterNextSweep)
						if c.late == afterNextSweep {
							b.heavy()
						}
						for at, has := range b.settings() {
							if has != want[at] {
								t.Errorf("port %v: %v, not %v", at, has, want[at])
							}
						}
						b.heavy()
						if b.heavy(); len(b.sets) > 0 {
							t.Errorf("a sweep afterwards: %d Sets", len(b.sets))
						}
					})
			}
		}
	}
}

// settings are the values of ports that TestLostPortInfo changes.
func (b *harness) settings() map[net.End][3]uint8 {
	all := map[net.End][3]uint8{}
	for at := range b.fabric.Ports() {
		info := b.fabric.PortInfo(at)
		all[at] = [3]uint8{info.SubnetTimeOut(), info.HOQLife(), 0}
		if at.Port == 0 {
			sw := b.fabric.SwitchInfo(at.Node)
			all[at] = [3]uint8{info.SubnetTimeOut(), info.HOQLife(), sw.LifeTimeValue()}
		}
	}
	return all
}

// TestLostFDR10: likewise of ExtendedPortInfo, which quick sweeps take over as well.
func TestLostFDR10(t *testing.T) {
	for _, c := range lostAnswers[:3] {
		b := newHarnessWith(t, nettest.Generate(t, "fattree:k=4,speed=FDR10"),
			Config{Settings: Settings{FDR10: plan.DisableFDR10}}, func(_ int32, _ *net.Node, c *fabric.Caps) {
				c.NVIDIA = true
			})
		b.heavy()
		victims := kinds(b.state.prev)
		victims = []topo.PortIdx{victims[0], victims[2]}
		l, stop := b.lose(c, smp.AttrExtendedPortInfo, func(_ *topo.Topo, p topo.PortIdx) bool {
			return slices.Contains(victims, p)
		})
		b.Configure(Config{Settings: Settings{FDR10: plan.EnableFDR10}, Engines: b.cfg.Engines})
		b.heavy()
		stop()
		if len(l.lost) != len(victims) {
			t.Fatalf("lost %v, not of each of %v", l.lost, victims)
		}
		b.Configure(Config{Settings: Settings{FDR10: plan.DisableFDR10}, Engines: b.cfg.Engines})
		b.extent = Quick
		b.heavy()
		if gets := b.gets(smp.AttrExtendedPortInfo); gets != len(victims) {
			t.Errorf("%s: %d Gets", c.name, gets)
		}
		for at := range b.fabric.Ports() {
			if b.fabric.FDR10Enabled(at) {
				t.Errorf("%s: port %v keeps FDR10", c.name, at)
			}
		}
		if b.heavy(); len(b.sets) > 0 || b.asked[smp.AttrExtendedPortInfo] > 0 {
			t.Errorf("%s: a sweep afterwards: %d Sets, %v", c.name, len(b.sets), b.asked)
		}
	}
}

// TestBusyFDR10: a port that is busy in several sweeps is not taken for one without FDR10. Each of them names the
// failure, and it is set as soon as the port is not busy any more.
func TestBusyFDR10(t *testing.T) {
	b := newHarnessWith(t, nettest.Generate(t, "fattree:k=4,speed=FDR10"),
		Config{Settings: Settings{FDR10: plan.DisableFDR10}}, func(_ int32, _ *net.Node, c *fabric.Caps) {
			c.NVIDIA = true
		})
	b.heavy()
	victim := kinds(b.state.prev)[0]
	at, _ := b.fabric.Find(b.state.prev.Ports[victim].GUID)
	_, stop := b.lose(lostAnswer{}, smp.AttrExtendedPortInfo, func(_ *topo.Topo, p topo.PortIdx) bool {
		return p == victim
	})
	lost := b.meddle
	b.meddle = func(req *txn.Request, o *txn.Outcome) {
		if lost(req, o); o.Result == txn.TimedOut {
			o.Result, o.Status = txn.Replied, mad.StatusBusy
		}
	}
	b.Configure(Config{Settings: Settings{FDR10: plan.EnableFDR10}, Engines: b.cfg.Engines})
	for i := range 4 {
		if out := b.heavy(); len(out.Failures) != 1 || !strings.Contains(out.Failures[0].Detail, "busy") {
			t.Errorf("sweep %d: failures %+v", i, out.Failures)
		}
	}
	stop()
	if out := b.heavy(); len(out.Failures) > 0 || !b.fabric.FDR10Enabled(at) {
		t.Errorf("when it is not busy any more: FDR10 on: %v, failures %+v", b.fabric.FDR10Enabled(at), out.Failures)
	}
}

// TestLostARInfo: likewise of ARInfo. Whether adaptive routing is on decides what a Set of a forwarding table does.
func TestLostARInfo(t *testing.T) {
	for _, c := range lostAnswers[:3] {
		b := newHarnessWith(t, nettest.Generate(t, "fattree:k=4"), Config{}, adaptiveSwitches)
		b.heavy()
		sw := b.node(mad.Switch, 0)
		b.fabric.AdaptiveOn(sw, false)
		b.heavy()
		info := b.fabric.NodeInfo(net.End{Node: sw})
		n := b.state.prev.FindNode(info.NodeGUID())
		first := b.state.prev.Nodes[n].First
		if b.state.prev.Nodes[n].AR != topo.AROn {
			t.Fatal("adaptive routing is not on")
		}
		l, stop := b.lose(c, smp.AttrARInfo, func(_ *topo.Topo, p topo.PortIdx) bool { return p == first })
		b.Configure(Config{Settings: Settings{AR: routes.DisableAR}, Engines: b.cfg.Engines})
		b.heavy()
		stop()
		if l.lost[first] == 0 {
			t.Fatalf("lost %v", l.lost)
		}
		b.Configure(Config{Engines: b.cfg.Engines})
		b.extent = Quick
		b.heavy()
		if on := b.state.prev.Nodes[n].AR == topo.AROn; on != b.fabric.AdaptiveRoutes(sw) || on != !c.executed ||
			b.gets(smp.AttrARInfo) != 1 {
			t.Errorf("%s: adaptive routing on: %v, not %v, after %d Gets", c.name, on, b.fabric.AdaptiveRoutes(sw),
				b.gets(smp.AttrARInfo))
		}
		if b.heavy(); b.asked[smp.AttrARInfo] > 0 {
			t.Errorf("%s: a sweep afterwards: %v", c.name, b.asked)
		}
	}
}
