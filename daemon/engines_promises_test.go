package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/lash"
	"ibsm/routing/routingtest"
	"ibsm/routing/routingtest/certificate"
	"ibsm/routing/sssp"
	"ibsm/routing/updn"
	"ibsm/routing/verify"
	"ibsm/sweep/engines"
	"ibsm/topo"
)

// TestEnginePromises routes random damaged fabrics with each engine, at first and after more cables are lost, and wants
// its promise to be kept: it ends, refuses only for reasons that are there, sends no packet in a circle, reaches what
// it can by its own rule, and makes no credit loop where it promises none, for which the certificate is checked.
// IBSM_SEED=N tries one seed.
func TestEnginePromises(t *testing.T) {
	from, to := uint64(0), uint64(12)
	if os.Getenv("IBSM_PROOF") != "" {
		to = 500
	}
	if text := os.Getenv("IBSM_SEED"); text != "" {
		from, _ = strconv.ParseUint(text, 10, 64)
		to = from + 1
	}
	for _, name := range engines.Names() {
		t.Run(name, func(t *testing.T) {
			p := promised{refused: map[string]int{}}
			for number := from; number < to; number++ {
				t.Run(fmt.Sprint(number), func(t *testing.T) { p.try(t, routingtest.NewDamaged(t, name, number)) })
			}
			t.Logf("routed %d times, with %d routes lost that are cut and %d for which there is no way by the rule of the engine (in %d subnets its search passes over some); %d credit loops that are not promised against, %d that had the attempt fail; ibdmchk asked %d times; refused: %v",
				p.routed, p.cut, p.without, p.passed, p.loops, p.broken, p.asked, p.refused)
			if p.routed == 0 && to-from > 1 {
				t.Error("nothing was routed")
			}
			if p.passed*50 > p.routed { // 5 of 464 with updn
				t.Error("in too many subnets")
			}
		})
	}
}

// promised is how often an engine did what.
type promised struct {
	routed, cut, without, passed, loops, broken, asked int
	refused                                            map[string]int // by the first words of the reason
}

func (p *promised) try(t *testing.T, f *routingtest.Damaged) {
	loaded := conf.Load([]string{"-F", f.Conf}, Environment)
	files, _, err := selectedFiles(loaded)
	if err != nil {
		t.Fatal(err)
	}
	s := &files.settings(loaded.Config).Settings
	defer func() {
		if t.Failed() {
			t.Logf("%s, %d lanes\n%s", f.Spec, f.Lanes[0], strings.Join(f.Lines, "\n"))
		}
	}()
	e := &chain(loaded.Config, files)[0]
	in := f.In
	tables := p.route(t, e, in, s)
	if tables == nil {
		return
	}
	if p.routed%4 == 1 && readable(in) {
		p.asked++
		t.Run("ibdmchk", func(t *testing.T) { compareWithIbdmchk(t, in, tables) })
	}
	in.Topo, in.Prev, in.Keep = lose(in.Topo), tables, routing.KeepMinimal
	p.route(t, e, in, s)
}

// lose is a subnet after each twentieth cable between switches is lost.
func lose(t *topo.Topo) *topo.Topo {
	after, cables := *t, 0
	after.Ports = slices.Clone(t.Ports)
	for i := range after.Ports {
		port := &after.Ports[i]
		if port.Peer > topo.PortIdx(i) && t.IsSwitchPort(topo.PortIdx(i)) && t.IsSwitchPort(port.Peer) {
			if cables++; cables%20 == 7 {
				after.Ports[port.Peer].Peer, port.Peer = topo.None, topo.None
			}
		}
	}
	return &after
}

// route has the engine route a subnet, and checks what it promises. It returns nil if the engine refuses.
func (p *promised) route(t *testing.T, e *engines.Engine, in routing.In, s *engines.Settings) *routing.Tables {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tables, err := e.Route(ctx, in)
	if err != nil {
		if !mayRefuse(e.Name, err, in) {
			t.Errorf("refused: %v", err)
		}
		words := strings.Fields(err.Error())
		p.refused[strings.Join(words[:min(len(words), 5)], " ")]++
		return nil
	}
	p.routed++
	report, err := verify.Check(ctx, 0, in.Topo, in.LIDs, tables, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.cut += report.Count[verify.Cut]
	if bad := report.Bad() - report.Count[verify.DeadEnd]; bad > 0 {
		t.Errorf("%d routes or entries do not work: %+v", bad, report.Examples)
	}
	p.without += report.Count[verify.DeadEnd]
	p.mustReach(t, e, in, s, tables)
	p.mustNotWait(t, ctx, e, in, report, tables)
	return tables
}

// mayRefuse reports whether an engine may refuse a subnet with an error.
func mayRefuse(name string, err error, in routing.In) bool {
	split := len(slices.Compact(slices.Sorted(slices.Values(routing.NewGraph(in.Topo).Components())))) != 1
	var few *sssp.TooFewLanes
	var fewer *lash.TooFewLanes
	var high *lash.StartTooHigh
	switch name {
	case "sssp", "nue":
		return split
	case "dfsssp":
		return split || errors.As(err, &few)
	case "lash":
		return split || errors.As(err, &fewer) || errors.As(err, &high)
	case "updn":
		return errors.Is(err, updn.ErrNoRoots)
	case "dnup":
		return len(withHosts(in.Topo)) == 0
	case "ftree", "torus-2QoS", "tree", "dragonfly", "hyperx":
		return true // what is no such fabric
	case "auto":
		return split
	}
	return false
}

// mayFail reports whether the tables of an engine that promises no credit loop may have one: where switches of one rank
// are connected, and with too few lanes for a switch that is missing in a torus.
func mayFail(e *engines.Engine, lanes uint8) bool {
	return e.NoCreditLoop && (e.Name == "updn" || e.Name == "ftree" || e.Name == "torus-2QoS" && lanes < 4)
}

// mustNotWait looks for a credit loop, and checks the certificate if there is none.
func (p *promised) mustNotWait(t *testing.T, ctx context.Context, e *engines.Engine, in routing.In,
	report *verify.Report, tables *routing.Tables) {
	found, err := creditloop.Find(ctx, creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: report.Forwarding(),
		SLs: tables.SLs, Maps: tables.SLs.Lanes(), Lanes: in.Lanes})
	switch {
	case err != nil:
		t.Fatal(err)
	case len(found.Findings) > 0:
		t.Errorf("packets are stopped: %+v", found.Findings)
	case found.Loop != nil && mayFail(e, in.Lanes[0]):
		p.broken++ // the manager does not use such tables
	case found.Loop != nil && e.NoCreditLoop:
		t.Errorf("credit loop: %s", creditloop.Text(in.Topo, found.Loop, creditloop.Description))
	case found.Loop != nil:
		p.loops++
	default:
		err := certificate.Check(ctx, certificate.In{Topo: in.Topo, LIDs: in.LIDs, Tables: tables,
			Maps: tables.SLs.Lanes(), Hosts: true, Lanes: in.Lanes, Number: found.Number})
		if err != nil {
			t.Error(err)
		}
	}
}

// mustReach fails the test for pairs of a switch and a LID without a route, although there are cables that the rule of
// the engine permits to use. OpenSM's search by updn, which remembers one direction for a switch, passes over a few,
// and so does ours; dnup has no rule besides such a search. What ftree and tree are for is between hosts. A switch that
// has lost its last cable is in no subnet.
func (p *promised) mustReach(t *testing.T, e *engines.Engine, in routing.In, s *engines.Settings,
	tables *routing.Tables) {
	if e.Name == "dnup" {
		return
	}
	w := newWays(e.Name, in, s, tables)
	part, hosts := routing.NewGraph(in.Topo).Components(), map[topo.SwitchIdx]bool{}
	for _, s := range withHosts(in.Topo) {
		hosts[s] = true
	}
	alone := func(home topo.SwitchIdx) bool {
		return !slices.ContainsFunc(w.steps, func(st backStep) bool { return st.from == home })
	}
	for lid, owner := range in.LIDs.Owner {
		home, port := routing.Home(in.Topo, owner)
		if owner == topo.None || home == topo.None || (e.Name == "ftree" || e.Name == "tree") && port == 0 ||
			alone(home) {
			continue
		}
		var permitted []bool
		for i := range tables.LFT {
			from := topo.SwitchIdx(i)
			if part[from] != part[home] || (e.Name == "ftree" || e.Name == "tree") && !hosts[from] ||
				arrives(in.Topo, tables, from, home, mad.LID(lid)) {
				continue
			}
			if permitted == nil {
				permitted = w.reaching(home)
			}
			switch {
			case permitted[from] && e.Name == "updn":
				p.passed++
				return
			case permitted[from]:
				t.Fatalf("no route from %q to LID %d at %q", in.Topo.Nodes[in.Topo.Switches[from]].Desc, lid,
					in.Topo.Nodes[in.Topo.Switches[home]].Desc)
			}
		}
	}
}

// arrives reports whether packets from a switch come to the one where a LID is.
func arrives(t *topo.Topo, tables *routing.Tables, at, home topo.SwitchIdx, lid mad.LID) bool {
	for range t.Switches {
		if at == home {
			return tables.LFT[at][lid] != routing.NoPath
		}
		port := tables.LFT[at][lid]
		if port == 0 || port > t.Nodes[t.Switches[at]].NumPorts {
			return false
		}
		peer := t.Ports[t.Port(t.Switches[at], port)].Peer
		if peer == topo.None || t.Nodes[t.Ports[peer].Node].Switch == topo.None {
			return false
		}
		at = t.Nodes[t.Ports[peer].Node].Switch
	}
	return false
}

// lostPairs are the pairs of ports of hosts without a route. Aggregation nodes are no hosts.
func lostPairs(in routing.In, tables *routing.Tables) (lost int) {
	isHost := func(p topo.PortIdx) bool {
		node := &in.Topo.Nodes[in.Topo.Ports[p].Node]
		return node.Type != mad.Switch && !node.Aggregation
	}
	for _, from := range in.Topo.EndPorts {
		at, _ := routing.Home(in.Topo, from)
		for _, to := range in.Topo.EndPorts {
			home, _ := routing.Home(in.Topo, to)
			if from != to && isHost(from) && isHost(to) &&
				(at == topo.None || home == topo.None || !arrives(in.Topo, tables, at, home, in.LIDs.Base[to])) {
				lost++
			}
		}
	}
	return lost
}
