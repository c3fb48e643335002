package net

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/mad"
)

// TestAgreesWithIbsim loads files into ibsim, lets ibnetdiscover walk what ibsim
// makes of them and compares it with what Parse makes of them.
func TestAgreesWithIbsim(t *testing.T) {
	needIbsim(t)
	files, _ := filepath.Glob("/usr/share/doc/ibsim-utils/net-examples/net*")
	if len(files) == 0 {
		t.Log("ibsim's example nets are not installed; the others are compared")
	}
	own, _ := filepath.Glob("../../../testdata/fabrics/*.net")
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
	needIbsim(t)
	t.Run("discovered.net", func(t *testing.T) {
		src, err := os.ReadFile("../../../testdata/fabrics/discovered.net")
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
		"fattree:k=4", "fattree:k=4,taper=3,missing-links=20%,seed=3", "torus:dims=3x3x2,hosts=2,speed=EDR", "mesh:dims=3x4,speed=NDR",
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
	path := filepath.Join("../../../../shared/data", name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

func needIbsim(t *testing.T) {
	t.Helper()
	for program, pkg := range map[string]string{"ibsim": "ibsim-utils", "ibsim-run": "ibsim-utils", "ibnetdiscover": "infiniband-diags"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("IBSM_NO_PEERS") == "1" {
			t.Skipf("%s is not installed and IBSM_NO_PEERS=1", program)
		}
		t.Fatalf("%s is not installed: install the package %s, or set IBSM_NO_PEERS=1 to go without it", program, pkg)
	}
}

// compareWithIbsim compares what the walk shows: the nodes that reach the first
// adapter, and of those what the wire tells. Of a router's link ibsim knows the
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
			node.SystemImageGUID, " vendor ", node.VendorID, " device ", node.DeviceID, " enhanced ", node.EnhancedPort0,
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
	env := append(os.Environ(), fmt.Sprintf("IBSIM_SOCKNAME=net-test-%d-%s", os.Getpid(), filepath.Base(filepath.Dir(dir))))
	sim := exec.Command("ibsim", "-s", file)
	sim.Env = env
	stdin, err := sim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := sim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	sim.Stderr = sim.Stdout
	if err := sim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = io.WriteString(stdin, "quit\n")
		_ = stdin.Close()
		_ = sim.Process.Kill()
		_ = sim.Wait()
	}()
	if err := awaitPrompt(stdout); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	discover := exec.Command("ibsim-run", "ibnetdiscover")
	discover.Env, discover.Dir = env, dir
	out, err := discover.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("ibnetdiscover: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("ibnetdiscover: %v", err)
	}
	return out
}

// awaitPrompt reads what ibsim says until it serves.
func awaitPrompt(r io.Reader) error {
	var said strings.Builder
	in := bufio.NewReader(r)
	for !strings.HasSuffix(said.String(), "sim> ") {
		c, err := in.ReadByte()
		if err != nil {
			return fmt.Errorf("ibsim ended before it served:\n%s", said.String())
		}
		said.WriteByte(c)
	}
	return nil
}
