package torus

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/mad/txn/txntest"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/routing/routingtest"
	"ibsm/sim/ibsim"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// live are fabrics that OpenSM serves. Of those that come first the small size tests one.
var live = []fabric{
	{dims: [3]int{4, 4, 1}, cables: 2, hosts: 2, less: 10, gone: [][3]int{{2, 1, 0}}},
	{dims: [3]int{5, 5, 1}, cables: 3, hosts: 1, less: 20},
	{dims: [3]int{3, 4, 5}, cables: 2, hosts: 1, lmc: 1, less: 30, lost: 2},
	{dims: [3]int{3, 3, 3}, cables: 1, hosts: 2, gone: [][3]int{{1, 1, 1}, {1, 1, 2}}},
	{dims: [3]int{4, 3, 5}, open: [3]bool{true, false, false}, cables: 1, hosts: 1},
}

// TestServed compares what OpenSM serves: the SL of each path, and the tables of multicast groups with random
// members.
func TestServed(t *testing.T) {
	some := live
	if os.Getenv("IBSM_PROOF") == "" {
		some = live[:1]
	}
	for _, f := range some {
		t.Run(f.String(), func(t *testing.T) { compareServed(t, f) })
	}
}

func compareServed(t *testing.T, f fabric) {
	b := f.build(t)
	options := []string{"-Q", "--torus_config", b.conf, "-l", strconv.Itoa(f.lmc)}
	run := routingtest.OpenSM(t, b.net, "torus-2QoS", options...)
	s, _ := settingsOf(t, b.conf)
	tables, err := New(s)(t.Context(), routing.In{Topo: run.Topo, LIDs: run.LIDs})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(b.net)
	if err != nil {
		t.Fatal(err)
	}
	cabled, err := net.Parse(b.net, text)
	if err != nil {
		t.Fatal(err)
	}
	host := slices.IndexFunc(cabled.Nodes, func(n net.Node) bool { return n.Type != mad.Switch })
	seen, err := netwalk.Topo(cabled, net.End{Node: int32(host), Port: 1}) // has routes from there
	if err != nil {
		t.Fatal(err)
	}
	sock := routingtest.Start(t, b.net, "torus-2QoS", options...)
	dial := func() *ibsim.Port {
		port, err := ibsim.Dial(t.Context(), ibsim.Config{SockName: sock, Node: cabled.Nodes[host].Desc})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { port.Close() })
		return port
	}
	var hosts []topo.PortIdx
	var lids []mad.LID
	for _, p := range run.Topo.EndPorts {
		lids = append(lids, run.LIDs.Base[p])
		if run.Topo.Nodes[run.Topo.Ports[p].Node].Type != mad.Switch {
			hosts = append(hosts, p)
		}
	}
	differ := 0
	sls := routingtest.PathSLs(t, dial(), lids)
	for path, want := range sls {
		if got := tables.SLs.For(path[0], path[1], 0); got != want {
			if differ++; differ < 10 {
				t.Errorf("from LID %v to LID %v: SL %d, OpenSM %d", path[0], path[1], got, want)
			}
		}
	}
	t.Logf("compared %d SLs, %d differ", len(sls), differ)
	compareTrees(t, dial(), run, seen, hosts, tables.Trunk)
}

// asker sends requests.
type asker func(...txn.Request) []txn.Outcome

// compareTrees joins hosts to groups, and compares the tables of all switches once OpenSM has them.
func compareTrees(t *testing.T, port txn.Port, run *routingtest.Run, seen *topo.Topo, hosts []topo.PortIdx, trunk *routing.Trunk) {
	e := txn.NewEngine(port)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	ask := func(requests ...txn.Request) []txn.Outcome {
		t.Helper()
		outcomes, err := txntest.Do(ctx, e, txn.Config{MaxWindow: 8}, requests)
		if err != nil {
			t.Fatal(err)
		}
		return outcomes
	}
	own := smp.PortInfo(ask(txn.Request{Route: mad.MakeRoute(), Method: mad.MethodGet, Attr: smp.AttrPortInfo})[0].Data)
	grower := mcast.NewGrower(mcast.NewGraph(run.Topo, func(topo.PortIdx) mcast.Use { return mcast.Extend }))
	rng := rand.New(rand.NewPCG(1, 2))
	var trees []*mcast.Tree
	for group := range byte(6) {
		rng.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		m := mcast.Members{Receivers: slices.Clone(hosts[:2+rng.IntN(min(8, len(hosts)-2))])}
		mlid := mad.LID(0)
		for _, p := range m.Receivers {
			mlid = joined(t, ask, own.MasterSMLID(), group, run.Topo.Ports[p].GUID)
		}
		tree, unreached := grower.GrowAlong(trunk, mlid, m, nil)
		if len(unreached) > 0 {
			t.Fatal(unreached)
		}
		trees = append(trees, tree)
	}
	var differ []string
	for start := time.Now(); time.Since(start) < 20*time.Second; {
		if differ = compareMFTs(t, ask, run.Topo, seen, trees); len(differ) == 0 {
			break
		}
	}
	for _, text := range differ[:min(len(differ), 10)] {
		t.Error(text)
	}
	t.Logf("compared %d trees on %d switches", len(trees), len(seen.Switches))
}

// joined joins a port to a group, and returns the multicast LID.
func joined(t *testing.T, ask asker, sm mad.LID, group byte, guid mad.GUID) mad.LID {
	t.Helper()
	var p mad.Packet
	p.SetHeader(mad.ClassSA, mad.MethodSet, sarec.AttrMCMemberRecord, 0)
	r := (*sarec.MCMemberRecord)(p.SAData()[:56])
	r.SetMGID(mad.GID{0xff, 0x12, 0, 1, 15: group + 1})
	r.SetPortGID(mad.MakeGID(mad.DefaultPrefix, guid))
	r.SetQKey(0x1b)
	r.SetPKey(0xffff)
	r.SetJoinState(1)
	r.SetProxyJoin(true)
	p.SetComponentMask(sarec.MCMemberMGID | sarec.MCMemberPortGID | sarec.MCMemberQKey | sarec.MCMemberPKey | sarec.MCMemberSL |
		sarec.MCMemberFlowLabel | sarec.MCMemberTClass | sarec.MCMemberJoinState | sarec.MCMemberProxyJoin)
	o := ask(txn.Request{Packet: &p, Addr: mad.Addr{LID: sm, QPN: 1}})[0]
	if o.Result != txn.Replied || o.Status != mad.StatusOK {
		t.Fatalf("join of %v: %+v", guid, o)
	}
	const mlid = 56 + 36 - 64 // of the MAD's bytes from 64 on; the record begins at 56, and has the MLID at 36
	return mad.LID(o.Data[mlid])<<8 | mad.LID(o.Data[mlid+1])
}

// compareMFTs reads the first block of multicast LIDs of all switches, by routes in seen.
func compareMFTs(t *testing.T, ask asker, run, seen *topo.Topo, trees []*mcast.Tree) (differ []string) {
	t.Helper()
	var requests []txn.Request
	for _, n := range seen.Switches {
		for position := range uint8(2) {
			requests = append(requests, txn.Request{Route: seen.Nodes[n].Route, Method: mad.MethodGet, Attr: smp.AttrMulticastForwardingTable, Mod: smp.MFTMod(position, 0)})
		}
	}
	for i, o := range ask(requests...) {
		if o.Result != txn.Replied || o.Status != mad.StatusOK {
			t.Fatalf("%+v", o)
		}
		guid := seen.Nodes[seen.Switches[i/2]].GUID
		s := run.Nodes[run.FindNode(guid)].Switch
		table := smp.MulticastForwardingTable(o.Data)
		for _, tree := range trees {
			if got, want := tree.Ports(s).Position(uint8(i%2)), table.PortMask(tree.MLID); got != want {
				differ = append(differ, "switch "+guid.String()+" MLID "+tree.MLID.String()+": ports "+strconv.FormatUint(uint64(got), 2)+", OpenSM "+strconv.FormatUint(uint64(want), 2))
			}
		}
	}
	return differ
}
