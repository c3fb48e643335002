package dump

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/madtest"
	"ibsm/routing/mcast"
	"ibsm/topo"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// grown is a subnet in which hosts, each other one and so on, have multicast groups, with
// ports in the state in which ibdmchk looks at them.
func grown(t *testing.T, spec string, groups int) *view.View {
	v := viewtest.New(t, spec, 0)
	for i := range v.Topo.Ports {
		if p := &v.Topo.Ports[i]; p.Peer != topo.None {
			p.Info.SetPortState(4)
		}
	}
	grower := mcast.NewGrower(mcast.NewGraph(v.Topo, nil, func(topo.PortIdx) mcast.Use { return mcast.Extend }))
	for i := range groups {
		var m mcast.Members
		for k, p := range v.Topo.EndPorts {
			if v.Topo.Nodes[v.Topo.Ports[p].Node].Type == mad.CA && k%(i+1) == 0 {
				m.Receivers = append(m.Receivers, p)
			}
		}
		tree, _ := grower.Grow(mad.MinMulticastLID+mad.LID(i), m, nil)
		v.MFTs = v.MFTs.With(tree)
	}
	return v
}

func TestMulticastFDBs(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4,levels=2", 0)
	if text := write(t, MulticastFDBs, v); text != "" {
		t.Errorf("without groups: %q", text)
	}
	var ports mcast.PortMask
	ports.Add(1)
	ports.Add(7)
	high := ports
	high.Add(0)
	high.Add(254)
	v.MFTs = v.MFTs.With(&mcast.Tree{MLID: 0xc000, Branches: []mcast.Branch{{Switch: 1, Ports: ports}}},
		&mcast.Tree{MLID: 0xcabc, Branches: []mcast.Branch{{Switch: 1, Ports: high}}})
	guid := v.Topo.Nodes[v.Topo.Switches[1]].GUID.String()
	want := "\nSwitch " + guid +
		"\nLID    : Out Port(s)\n0xC000 : 0x001  0x007 \n0xCABC : 0x000  0x001  0x007  0x0FE \n"
	if text := write(t, MulticastFDBs, v); text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// TestTreesByIbdmchk: a program that others wrote finds the trees to be trees, and one that
// is spoilt not.
func TestTreesByIbdmchk(t *testing.T) {
	madtest.Need(t, "ibdmchk")
	for _, spec := range []string{"fattree:k=8", "torus:dims=4x4,hosts=2", "dragonfly:a=4,p=2,h=1",
		"random:switches=12,degree=4,hosts=2"} {
		v := grown(t, spec, 5)
		var want []string
		for tree := range v.MFTs.Trees() {
			hosts := 0
			for _, b := range tree.Branches {
				for port := range b.Ports.Ports() {
					if !v.Topo.IsSwitchPort(v.Topo.Ports[v.Topo.Port(v.Topo.Switches[b.Switch], port)].Peer) {
						hosts++
					}
				}
			}
			want = append(want, fmt.Sprintf("-I- Multicast Group:0x%X has:%d switches and:%d HCAs", uint16(tree.MLID),
				len(tree.Branches), hosts))
		}
		if said := ibdmchk(t, v); !slices.Equal(said, want) {
			t.Errorf("%s: ibdmchk says\n%s\nwant\n%s", spec, strings.Join(said, "\n"), strings.Join(want, "\n"))
		}
		first, spoilt := v.MFTs.Tree(0xc000), &mcast.Tree{MLID: 0xc000}
		for s := range v.Topo.Switches { // the union of two trees is none
			if ports := first.Ports(topo.SwitchIdx(s)).Or(v.MFTs.Ports(topo.SwitchIdx(s), 0xc001)); !ports.Empty() {
				spoilt.Branches = append(spoilt.Branches, mcast.Branch{Switch: topo.SwitchIdx(s), Ports: ports})
			}
		}
		v.MFTs = v.MFTs.With(spoilt)
		if said := strings.Join(ibdmchk(t, v), "\n"); !strings.Contains(said, "-E-") {
			t.Errorf("%s: ibdmchk finds no fault with a tree that has a loop:\n%s", spec, said)
		}
	}
}

// ibdmchk is what the program says of the multicast groups of a view, line by line.
func ibdmchk(t *testing.T, v *view.View) (lines []string) {
	t.Helper()
	dir := t.TempDir()
	if err := (Dir{Path: dir, Routing: true}).Write(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs")
	cmd.Dir = dir
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	cmd.Run() // its words count, not its exit status
	_, said, _ := strings.Cut(all.String(), "-I- Scanning all multicast groups for loops and connectivity...\n")
	said, _, _ = strings.Cut(said, "-----")
	for line := range strings.Lines(said) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}
