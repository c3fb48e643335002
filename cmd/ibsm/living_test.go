package main_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// living is a subnet in which cables and switches are lost and come back, while OpenSM and ibsm are master in turn.
type living struct {
	*testSubnet
	net  *net.Net
	rng  *rand.Rand
	argv [2][]string        // of OpenSM and of ibsm
	cuts []net.End          // cables that are lost, by one end
	off  []int32            // switches that are
	was  map[[2]int]journey // at the last look, nil where nothing is expected of them
	by   string             // the engine that had routed then
}

// journey is how a packet gets from one host to another.
type journey struct {
	sl   uint8
	hops []fabric.Hop
}

// TestLivingFabric: cables and switches are lost and return while OpenSM and ibsm are master in turn, each with the
// same opensm.conf. Under ibsm no pair of hosts is lost that has cables, and fabcheck finds no credit loop. With
// torus-2QoS pairs whose way is not affected keep their SL.
func TestLivingFabric(t *testing.T) {
	t.Parallel()
	needFabcheck(t)
	rounds, seed := 4, uint64(1)
	if proof() {
		rounds = 50
	}
	for _, c := range []struct{ spec, engines, more string }{
		{"torus:dims=5x5x3,hosts=1", "torus-2QoS,lash", ""},
		{"torus:dims=4x4,hosts=1", "lash", ""},
		{"torus:dims=4x4,hosts=1", "dfsssp,lash", ""},
		{"random:switches=14,degree=4,hosts=1", "nue,lash", "nue_max_num_vls 4\n"},
		{"fattree:k=4", "ftree,updn", ""},
		{"fattree:k=4", "updn", ""},
	} {
		name, _, _ := strings.Cut(c.engines, ",")
		if !proof() && name != "torus-2QoS" && name != "updn" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Logf("seed %d, %d rounds", seed, rounds)
			l := newLiving(t, c.spec, c.engines, c.more, seed)
			for round := range rounds {
				l.round(round)
				if t.Failed() {
					t.Fatalf("round %d; lost cables %v, switches %v", round, l.cuts, l.off)
				}
			}
		})
	}
}

func newLiving(t *testing.T, spec, engines, more string, seed uint64) *living {
	dir := t.TempDir()
	l := &living{net: nettest.Generate(t, spec), rng: rand.New(rand.NewPCG(seed, 0))}
	l.testSubnet = newTestSubnetOf(t, l.net, 2)
	l.ctl = filepath.Join(dir, "ctl")
	conf, torus := filepath.Join(dir, "opensm.conf"), filepath.Join(dir, "torus.conf")
	lines := "force_log_flush TRUE\nqos TRUE\nsweep_interval 5\nrouting_engine " + engines + "\ntorus_config " + torus +
		"\n" + more
	for name, text := range map[string]string{conf: lines, torus: torusConf} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	l.argv = [2][]string{
		{"ibsim-run", "opensm", "-F", conf, "-f", "stdout"},
		{program(t, "ibsm"), "--ibsim", "-F", conf, "-f", "stdout", "--state_dir", "none", "--ctl_socket", l.ctl},
	}
	return l
}

// round is one manager's time as master. Something changes while it is, and before the next one comes.
func (l *living) round(number int) {
	ours := number%2 == 1
	l.bringUp(l.argv[number%2]...)
	if ours {
		l.judge()
		before := l.swept()
		l.change()
		eventually(l.t, "ibsm has swept again, links are ACTIVE, and packets arrive", func() bool {
			return l.swept().After(before) && l.active() && l.arrive()
		})
		l.judge()
		l.manager.stop()
	} else {
		l.was, l.by = l.journeys(), l.routedBy()
		l.change()
		if l.rng.IntN(3) > 0 {
			if l.manager.await("SUBNET UP"); l.was != nil {
				l.was, l.by = l.journeys(), l.routedBy()
			}
		}
		l.manager.kill() // in the middle of a sweep it may not end on SIGTERM
	}
	if l.rng.IntN(3) == 0 {
		l.change()
	}
}

// routedBy is the engine that has routed last.
func (l *living) routedBy() string {
	said, _, _ := strings.Cut(l.manager.text()[strings.LastIndex(l.manager.text(), "osm_ucast_mgr_process: "):],
		" tables configured")
	return strings.TrimPrefix(said, "osm_ucast_mgr_process: ")
}

// active reports whether all links of the manager's subnet are ACTIVE. One that has returned is in INIT until a sweep
// has seen it.
func (l *living) active() (all bool) {
	all = true
	l.server.Do(func(f *fabric.Fabric) {
		for node := range l.inReach(f) {
			for num := range f.NumPorts(node) {
				at := net.End{Node: node, Port: num + 1}
				info := f.PortInfo(at)
				all = all && (!f.CableGood(at) || info.PortState() == smp.PortActive)
			}
		}
	})
	return all
}

// arrive reports whether packets with SL 0 get from all clients to all that have cables to them.
func (l *living) arrive() (all bool) {
	all = true
	l.server.Do(func(f *fabric.Fabric) {
		clients := l.reach(f)
		for _, from := range clients {
			for _, to := range clients {
				info := f.PortInfo(l.ends[to])
				_, lost := f.Probe(l.ends[from], info.LID(), mad.DefaultPKey, 0, nil)
				all = all && (from == to || lost == fabric.Delivered)
			}
		}
	})
	return all
}

// change loses or brings back a cable or a switch, at most three of both at a time. The first
// client always has a way to the manager.
func (l *living) change() {
	l.server.Do(func(f *fabric.Fabric) {
		back := len(l.cuts)+len(l.off) >= 3 || len(l.cuts)+len(l.off) > 0 && l.rng.IntN(2) == 0
		switch {
		case back && len(l.off) > 0:
			f.NodeUp(l.off[0])
			l.off = l.off[1:]
		case back:
			f.LinkUp(l.cuts[0])
			l.cuts = l.cuts[1:]
		case l.rng.IntN(3) == 0:
			for {
				node := l.victim(f)
				if f.NodeDown(node); l.asks(f) {
					l.off = append(l.off, node)
					break
				}
				f.NodeUp(node)
			}
		default:
			for {
				at := net.End{Node: l.victim(f), Port: uint8(1 + l.rng.IntN(6))}
				if at.Port > f.NumPorts(at.Node) || !f.CableGood(at) || f.NodeType(f.Peer(at).Node) != mad.Switch {
					continue
				}
				if f.LinkDown(at); l.asks(f) {
					l.cuts = append(l.cuts, at)
					break
				}
				f.LinkUp(at)
			}
		}
		if back {
			l.was = nil // ways may have gone around it
		}
	})
}

// victim is a switch with power that may be lost.
func (l *living) victim(f *fabric.Fabric) int32 {
	for {
		node := int32(l.rng.IntN(f.NumNodes()))
		if f.NodeType(node) != mad.Switch || !f.Powered(node) {
			continue
		}
		stays := f.Peer(l.ends[0]).Node == node
		for _, id := range l.hosts {
			at, _ := f.FindNode(id)
			stays = stays || f.Peer(net.End{Node: at.Node, Port: 1}).Node == node
		}
		if !stays {
			return node
		}
	}
}

// asks reports whether the first client, which asks the SA, has cables to the manager.
func (l *living) asks(f *fabric.Fabric) bool { return slices.Contains(l.reach(f), 0) }

// reach are the clients that have cables to the manager.
func (l *living) reach(f *fabric.Fabric) (clients []int) {
	there := l.inReach(f)
	for i, at := range l.ends {
		if there[at.Node] {
			clients = append(clients, i)
		}
	}
	return clients
}

// inReach are the nodes that have cables to the manager.
func (l *living) inReach(f *fabric.Fabric) (seen map[int32]bool) {
	manager, _ := f.FindNode(l.hosts[0])
	seen = map[int32]bool{manager.Node: true}
	for queue := []int32{manager.Node}; len(queue) > 0; queue = queue[1:] {
		for num := range f.NumPorts(queue[0]) {
			at := net.End{Node: queue[0], Port: num + 1}
			if f.CableGood(at) && !seen[f.Peer(at).Node] {
				seen[f.Peer(at).Node] = true
				queue = append(queue, f.Peer(at).Node)
			}
		}
	}
	return seen
}

// journeys are those of all pairs of clients, with the SLs that the SA gives.
func (l *living) journeys() map[[2]int]journey {
	l.t.Helper()
	var clients []int
	l.server.Do(func(f *fabric.Fabric) { clients = l.reach(f) })
	gids := l.clientGIDs()
	var questions []question
	var pairs [][2]int
	for _, from := range clients {
		for _, to := range clients {
			if from == to {
				continue
			}
			p := request(mad.MethodGet, sarec.AttrPathRecord, sarec.PathDGID|sarec.PathSGID|sarec.PathNumbPath)
			rec := (*sarec.PathRecord)(p.SAData()[:])
			rec.SetSGID(gids[from])
			rec.SetDGID(gids[to])
			rec.SetNumbPath(1)
			questions, pairs = append(questions, question{from: 0, packet: p}), append(pairs, [2]int{from, to})
		}
	}
	all := map[[2]int]journey{}
	var answers []*mad.Packet
	for some := range slices.Chunk(questions, 100) { // as many as no manager drops
		answers = append(answers, l.ask(some)...)
	}
	l.server.Do(func(f *fabric.Fabric) {
		for i, a := range answers {
			if a == nil || a.Status() != mad.StatusOK {
				continue
			}
			rec := (*sarec.PathRecord)(a.SAData()[:])
			hops, lost := f.Probe(l.ends[pairs[i][0]], rec.DLID(), rec.PKey(), rec.SL(), nil)
			if lost == fabric.Delivered {
				all[pairs[i]] = journey{rec.SL(), hops}
			}
		}
	})
	return all
}

// judge holds that ibsm has all pairs connected that have cables, without a credit loop, and that those whose way is
// not affected have the SL that they had.
func (l *living) judge() {
	l.t.Helper()
	var clients []int
	l.server.Do(func(f *fabric.Fabric) { clients = l.reach(f) })
	now := l.journeys()
	if want := len(clients) * (len(clients) - 1); len(now) != want {
		l.t.Errorf("%d of %d pairs arrive", len(now), want)
	}
	moved, by := 0, l.routedBy()
	if l.by != "torus-2QoS" || by != l.by {
		l.was = nil // other SLs are right
	}
	for pair, was := range l.was {
		is, there := now[pair]
		if !there {
			continue
		}
		if is.sl != was.sl && l.whole(was) {
			l.t.Errorf("%v: SL %d and then %d, though its way %v is there", pair, was.sl, is.sl, was.hops)
		}
		if !slices.EqualFunc(is.hops, was.hops, func(a, b fabric.Hop) bool {
			return a.Node == b.Node && a.Out == b.Out
		}) {
			moved++
		}
	}
	var r result
	for range 3 { // a switch that has just changed may wait for the next sweep
		eventually(l.t, "ibsm sweeps no more", func() bool { return !l.swept().IsZero() })
		r = run(l.t, l.t.TempDir(), []string{"IBSIM_SOCKNAME=" + l.socket, "SIM_HOST=" + l.hosts[1]}, "ibsim-run",
			fabcheckPath(), "--ibsim", "-q", "-v", "-c")
		if r.status == 0 && strings.Contains(r.stderr, "SA answers") {
			break
		}
	}
	if r.status != 0 || !strings.Contains(r.stderr, "SA answers") {
		l.t.Errorf("fabcheck: status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	l.was, l.by = now, by
	l.t.Logf("%d pairs, %d of which changed their way, by %s; lost cables %v, switches %v", len(now), moved, by, l.cuts,
		l.off)
}

// whole reports whether all cables of a way are still there.
func (l *living) whole(j journey) (is bool) {
	is = true
	l.server.Do(func(f *fabric.Fabric) {
		for _, h := range j.hops {
			is = is && f.Powered(h.Node) && (h.Out == 0 || f.CableGood(net.End{Node: h.Node, Port: h.Out}))
		}
	})
	return is
}
