package net

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

// TestAgreesWithIbsim loads files into ibsim, lets ibnetdiscover walk what ibsim
// makes of them and compares it with what Parse makes of them.
func TestAgreesWithIbsim(t *testing.T) {
	madtest.Need(t, "ibnetdiscover")
	files, _ := filepath.Glob("/usr/share/doc/ibsim-utils/net-examples/net*")
	if len(files) == 0 {
		t.Log("ibsim's example nets are not installed; the others are compared")
	}
	own, _ := filepath.Glob("../../testdata/fabrics/*.net")
	files = append(files, own...)
	if f := sharedData("ndr-582.topo"); f != "" {
		files = append(files, f)
	} else {
		t.Log("shared data ndr-582.topo is not there; the others are compared")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// Debian's ibsim 0.10 knows no NDR and takes it for SDR.
			compareWithIbsim(t, bytes.ReplaceAll(src, []byte("4xNDR"), []byte("4xHDR")), false)
		})
	}
}

// TestIbsimLoadsWritten shows that ibsim reads what Write writes.
func TestIbsimLoadsWritten(t *testing.T) {
	madtest.Need(t, "ibnetdiscover")
	t.Run("discovered.net", func(t *testing.T) {
		src, err := os.ReadFile("../../testdata/fabrics/discovered.net")
		if err != nil {
			t.Fatal(err)
		}
		n, err := Parse("discovered.net", src)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Write(&b, n); err != nil {
			t.Fatal(err)
		}
		compareWithIbsim(t, b.Bytes(), true)
	})
	for _, spec := range []string{
		"fattree:k=4", "fattree:k=4,taper=3,missing-links=20%,seed=3", "torus:dims=3x3x2,hosts=2,speed=EDR",
		"mesh:dims=3x4,speed=NDR",
		"hypercube:dim=3,speed=XDR", "dragonfly", "hyperx:dims=3x3,width=2x", "random:switches=10,degree=3,speed=FDR10",
		"tree:depth=2,fanout=3,width=12x,speed=DDR",
	} {
		t.Run(spec, func(t *testing.T) {
			n, err := Generate(spec)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := Write(&b, n); err != nil {
				t.Fatal(err)
			}
			compareWithIbsim(t, b.Bytes(), true)
		})
	}
}

// sharedData is the path of a file of test data that is kept beside the project,
// "" when it is not there.
func sharedData(name string) string {
	path := filepath.Join("../../../shared/data", name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// compareWithIbsim compares what the walk shows: the nodes that reach the first
// adapter, and of those what the wire shows. Of a router's link ibsim knows the
// speed only from what Write adds.
func compareWithIbsim(t *testing.T, src []byte, routerSpeeds bool) {
	t.Helper()
	ours, err := Parse("ours", src)
	if err != nil {
		t.Fatal(err)
	}
	walked := walkIbsim(t, src)
	theirs, err := Parse("ibnetdiscover", walked)
	if err != nil {
		t.Fatalf("%v\n%s", err, walked)
	}
	want, got := facts(ours, routerSpeeds), facts(theirs, routerSpeeds)
	if len(want) != len(got) {
		t.Errorf("%d facts of nodes and ports, ibsim shows %d", len(want), len(got))
	}
	for fact, line := range want {
		if got[fact] != line {
			t.Errorf("%s:\n ours   %s\n ibsim  %s", fact, line, got[fact])
		}
	}
}

// facts lists what ibsim and Parse must agree on. They differ where Parse says so:
// ibsim counts port GUIDs up from the node's, reads no LID of routers and no speed
// above HDR (ibsim 0.10).
func facts(n *Net, routerSpeeds bool) map[string]string {
	out := map[string]string{}
	for i := range n.Nodes {
		node := &n.Nodes[i]
		out[node.GUID.String()] = fmt.Sprint(node.Type, " ", node.Desc, " ", node.NumPorts(), " ports, system image ",
			node.SystemImageGUID, " vendor ", node.VendorID, " device ", node.DeviceID, " enhanced ",
			node.EnhancedPort0,
			" LID ", node.Ports[0].LID, " LMC ", node.Ports[0].LMC)
		for num := range node.Ports {
			p := &node.Ports[num]
			if p.Peer.Node < 0 {
				continue
			}
			peer := &n.Nodes[p.Peer.Node]
			line := fmt.Sprint("to ", peer.GUID, " port ", p.Peer.Port, " ", p.Width)
			if routerSpeeds || node.Type != mad.Router && peer.Type != mad.Router {
				line += min(p.Speed, mad.HDR).String()
			}
			if node.Type == mad.CA {
				line += fmt.Sprint(" LID ", p.LID, " LMC ", p.LMC)
			}
			out[fmt.Sprint(node.GUID, " port ", num)] = line
		}
	}
	return out
}

// walkIbsim is the output of ibnetdiscover on a file in ibsim.
func walkIbsim(t *testing.T, src []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "fabric.net")
	if err := os.WriteFile(file, src, 0o600); err != nil {
		t.Fatal(err)
	}
	discover := madtest.Peer(t, dir, madtest.StartIbsim(t, file), "", "ibnetdiscover")
	var errs strings.Builder
	discover.Stderr = &errs
	out, err := discover.Output()
	if err != nil {
		t.Fatalf("ibnetdiscover: %v\n%s", err, errs.String())
	}
	return out
}
