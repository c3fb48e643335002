package net

import (
	"strings"
	"testing"
)

// TestLeftOut: a node with GUID 0 or a GUID that another one has, as functions of real adapters have, is left out
// with its cables, and all others stay.
func TestLeftOut(t *testing.T) {
	const zero = `switchguid=0x20(20)
Switch 8 "S-20" # "leaf" base port 0 lid 3 lmc 0
[1] "H-10"[1](11) # "host" lid 1 4xHDR
[2] "H-0000000000000000"[1](0) # "virtual function" lid 0 4xHDR
[3] "H-0000000000000000"[1](0) # "virtual function" lid 0 4xHDR
[4] "H-40"[1](41) # "last" lid 4 4xHDR

caguid=0x10
Ca 1 "H-10" # "host"
[1](11) "S-20"[1] # lid 1 lmc 0 "leaf" lid 3 4xHDR

caguid=0x0
Ca 1 "H-0000000000000000" # "virtual function"
[1](0) "S-20"[3] # lid 0 lmc 0 "leaf" lid 3 4xHDR

caguid=0x40
Ca 1 "H-40" # "last"
[1](41) "S-20"[4] # lid 4 lmc 0 "leaf" lid 3 4xHDR
`
	const star = "Switch 4 \"s\"\n[1] \"a\"\n[2] \"b\"[2]\n[3] \"c\"\n\n"
	for _, c := range []struct{ name, src, ids, want string }{
		{"GUID 0", zero, "S-20 H-10 H-40", "f:13:1: GUID 0 for \"H-0000000000000000\": it is left out"},
		{"port GUID 0", strings.NewReplacer("caguid=0x0\n", "caguid=0x99\n", "[2]", "#").Replace(zero),
			"S-20 H-10 H-40", "f:13:1: GUID 0 for port \"H-0000000000000000\"[1]: it is left out"},
		{"two nodes that ibnetdiscover took for one", strings.NewReplacer("0000000000000000", "0000000000000099", "(0)",
			"(9a)", "0x0\n", "0x99\n", "[4]", "#", "0x40", "0x0").Replace(zero), "S-20 H-10 H-0000000000000099",
			"f:4:5: port \"H-0000000000000099\"[1] leads to \"S-20\"[3], not back to \"S-20\"[2]: two nodes have this GUID, of which one is left out\nf:17:1: GUID 0 for \"H-40\": it is left out"},
		{"node GUID twice",
			star + "caguid=5\nCa 1 \"a\"\n[1] \"s\"[1]\n\ncaguid=5\nCa 2 \"b\"\n[2] \"s\"[2]\n\ncaguid=9\nCa 1 \"c\"\n[1] \"s\"[3]\n", "s a c",
			"f:11:1: node GUID 0x0000000000000005 of \"b\" is \"a\"'s already (line 7): it is left out"},
		{"port GUID twice",
			star + "caguid=5\nCa 1 \"a\"\n[1] \"s\"[1]\n\ncaguid=4\nCa 2 \"b\"\n[2] \"s\"[2]\n\ncaguid=9\nCa 1 \"c\"\n[1] \"s\"[3]\n", "s a c",
			"f:11:1: port GUID 0x0000000000000006 of \"b\"[2] is \"a\"[1]'s already (line 7): it is left out"},
		{"router without rtguid", "Ca 1 \"a\"\n[1] \"r\"\n\nRt 1 \"r\"\n[1] \"a\"\n", "a",
			"f:4:1: GUID 0 for \"r\": routers need a line rtguid=GUID before: it is left out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := Parse("f", []byte(c.src))
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for i := range n.Nodes {
				ids = append(ids, n.Nodes[i].ID)
			}
			if got := strings.Join(ids, " "); got != c.ids {
				t.Errorf("nodes %s, want %s", got, c.ids)
			}
			if got := n.Warnings.Error(); got != c.want {
				t.Errorf("warnings\n%s\nwant\n%s", got, c.want)
			}
			if err := n.Validate(); err != nil {
				t.Error(err)
			}
			if c.ids == "a" {
				return
			}
			last, cables := &n.Nodes[len(n.Nodes)-1], 0
			if peer := last.Ports[1].Peer; peer.Node != 0 ||
				n.Nodes[0].Ports[peer.Port].Peer != (End{int32(len(n.Nodes) - 1), 1}) {
				t.Errorf("%q leads to %v", last.ID, peer)
			}
			for _, p := range n.Nodes[0].Ports {
				if p.Peer != NoEnd {
					cables++
				}
			}
			if cables != 2 {
				t.Errorf("the switch has %d cables, want those of the two hosts that stay", cables)
			}
		})
	}
}
