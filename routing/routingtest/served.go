package routingtest

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// Served is a subnet that OpenSM serves, as a client at the port sees it at which OpenSM runs.
type Served struct {
	t      testing.TB
	run    *Run
	client *client
}

// Serve lets OpenSM bring up the fabric of a run once more, and serve it until the test ends. dial attaches to a node
// of the simulator at a socket until then.
func (r *Run) Serve(t testing.TB, dial func(t testing.TB, sock, node string) mad.Port) *Served {
	t.Helper()
	sock := madtest.StartIbsim(t, r.file)
	cmd := command(t, t.TempDir(), sock, r.engine, append([]string{"-f", "stdout"}, r.options...))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for !strings.Contains(lines.Text(), "SUBNET UP") {
		if !lines.Scan() {
			t.Fatalf("opensm ended: %v", lines.Err())
		}
	}
	go io.Copy(io.Discard, out) // what nobody reads would stop it
	self := r.Topo.Ports[r.Topo.Self]
	c, end := newClient(t, dial(t, sock, r.Topo.Nodes[self.Node].Desc.String()))
	t.Cleanup(end)
	return &Served{t, r, c}
}

// SLs are the SLs of the paths between each two LIDs, in PathRecords. There must be one for each two between which
// packets arrive by OpenSM's tables.
func (s *Served) SLs(lids []mad.LID) map[[2]mad.LID]uint8 {
	s.t.Helper()
	sls := s.client.pathSLs(lids)
	for _, from := range lids {
		for _, to := range lids {
			if _, ok := sls[[2]mad.LID{from, to}]; !ok && s.run.arrives(s.run.LIDs.Owner[from], to) {
				s.t.Errorf("OpenSM has no path from LID %v to LID %v, though packets arrive", from, to)
			}
		}
	}
	return sls
}

// HostLIDs are the lowest LIDs of all ports of hosts.
func (r *Run) HostLIDs() (lids []mad.LID) {
	for _, p := range r.hosts() {
		lids = append(lids, r.LIDs.Base[p])
	}
	return lids
}

func (r *Run) hosts() (ports []topo.PortIdx) {
	for _, p := range r.Topo.EndPorts {
		if r.Topo.Nodes[r.Topo.Ports[p].Node].Type != mad.Switch {
			ports = append(ports, p)
		}
	}
	return ports
}

// CompareTrees joins random hosts that OpenSM has routes to, to so many groups, and fails the test if some switch does
// not come to forward a group as the trunk says. It returns how many entries it has compared: one for each group and
// switch.
func (s *Served) CompareTrees(groups int, trunk *routing.Trunk) (compared int) {
	s.t.Helper()
	hosts := slices.DeleteFunc(s.run.hosts(), func(p topo.PortIdx) bool {
		return !s.run.arrives(s.run.Topo.Self, s.run.LIDs.Base[p])
	})
	if len(hosts) < 2 {
		return 0
	}
	grower := mcast.NewGrower(mcast.NewGraph(s.run.Topo, nil, func(topo.PortIdx) mcast.Use { return mcast.Extend }))
	rng := rand.New(rand.NewPCG(1, 2))
	var trees []*mcast.Tree
	for group := range groups {
		rng.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		m := mcast.Members{Receivers: slices.Clone(hosts[:2+rng.IntN(min(8, len(hosts)-1))])}
		mlid := mad.LID(0)
		for _, p := range m.Receivers {
			mlid = s.client.join(byte(group), s.run.Topo.Ports[p].GUID)
		}
		tree, unreached := grower.GrowAlong(trunk, mlid, m, nil)
		if len(unreached) > 0 {
			s.t.Fatal(unreached)
		}
		trees = append(trees, tree)
	}
	var differ []string
	for start := time.Now(); time.Since(start) < 20*time.Second; {
		if differ = s.compareMFTs(trees); len(differ) == 0 {
			break
		}
	}
	for _, text := range differ[:min(len(differ), 10)] {
		s.t.Error(text)
	}
	return len(trees) * len(s.run.Topo.Switches)
}

// compareMFTs reads the first block of multicast LIDs of all switches.
func (s *Served) compareMFTs(trees []*mcast.Tree) (differ []string) {
	s.t.Helper()
	t := s.run.Topo
	var requests []txn.Request
	var positions []uint8
	for _, n := range t.Switches {
		for position := range mcast.Positions(t.Nodes[n].NumPorts) {
			requests = append(requests,
				txn.Request{Route: t.Nodes[n].Route, Method: mad.MethodGet, Attr: smp.AttrMulticastForwardingTable,
					Mod: smp.MFTMod(position, 0)})
			positions = append(positions, position)
		}
	}
	replies := s.client.ask(requests...)
	sw := topo.SwitchIdx(-1)
	for i, o := range replies {
		if o.Result != txn.Replied || o.Status != mad.StatusOK {
			s.t.Fatalf("%+v", o)
		}
		if positions[i] == 0 {
			sw++
		}
		table := smp.MulticastForwardingTable(o.Data)
		for _, tree := range trees {
			if got, want := tree.Ports(sw).Position(positions[i]), table.PortMask(tree.MLID); got != want {
				differ = append(differ, fmt.Sprintf("switch %v MLID %v position %d: ports %016b, OpenSM %016b",
					t.Nodes[t.Switches[sw]].GUID, tree.MLID, positions[i], got, want))
			}
		}
	}
	return differ
}
