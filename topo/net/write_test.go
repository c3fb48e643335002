package net

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
)

func write(t testing.TB, n *Net) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, n); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// asWritten is what must be read back of a Net: see Write.
func asWritten(n *Net) *Net {
	out := &Net{Nodes: append([]Node(nil), n.Nodes...)}
	for i := range out.Nodes {
		out.Nodes[i].ID = id(&out.Nodes[i])
	}
	return out
}

func TestWriteReadsBack(t *testing.T) {
	nets := map[string]*Net{}
	for _, spec := range []string{"fattree:k=6,missing-links=10%", "torus", "mesh:speed=XDR", "hypercube:speed=NDR",
		"dragonfly:speed=FDR10",
		"hyperx:width=12x", "random:width=2x,speed=SDR", "tree:width=8x"} {
		nets[spec] = generate(t, spec)
	}
	files, _ := filepath.Glob("../../testdata/fabrics/*.net")
	if len(files) < 2 {
		t.Fatalf("fabrics of testdata: %q", files)
	}
	if ndr := sharedData("ndr-582.topo"); ndr != "" {
		files = append(files, ndr)
	} else {
		t.Log("shared data ndr-582.topo is not there; the others are compared")
	}
	for _, f := range files {
		nets[f] = parseFile(t, f)
	}
	for name, n := range nets {
		t.Run(name, func(t *testing.T) {
			text := write(t, n)
			back, err := Parse("written", text)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back, asWritten(n)) {
				t.Errorf("not what was written:\n%.2000s", text)
			}
			for line := range strings.Lines(string(text)) {
				if len(line) > MaxLine+1 {
					t.Errorf("line of %d bytes: %s", len(line), line)
				}
			}
		})
	}
}

// TestWriteForm compares with ibnetdiscover's form, written out.
func TestWriteForm(t *testing.T) {
	n := generate(t, "tree:depth=1,fanout=1")
	n.Nodes[0].Ports[0].LID, n.Nodes[1].Ports[1].LID, n.Nodes[1].Ports[1].LMC = 2, 4, 1
	n.Nodes[0].Desc = "a=b"
	want := `vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb83fd20300400000
switchguid=0xb83fd20300400000(b83fd20300400000)
Switch	2 "S-b83fd20300400000"		# "a=b" enhanced port 0 lid 2 lmc 0
[1]	"H-b83fd20300a00000"[1](b83fd20300a00000) 		# "host-01 mlx5_0" lid 4 4xHDR

vendid=0x2c9
devid=0x101b
sysimgguid=0xb83fd20300a00000
caguid=0xb83fd20300a00000
Ca	1 "H-b83fd20300a00000"		# "host-01 mlx5_0"
[1](b83fd20300a00000) 	"S-b83fd20300400000"[1]		# lid 4 lmc 1 "a-b" lid 2 4xHDR

`
	if got := string(write(t, n)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestWriteLongest fills every field of a line.
func TestWriteLongest(t *testing.T) {
	name := func(c string) string { return strings.Repeat(c, MaxID) }
	ports := func(peer int32) []Port {
		p := bare(254)
		p[254] = Port{GUID: 0xffffffffffffff00 + mad.GUID(peer), LID: 49151, LMC: 7, Peer: End{peer, 254},
			Width: mad.Width12x, Speed: mad.XDR}
		for i := range 254 {
			p[i].GUID = mad.GUID(peer+1)<<32 + mad.GUID(i)
		}
		return p
	}
	n := &Net{Nodes: []Node{
		{ID: name("a"), Desc: name("b"), Type: mad.Router, GUID: 0xfffffffffffffff0, Ports: ports(1)},
		{ID: name("c"), Desc: name("d"), Type: mad.Router, GUID: 0xfffffffffffffff1, Ports: ports(0)},
	}}
	for line := range strings.Lines(string(write(t, n))) {
		if len(line) > MaxLine+1 {
			t.Errorf("line of %d bytes: %s", len(line), line)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(n *Net)
		want  string
	}{
		{"name", func(n *Net) { n.Nodes[0].ID = "a@b" }, `node "a@b": # and @ have a meaning of their own in names`},
		{"quotation mark", func(n *Net) { n.Nodes[0].ID, n.Nodes[0].Desc = "s", `a"b` },
			`node "s": quotation mark or control character in its name or description "a\"b"`},
		{"two of a name", func(n *Net) {
			n.Nodes[0].ID, n.Nodes[1].ID = "s", "s"
		}, `node 1: ID "s" is empty, too long or already used`},
		{"one-sided cable", func(n *Net) {
			n.Nodes[0].ID, n.Nodes[1].Ports[1].Peer = "s", NoEnd
		}, `node "s" port 1: peer "H-b83fd20300a00000" port 1 does not lead back`},
		{"no such port", func(n *Net) {
			n.Nodes[0].ID, n.Nodes[0].Ports[1].Peer.Port = "s", 9
		}, `node "s" port 1: peer "H-b83fd20300a00000" has no port 9`},
		{"no such node", func(n *Net) {
			n.Nodes[0].ID, n.Nodes[0].Ports[1].Peer.Node = "s", 9
		}, `node "s" port 1: peer is node 9 of 3`},
		{"two speeds", func(n *Net) {
			n.Nodes[0].ID, n.Nodes[0].Ports[1].Speed = "s", mad.EDR
		}, `node "s" port 1: the link is 4xEDR at this end, but 4xHDR at the other end`},
		{"port 0", func(n *Net) {
			n.Nodes[0].ID, n.Nodes[0].Ports[0].Peer = "s", End{1, 1}
		}, `node "s" port 0: port 0 has a cable`},
		{"no port GUID", func(n *Net) {
			n.Nodes[0].ID, n.Nodes[0].Ports[0].GUID = "s", 0
		}, `node "s" port 0: no port GUID`},
		{"GUID", func(n *Net) {
			n.Nodes[1].ID, n.Nodes[1].GUID = "h", n.Nodes[0].GUID
		}, `node "h": GUID 0xb83fd20300400000 is 0 or already used`},
		{"type", func(n *Net) { n.Nodes[1].ID, n.Nodes[1].Type = "h", 0 }, `node "h": node type 0`},
		{"ports", func(n *Net) { n.Nodes[0].ID, n.Nodes[0].Ports = "s", nil }, `node "s": -1 ports, expected 1 to 254`},
		{"description", func(n *Net) { n.Nodes[0].ID, n.Nodes[0].Desc = "s", strings.Repeat("x", 65) },
			`node "s": description of 65 bytes, at most 64 are allowed`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := generate(t, "tree:depth=1,fanout=2")
			tt.spoil(n)
			var b bytes.Buffer
			if err := Write(&b, n); err == nil || err.Error() != tt.want || b.Len() > 0 {
				t.Errorf("\n got  %v and %d bytes\n want %s", err, b.Len(), tt.want)
			}
		})
	}
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteReportsWriter(t *testing.T) {
	if err := Write(fullDisk{}, generate(t, "fattree")); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

// FuzzParse reads anything, and what it could read it must read again from what
// Write makes of it.
func FuzzParse(f *testing.F) {
	// Small seeds: the fuzzer is slow to minimize large ones.
	for _, src := range []string{
		string(write(f, generate(f, "tree:depth=1,fanout=2,speed=NDR"))),
		"switchguid=0x5(6)\nSwitch 3 \"a\" # a b enhanced port 0 lid 3 lmc 1\n[1] \"a\"[2] w=3 s=0 e=1\n[2] \"a\"\n[3] \"@x\"\n\n" +
			"Ca 1 \"b\"\n@[1] \"x\"\n",
		"width=3\nspeed=7\nextspeed=15\nmodule=\"m\"\ncaguid+5\nHca 2 \"a\" # \"d\"\n[1](7) \"a\"[2]\n[2] \"m#a\"[1](7) [ext 3]\n",
		"vendid=0x2c9\ndevid=017\nsysimgguid=9\nrtguid=0x5\nRt 1 \"r\"\n[1][ext 2](5) \"r\" # lid 4 lmc 2 \"r\" lid 4 12xFDR10\n",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		n, err := Parse("f", src)
		if err != nil {
			if n != nil {
				t.Fatal("a Net and an error")
			}
			return
		}
		if err := n.Validate(); err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		want := asWritten(n)
		for i := range want.Nodes {
			node := &want.Nodes[i]
			node.Ports = slices.Clone(node.Ports)
			for num := range node.Ports { // an adapter's port without cable has no line
				if port := &node.Ports[num]; node.Type != mad.Switch && num > 0 && port.Peer == NoEnd {
					port.LID, port.LMC, port.GUID = 0, 0, node.GUID+mad.GUID(num)
				}
			}
		}
		if want.Validate() != nil {
			return // a node without module has the name that Write would give one with
		}
		text := write(t, n)
		back, err := Parse("written", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(back, want) {
			t.Fatalf("read  %+v\nback  %+v\n%s", want, back, text)
		}
	})
}

func FuzzGenerate(f *testing.F) {
	for _, k := range kinds {
		f.Add(k.name)
	}
	f.Add("fattree:k=4,levels=2,taper=3,hosts=1,speed=NDR,width=2x")
	f.Add("torus:dims=2x3x1,missing-links=10%,missing-switches=1,seed=0x7")
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := ParseSpec(spec)
		if err != nil {
			return
		}
		p, err := s.kind.shape(s)
		if err != nil || p.switches+p.hosts > 2000 {
			return // refused, or too large to be tried often
		}
		n, err := s.Generate()
		if err != nil {
			return
		}
		if err := n.Validate(); err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		if reached, _ := breadthFirst(n, 0); reached != len(n.Nodes) {
			t.Fatalf("%s: in pieces", spec)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, spec := range []string{"fattree:k=36", "fattree:k=54"} {
		b.Run(spec, func(b *testing.B) {
			text := write(b, generate(b, spec))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse("f", text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
