package main_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/mad/smp"
	"ibsm/partitions/partitionstest"
	"ibsm/sim/fabric"
	"ibsm/sim/ibsim"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// pkeyFabric is a fabric that OpenSM and ibsm manage in turn, each until the subnet is up.
type pkeyFabric struct {
	*testing.T
	server *ibsim.Server
	socket string
	guids  []mad.GUID
	self   net.End
	before map[net.End][]mad.PKey        // the tables when watch was called, of external ports of switches too
	absent map[net.End]map[mad.PKey]bool // keys of these that were absent at some time since
}

func newPKeyFabric(t *testing.T, rng *rand.Rand) *pkeyFabric {
	p := &pkeyFabric{T: t, socket: newSocket()}
	host, external := []uint16{64, 33, 16}[rng.IntN(3)], []uint16{64, 32, 0}[rng.IntN(3)]
	var f *fabric.Fabric
	f = fabric.New(nettest.Generate(t, "fattree:k=4,levels=2"), fabric.Config{
		Caps: func(_ int32, _ *net.Node, c *fabric.Caps) { c.PartitionCap, c.PartitionEnforcementCap = host, external },
		OnSet: func(s fabric.Set) {
			if s.Attr == smp.AttrPKeyTable {
				p.see(f)
			}
		},
	})
	for at := range f.EndPorts() {
		if f.NodeType(at.Node) == mad.CA && p.self.Port == 0 {
			p.self = at
		}
		p.guids = append(p.guids, f.PortGUID(at))
	}
	var err error
	if p.server, err = ibsim.Listen(ibsim.ServerConfig{Fabric: f, SockName: p.socket}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.server.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return p
}

// see notes which keys are absent.
func (p *pkeyFabric) see(f *fabric.Fabric) {
	for at, before := range p.before {
		held := f.PKeys(at)
		for _, k := range before {
			if k.Valid() && !slices.Contains(held, k) {
				if p.absent[at] == nil {
					p.absent[at] = map[mad.PKey]bool{}
				}
				p.absent[at][k] = true
			}
		}
	}
}

// watch notes the tables as they are, and from now on which of their keys are absent. It returns the tables.
func (p *pkeyFabric) watch() (tables map[net.End][]mad.PKey) {
	p.server.Do(func(f *fabric.Fabric) {
		tables = pkeysOf(f)
		p.before, p.absent = tables, map[net.End]map[mad.PKey]bool{}
	})
	return tables
}

// pkeysOf are the tables of all ports that have one.
func pkeysOf(f *fabric.Fabric) map[net.End][]mad.PKey {
	tables := map[net.End][]mad.PKey{}
	for at := range f.EndPorts() {
		tables[at] = f.PKeys(at)
	}
	for node := range int32(f.NumNodes()) {
		for num := range f.NumPorts(node) {
			if f.NodeType(node) == mad.Switch {
				at := net.End{Node: node, Port: num + 1}
				tables[at] = f.PKeys(at)
			}
		}
	}
	return tables
}

// enforcing are the ports of switches that check P_Keys, and in which directions.
func (p *pkeyFabric) enforcing() (text string) {
	p.server.Do(func(f *fabric.Fabric) {
		for node := range int32(f.NumNodes()) {
			for num := range f.NumPorts(node) {
				pi := f.PortInfo(net.End{Node: node, Port: num + 1})
				if in, out := pi.PartitionEnforcementInbound(), pi.PartitionEnforcementOutbound(); in || out {
					text += fmt.Sprintf("%d:%d %t %t\n", node, num+1, in, out)
				}
			}
		}
	})
	return text
}

// bringUp lets a manager manage the subnet until it is up.
func (p *pkeyFabric) bringUp(name string, c *partitionstest.Case) {
	p.Helper()
	dir, env := p.TempDir(), append(caches(p.T), "IBSIM_SOCKNAME="+p.socket)
	for file, text := range map[string]string{"o.conf": c.Conf(), "p.conf": c.File} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			p.Fatal(err)
		}
	}
	argv := []string{"-F", "o.conf", "-P", "p.conf", "-f", filepath.Join(dir, "log"), "-R", "minhop", "-o"}
	if name == "opensm" {
		argv = append([]string{madtest.Need(p, "ibsim-run"), madtest.Need(p, "opensm")}, argv...)
	} else {
		argv = append([]string{program(p.T, name), "--ibsim", "--state_dir", "none"}, argv...)
	}
	var host string
	p.server.Do(func(f *fabric.Fabric) { host = f.NodeID(p.self.Node) })
	if r := run(p.T, dir, append(env, "SIM_HOST="+host), argv...); r.status != 0 {
		p.Fatalf("%s: exit status %d\n%s%s", name, r.status, r.stdout, r.stderr)
	}
}

// talking is what arrives: by which keys of the sender's table hosts and switches reach each other, and which of these
// the receiver's table has a partner for.
func (p *pkeyFabric) talking() (arrives, should map[string]bool) {
	arrives, should = map[string]bool{}, map[string]bool{}
	p.server.Do(func(f *fabric.Fabric) {
		for from := range f.EndPorts() {
			for to := range f.EndPorts() {
				for _, k := range f.PKeys(from) {
					if from == to || !k.Valid() {
						continue
					}
					info := f.PortInfo(to)
					name := fmt.Sprintf("%v from %v to %v", k, from, to)
					_, why := f.Probe(from, info.LID(), k, 0, nil)
					arrives[name] = why == fabric.Delivered
					should[name] = slices.ContainsFunc(f.PKeys(to), k.Matches)
				}
			}
		}
	})
	return arrives, should
}

// TestPKeyTakeover: OpenSM manages a subnet by random partition files, and ibsm takes it over with the last of them. No
// key that a port keeps changes its index, and none is absent for a moment. Every pair of ports that may talk by
// its keys, with the subnet manager's port as every other one, talks under both, and no other pair does. OpenSM
// then comes back, and moves nothing in the tables that ibsm has changed.
func TestPKeyTakeover(t *testing.T) {
	t.Parallel()
	count := 5
	if proof() {
		count = 200
	}
	for seed := range uint64(count) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 514))
			p := newPKeyFabric(t, rng)
			var c partitionstest.Case
			for range 1 + rng.IntN(2) {
				c = partitionstest.Random(rng, p.guids)
				p.bringUp("opensm", &c)
			}
			t.Logf("%s%s", c.File, c.Conf())
			p.judge("under OpenSM")
			before, checked := p.watch(), p.enforcing()
			p.bringUp("ibsm", &c)
			absent := p.absent
			p.judge("under ibsm")
			ours := p.watch()
			mustStay(t, "ibsm", before, ours)
			for at, keys := range absent {
				for k := range keys {
					if slices.Contains(ours[at], k) {
						t.Errorf("%v was absent from %v for a moment", k, at)
					}
				}
			}
			if now := p.enforcing(); now != checked {
				t.Errorf("switch ports check\n%safter OpenSM had them check\n%s", now, checked)
			}
			p.bringUp("opensm", &c)
			for at, keys := range p.watch() {
				if !slices.Equal(before[at], ours[at]) {
					mustStay(t, "OpenSM", map[net.End][]mad.PKey{at: ours[at]}, map[net.End][]mad.PKey{at: keys})
				}
			}
		})
	}
}

// mustStay reports keys that two tables have at different indexes.
func mustStay(t *testing.T, who string, before, after map[net.End][]mad.PKey) {
	t.Helper()
	for at, keys := range before {
		for i, k := range keys {
			if j := slices.Index(after[at], k); k.Valid() && j >= 0 && j != i &&
				after[at][min(i, len(after[at])-1)] != k {
				t.Errorf("%s moves %v of %v from index %d to %d: %v, before %v", who, k, at, i, j, after[at], keys)
			}
		}
	}
}

// judge tests that what should arrive does, and nothing else.
func (p *pkeyFabric) judge(when string) {
	p.Helper()
	arrives, should := p.talking()
	for name, is := range arrives {
		if is != should[name] {
			p.Errorf("%s %s: arrives: %t", when, name, is)
		}
	}
}
