package cabling_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/opensm/dump"
	"ibsm/topo/cabling"
	"ibsm/topo/net"
	"ibsm/view/viewtest"
)

// TestIbtopodiff: ibtopodiff finds the same device in each place of the plan as our findings say, where cables of hosts
// are exchanged, a host or a switch is replaced, or a host is missing. It goes by cables alone, without GUIDs. Debian's
// crashes before it prints differences, so the matches that it prints are compared.
func TestIbtopodiff(t *testing.T) {
	madtest.Need(t, "ibtopodiff")
	count := uint64(10)
	if os.Getenv("IBSM_PROOF") != "" {
		count = 100
	}
	top := t.TempDir() // those of subtests have characters that it takes for separators
	for seed := range count {
		spec := []string{"fattree:k=4,devices=ideal,sharp=none",
			"torus:dims=4x3,hosts=2,devices=ideal,sharp=none"}[seed%2]
		t.Run(fmt.Sprintf("%d %s", seed, spec), func(t *testing.T) {
			n, err := net.Generate(spec)
			if err != nil {
				t.Fatal(err)
			}
			plan := cabling.Of(n)
			dir := filepath.Join(top, fmt.Sprint(seed))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			start := writeTopo(t, dir, n)
			changed := misplace(n, rand.New(rand.NewPCG(seed, 1)), int(seed/2)%5)
			var lst bytes.Buffer
			if err := dump.Subnet(t.Context(), &lst, viewtest.Of(t, n, 0), nil); err != nil {
				t.Fatal(err)
			}
			write(t, dir, "subnet.lst", lst.String())
			want := placed(t, plan, cabling.Compare(plan, cabling.Of(n)))
			cmd := exec.CommandContext(t.Context(), "ibtopodiff", "-v", "-t", "plan.topo", "-d", "subnet.lst", "-s",
				start+"/U1", "-p", "1", "-g", plan.Adapters[0].GUID.String())
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "IBDM_IBNL_PATH="+dir)
			out, _ := cmd.CombinedOutput() // it crashes at last
			got := map[string]string{}
			for _, m := range regexp.MustCompile(`Matched Node:S(\w{16})/U1 and:(\S+)/U1`).FindAllStringSubmatch(
				string(out), -1) {
				got[m[2]] = "0x" + m[1]
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: ibtopodiff says %v\nwe say %v\n%s", changed, got, want, out)
			}
		})
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// name is the name of a device to ibtopodiff.
func name(n *net.Node) string { return strings.Fields(n.Desc)[0] }

// writeTopo writes a plan as ibtopodiff reads it, with its kinds of devices, and returns the first host.
func writeTopo(t *testing.T, dir string, n *net.Net) (start string) {
	t.Helper()
	var text strings.Builder
	kind := func(n *net.Node) string {
		word, chip := "SW", "MT48436"
		if n.Type == mad.CA {
			word, chip = "CA", "MT25218"
		}
		kind := fmt.Sprintf("%s%d", word, n.NumPorts())
		system := fmt.Sprintf("TOPSYSTEM %s\n\nNODE %s %d %s U1\n", kind, word, n.NumPorts(), chip)
		for num := range n.NumPorts() {
			system += fmt.Sprintf("    %d  -> P%d\n", num+1, num+1)
		}
		write(t, dir, kind+".ibnl", system+"\n")
		return kind
	}
	for i := range n.Nodes {
		node := &n.Nodes[i]
		if start == "" && node.Type == mad.CA {
			start = name(node)
		}
		fmt.Fprintf(&text, "%s %s\n", kind(node), name(node))
		for num, p := range node.Ports {
			if p.Peer.Node >= 0 {
				fmt.Fprintf(&text, "  P%d -> %s %s P%d\n", num, kind(&n.Nodes[p.Peer.Node]),
					name(&n.Nodes[p.Peer.Node]), p.Peer.Port)
			}
		}
		fmt.Fprintln(&text)
	}
	write(t, dir, "plan.topo", text.String())
	return start
}

// misplace changes the places of devices, but not that of the first host, and says how.
func misplace(n *net.Net, rng *rand.Rand, how int) string {
	var hosts, switches []int32
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			hosts = append(hosts, int32(i))
		} else {
			switches = append(switches, int32(i))
		}
	}
	hosts = hosts[1:]
	a := hosts[rng.IntN(len(hosts))]
	switch how {
	case 0, 1: // the first hosts are on one switch
		b := a
		for b == a || how == 0 && n.Nodes[a].Ports[1].Peer.Node != n.Nodes[b].Ports[1].Peer.Node {
			a, b = hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]
		}
		p, q := &n.Nodes[a].Ports[1], &n.Nodes[b].Ports[1]
		p.Peer, q.Peer = q.Peer, p.Peer
		for _, h := range []int32{a, b} {
			to := n.Nodes[h].Ports[1].Peer
			n.Nodes[to.Node].Ports[to.Port].Peer = net.End{Node: h, Port: 1}
		}
		return fmt.Sprintf("%s and %s exchanged", name(&n.Nodes[a]), name(&n.Nodes[b]))
	case 2, 3:
		if how == 3 {
			a = switches[rng.IntN(len(switches))]
		}
		node := &n.Nodes[a]
		node.GUID += 1 << 32
		node.SystemImageGUID = node.GUID
		for num := range node.Ports {
			if node.Ports[num].GUID != 0 {
				node.Ports[num].GUID += 1 << 32
			}
		}
		return name(node) + " replaced"
	}
	p := &n.Nodes[a].Ports[1]
	n.Nodes[p.Peer.Node].Ports[p.Peer.Port].Peer, p.Peer = net.NoEnd, net.NoEnd
	return name(&n.Nodes[a]) + " missing"
}

// placed is the device in each place of the plan, by our findings.
func placed(t *testing.T, plan *cabling.Cabling, c *cabling.Comparison) map[string]string {
	t.Helper()
	short := func(p cabling.Place) string { return strings.Fields(p.Name)[0] }
	at := map[string]string{}
	for _, d := range plan.Devices {
		at[strings.Fields(d.Name)[0]] = d.GUID.String()
	}
	if len(c.Findings) != 1 {
		t.Errorf("%d findings", len(c.Findings))
	}
	for i := range c.Findings {
		switch f := &c.Findings[i]; f.Kind {
		case cabling.Replaced:
			at[short(f.Devices[0])] = f.Devices[1].GUID.String()
		case cabling.Missing, cabling.MissingDevice:
			for _, e := range f.Planned[0].Ends {
				if e.Type == mad.CA {
					delete(at, short(e))
				}
			}
		case cabling.Exchanged:
			for _, l := range f.Planned {
				j := slices.IndexFunc(l.Ends[:], func(p cabling.Place) bool { return p.Type == mad.Switch })
				for _, o := range f.Present {
					if k := slices.Index(o.Ends[:], l.Ends[j]); k >= 0 {
						at[short(l.Ends[1-j])] = o.Ends[1-k].GUID.String()
					}
				}
			}
		default:
			t.Errorf("unexpected: %v", f)
		}
	}
	return at
}
