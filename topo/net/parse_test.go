package net

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// parseFile parses a file that must be right.
func parseFile(t *testing.T, path string) *Net {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := Parse(path, src)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Validate(); err != nil {
		t.Fatal(err)
	}
	return n
}

// node finds a node by its ID.
func node(t *testing.T, n *Net, id string) *Node {
	t.Helper()
	for i := range n.Nodes {
		if n.Nodes[i].ID == id {
			return &n.Nodes[i]
		}
	}
	t.Fatalf("no node %q", id)
	return nil
}

// cable prints where a port leads.
func cable(n *Net, p *Port) string {
	if p.Peer.Node < 0 {
		return "none"
	}
	return fmt.Sprintf("%s[%d] %s%s", n.Nodes[p.Peer.Node].ID, p.Peer.Port, p.Width, p.Speed)
}

func TestParseDiscovered(t *testing.T) {
	n := parseFile(t, "../../testdata/fabrics/discovered.net")
	leaf := node(t, n, "S-b83fd20300410000")
	if leaf.Type != mad.Switch || leaf.GUID != 0xb83fd20300410000 || leaf.NumPorts() != 41 || leaf.VendorID != 0x2c9 ||
		leaf.DeviceID != 0xd2f0 || !leaf.EnhancedPort0 || leaf.Desc != "MF0;row1-leaf1:MQM8700/U1" {
		t.Errorf("leaf: %+v", leaf)
	}
	if p := leaf.Ports[0]; p.LID != 3 || p.LMC != 0 || p.GUID != leaf.GUID {
		t.Errorf("leaf port 0: %+v", p)
	}
	if node(t, n, "S-b83fd20300410040").EnhancedPort0 {
		t.Error("the spine has a base port 0")
	}
	for port, want := range map[int]string{
		1: "H-b83fd20300aa0010[1] 4xHDR", 2: "H-b83fd20300aa0020[1] 2xHDR", 3: "H-b83fd20300aa0030[1] 4xFDR10",
		4: "none", 19: "S-b83fd20300410040[19] 4xHDR", 41: "H-b83fd20300410008[1] 4xHDR",
	} {
		if got := cable(n, &leaf.Ports[port]); got != want {
			t.Errorf("leaf port %d leads to %s, want %s", port, got, want)
		}
	}
	// The aggregation node's port has its node's GUID, which only the file shows.
	if agg := node(t, n, "H-b83fd20300410008"); agg.Ports[1].GUID != agg.GUID || agg.SystemImageGUID != leaf.GUID ||
		agg.Ports[1].LID != 20 {
		t.Errorf("aggregation node: %+v", agg)
	}
	storage := node(t, n, "H-b83fd20300aa0030")
	if a, b := storage.Ports[1], storage.Ports[2]; a.GUID != 0xb83fd20300aa0031 || a.LID != 12 || a.LMC != 1 ||
		b.GUID != 0xb83fd20300aa0032 || b.LID != 13 || cable(n, &b) != "S-b83fd20300410040[4] 4xQDR" {
		t.Errorf("storage ports: %+v %+v", a, b)
	}
	router := node(t, n, "R-b83fd20300bb0000")
	if router.Type != mad.Router || router.Ports[1].LID != 16 ||
		cable(n, &router.Ports[1]) != "S-b83fd20300410040[7] 4xEDR" {
		t.Errorf("router: %+v", router)
	}
	if router.SystemImageGUID != router.GUID || router.Ports[2].GUID != router.GUID+2 {
		t.Errorf("router defaults: %+v", router)
	}
}

func TestParseHandmade(t *testing.T) {
	n := parseFile(t, "../../testdata/fabrics/handmade.net")
	tests := []struct {
		id, desc string
		guid     mad.GUID
		cables   string // of all ports from 1
	}{
		{"a#leaf", "a#leaf", 0x500000, "a#host[1] 4xEDR, a#host[2] 4xSDR, none, core[1] 4xQDR"},
		{"a#host", "a#host", 0x600000, "a#leaf[1] 4xEDR, a#leaf[2] 4xSDR"},
		{"b#leaf", "rack b, leaf", 0x500010, "b#host[1] 4xFDR, none, none, core[2] 1xQDR"},
		{"b#host", "rack b, host", 0x600010, "b#leaf[1] 4xFDR"},
		{"core", "core", 0x500011, "a#leaf[4] 4xQDR, b#leaf[4] 1xQDR, none, none, admin[1] 4xDDR, core[6] 4xQDR"},
		{"admin", "admin", 0x600012, "core[5] 4xDDR, none"},
	}
	for _, tt := range tests {
		got := node(t, n, tt.id)
		var cables []string
		for i := range got.Ports[1:] {
			cables = append(cables, cable(n, &got.Ports[i+1]))
		}
		if got.Desc != tt.desc || got.GUID != tt.guid || got.DeviceID != 0xbd36 ||
			strings.Join(cables, ", ") != tt.cables {
			t.Errorf("%s: %q %s device %#x\n got  %s\n want %s", tt.id, got.Desc, got.GUID, got.DeviceID,
				strings.Join(cables, ", "), tt.cables)
		}
	}
	host := node(t, n, "a#host")
	if host.VendorID != 0x2c9 || host.SystemImageGUID != 0x600009 || host.Ports[2].GUID != 0x600002 {
		t.Errorf("a#host: %+v", host)
	}
	if other := node(t, n, "b#host"); other.VendorID != 0 || other.SystemImageGUID != other.GUID {
		t.Errorf("vendor and system image are of the next node only: %+v", other)
	}
}

// TestParseNDR reads a real cluster.
func TestParseNDR(t *testing.T) {
	path := sharedData("ndr-582.topo")
	if path == "" {
		t.Skip("shared data ndr-582.topo is not there")
	}
	n := parseFile(t, path)
	count := map[mad.NodeType]int{}
	ends, lids := 0, map[mad.LID]bool{}
	for i := range n.Nodes {
		count[n.Nodes[i].Type]++
		for _, p := range n.Nodes[i].Ports {
			if p.Peer.Node >= 0 {
				ends++
				if p.Speed != mad.NDR || p.Width != mad.Width4x {
					t.Fatalf("%s: %+v", n.Nodes[i].ID, p)
				}
			}
			if p.LID != 0 {
				lids[p.LID] = true
			}
		}
	}
	if count[mad.Switch] != 40 || count[mad.CA] != 582 || ends != 2228 || len(lids) != 622 {
		t.Errorf("%v nodes, %d ends of cables, %d LIDs; want 40 switches, 582 adapters, 2228 ends, 622 LIDs", count,
			ends, len(lids))
	}
}

func TestParseErrors(t *testing.T) {
	long := strings.Repeat("x", 65)
	tests := []struct{ name, src, want string }{
		{"empty", "# nothing\n", "f: no node in the file: expected lines such as `Switch 8 \"name\"` or `Ca 1 \"name\"`"},
		{"no ports", "Ca \"H\"\n", "f:1:4: CA: expected the number of its ports, 1 to 254"},
		{"too many ports", "Switch 255 \"S\"\n", "f:1:8: switch: expected the number of its ports, 1 to 254"},
		{"bad port count", "Ca 1x \"H\"\n", "f:1:4: CA: expected the number of its ports, 1 to 254"},
		{"no name", "Ca 1 H\n", "f:1:6: expected a node name in quotation marks"},
		{"empty name", "Ca 1 \"\"\n", "f:1:6: node name \"\": expected 1 to 64 bytes"},
		{"long name", "Ca 1 \"" + long + "\"\n", "f:1:6: node name \"" + long +
			"\": name of 65 bytes, at most 64 are allowed"},
		{"reserved", "Ca 1 \"a#b\"\n", "f:1:6: node name \"a#b\": # and @ have a meaning of their own in names"},
		{"control", "Ca 1 \"a\x01\"\n", "f:1:6: node name \"a\\x01\": control character in a name"},
		{"behind name", "Ca 1 \"a\" b\n", "f:1:10: unexpected \"b\" behind the node's name: expected nothing or a comment"},
		{"long description", "Ca 1 \"a\" # \"" + long + "\"\n",
			"f:1:12: bad node description \"" + long +
				"\": expected at most 64 bytes, no control characters or quotation marks"},
		{"bad lid", "Switch 1 \"a\" # \"a\" base port 0 lid x lmc 0\n", "f:1:19: lid \"x\": expected a number up to 65535"},
		{"bad lmc", "Switch 1 \"a\" # \"a\" base port 0 lid 1 lmc 8\n", "f:1:19: lmc \"8\": expected a number up to 7"},
		{"node twice", "Ca 1 \"a\"\n\nCa 1 \"a\"\n", "f:3:6: node \"a\" has a header already (line 1)"},
		{"no node with a GUID", "caguid=0\nCa 1 \"a\"\n", "f:2:1: GUID 0 for \"a\": it is left out"},
		{"port GUID 0", "caguid=0xffffffffffffffff\nCa 1 \"a\"\n", "f:2:1: GUID 0 for port \"a\"[1]: it is left out"},
		{"router", "Rt 1 \"a\"\n", "f:1:1: GUID 0 for \"a\": routers need a line rtguid=GUID before: it is left out"},
		{"no =", "vendid 5\nCa 1 \"a\"\n", "f:1:8: expected vendid=NUMBER"},
		{"no = or +", "caguid 5\nCa 1 \"a\"\n", "f:1:8: expected caguid=GUID or caguid+NUMBER"},
		{"bad number", "devid=0xg\nCa 1 \"a\"\n", "f:1:7: devid: bad number \"0xg\""},
		{"64 bits", "caguid=0x10000000000000000\nCa 1 \"a\"\n", "f:1:8: caguid: bad number \"0x10000000000000000\""},
		{"bad GUID", "caguid=2c9g\nCa 1 \"a\"\n", "f:1:8: caguid: bad number \"2c9g\""},
		{"behind GUID", "caguid=5 6\nCa 1 \"a\"\n", "f:1:10: caguid: unexpected \"6\""},
		{"port 0 GUID", "switchguid=5(x)\nSwitch 1 \"a\"\n",
			"f:1:13: bad port GUID: expected (GUID) of 1 to 16 hexadecimal digits"},
		{"vendor", "vendid=0x1000000\nCa 1 \"a\"\n", "f:1:8: vendid 0x1000000: expected 0x0 to 0xffffff"},
		{"width", "width=32\nCa 1 \"a\"\n", "f:1:7: width 0x20: expected 0x1 to 0x1f"},
		{"module", "module=a\nCa 1 \"a\"\n", "f:1:8: expected a module in quotation marks"},
		{"include", "include \"x\"\nCa 1 \"a\"\n",
			"f:1:1: `include` is not supported: a topology must stand in one file and run no commands"},
		{"do", "do dump\nCa 1 \"a\"\n",
			"f:1:1: `do` is not supported: a topology must stand in one file and run no commands"},
		{"indented", "Ca 1 \"a\"\n [1] \"a\"\n", "f:2:1: blanks before \"[1] \\\"a\\\"\": it must begin in column 1"},
		{"long line", "Switch 8 \"a\"" + strings.Repeat(" ", 250) + "\n",
			"f:1:255: line of 262 bytes: at most 254 are read"},
		{"outside", "Ca 1 \"a\"\n\n[1] \"a\"\n",
			"f:3:1: port line outside a node: it must follow the node's header without a blank line between"},
		{"swallowed", "Ca 2 \"a\"\nCa 1 \"b\"\n",
			"f:2:1: a blank line must end the ports above; ibsim would lose this line"},

		{"port number", "Ca 1 \"a\"\n[x] \"a\"\n", "f:2:1: bad port number: expected [1] to [254]"},
		{"port 0", "Switch 1 \"a\"\n[0] \"a\"\n", "f:2:1: bad port number: expected [1] to [254]"},
		{"local port", "Ca 1 \"a\"\n[2] \"a\"\n", "f:2:4: port 2 of \"a\": it has ports 1 to 1"},
		{"port twice", "Switch 2 \"a\"\n[1] \"a\"\n[1] \"a\"[2]\n",
			"f:3:1: two cables on port \"a\"[1]: the first is in line 2"},
		{"no remote", "Ca 1 \"a\"\n[1]\n", "f:2:4: expected the name of the node at the other end, as in [1] \"name\"[2]"},
		{"ext", "Ca 1 \"a\"\n[1][ext 3 \"a\"\n", "f:2:4: missing ]"},
		{"own GUID", "Ca 1 \"a\"\n[1](g) \"a\"\n", "f:2:4: bad port GUID: expected (GUID) of 1 to 16 hexadecimal digits"},
		{"peer GUID", "Ca 1 \"a\"\n[1] \"a\"[1](xyz)\n",
			"f:2:11: bad port GUID: expected (GUID) of 1 to 16 hexadecimal digits"},
		{"blanks before port", "Ca 1 \"a\"\n[1] \"a\" [1]\n",
			"f:2:9: blanks before the remote port: write \"name\"[2], or ibsim takes port 1"},
		{"option", "Ca 1 \"a\"\n[1] \"a\" v=3\n",
			"f:2:9: unexpected \"v=3\": expected an option w=, s= or e=, or a comment"},
		{"option value", "Ca 1 \"a\"\n[1] \"a\" w=0\n", "f:2:9: option w=: expected a mask, 1 to 31"},
		{"own lid", "Ca 1 \"a\"\n[1] \"a\"[1] # lid 70000 lmc 0 \"a\" lid 1 4xHDR\n",
			"f:2:13: lid \"70000\": expected a number up to 65535"},
		{"link", "Switch 1 \"a\"\n[1] \"a\"[1] # \"a\" lid 1 4xHRD\n",
			"f:2:24: unknown link \"4xHRD\": expected 1x, 2x, 4x, 8x or 12x with SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR"},
		{"alias twice", "Switch 2 \"a\"\n@[1] \"x\"\n@[2] \"x\"\n", "f:3:6: alias \"@x\" is declared already"},

		{"unknown node", "Ca 1 \"a\"\n[1] \"b\"\n", "f:2:5: unknown node \"b\": no header in the file has this name"},
		{"unknown alias", "Ca 1 \"a\"\n[1] \"@b\"\n",
			"f:2:5: unknown alias \"@b\": no line declares it with `@[port] \"b\"`"},
		{"remote port", "Ca 1 \"a\"\n[1] \"a\"[2]\n", "f:2:5: port 2 of \"a\": it has ports 1 to 1"},
		{"no way back", "Ca 1 \"a\"\n[1] \"b\"\n\nCa 1 \"b\"\n",
			"f:2:5: port \"b\"[1] has no line that leads back to \"a\"[1]"},
		{"wrong way back", "Switch 2 \"a\"\n[1] \"b\"\n[2] \"b\"\n\nCa 1 \"b\"\n[1] \"a\"[2]\n",
			"f:2:5: port \"b\"[1] leads to \"a\"[2], not back to \"a\"[1]"},
		{"alias not named", "Ca 1 \"a\"\n[1] \"b\"\n\nCa 1 \"b\"\n@[1] \"x\"\n",
			"f:2:5: port \"b\"[1] has the alias \"@x\": a cable to it must name that"},
		{"two on an alias", "Switch 2 \"a\"\n[1] \"@x\"\n[2] \"@x\"\n\nCa 1 \"b\"\n@[1] \"x\"\n",
			"f:3:5: two cables on port \"b\"[1], by its alias \"@x\""},
		{"no width", "Switch 2 \"a\"\n[1] \"a\"[2] w=1\n[2] \"a\"[1] w=2\n",
			"f:2:5: ports \"a\"[1] and \"a\"[2] have no link width in common"},
		{"no speed", "Switch 2 \"a\"\n[1] \"a\"[2] s=1\n[2] \"a\"[1] s=4\n",
			"f:2:5: ports \"a\"[1] and \"a\"[2] have no link speed in common"},

		{"errors in order", "Ca 1 \"a\"\n[1] \"b\"\n\nCa 2 \"b\"\n[2] \"c\"\n", // the second is found first
			"f:2:5: port \"b\"[1] has no line that leads back to \"a\"[1]\nf:5:5: unknown node \"c\": no header in the file has this name"},
		{"no errors of errors", "Ca 1 \"a\"\n[1] \"b\"\n\nCa 0 \"b\"\n[1] \"a\"\n",
			"f:4:4: CA: expected the number of its ports, 1 to 254"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := Parse("f", []byte(tt.src))
			var list diag.List
			if !errors.As(err, &list) || n != nil {
				t.Fatalf("want a diag.List, got %v", err)
			}
			if err.Error() != tt.want {
				t.Errorf("\n got  %s\n want %s", err, tt.want)
			}
		})
	}
}

// TestParseAccepts holds what is no error.
func TestParseAccepts(t *testing.T) {
	tests := []struct{ name, src string }{
		{"free text", "Chassis 1 (guid 0x5)\nCables are blue\nSwitches below\nNon-Chassis Nodes\n\nCa 1 \"a\"\n"},
		{"CRLF", "Ca 1 \"a\"\r\n[1] \"b\"\r\n\r\nCa 1 \"b\"\r\n[1] \"a\"\r\n"},
		{"comments among ports", "Switch 2 \"a\"\n# one\n[1] \"a\"[1]\n# two\n[2] \"a\"[2]\n"},
		{"full record needs no blank line", "Ca 1 \"a\"\n[1] \"b\"\nCa 1 \"b\"\n[1] \"a\"\n"},
		{"alias used before it is declared", "Ca 1 \"a\"\n[1] \"@x\"\n\nCa 1 \"b\"\n@[1] \"x\"\n"},
		{"LID of an unconfigured adapter", "Ca 1 \"a\"\n[1] \"a\" # lid 65535 lmc 0 \"a\" lid 65535 4xSDR\n"},
		{"plain comment on a port", "Ca 1 \"a\"\n[1] \"a\" # cable 17, \"blue\"\n"},
		{"unreadable width", "Ca 1 \"a\"\n[1] \"a\" # lid 0 lmc 0 \"a\" lid 1 ?xSDR\n"},
		{"longest line", "Ca 1 \"a\" #" + strings.Repeat(" ", 244) + "\n"},
		{"long comment", "#" + strings.Repeat(" ", 400) + "\nCa 1 \"a\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := Parse("f", []byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			for i := range n.Nodes {
				if lid := n.Nodes[i].Ports[1].LID; lid != 0 {
					t.Errorf("LID %d out of %q", lid, tt.src)
				}
			}
		})
	}
}

// TestParseUnknownLink: the ibnetdiscover of rdma-core 44 prints ??? for XDR and ?? for
// widths that it does not know. What one end knows holds for both.
func TestParseUnknownLink(t *testing.T) {
	for _, tt := range []struct{ near, far, want string }{
		{"4x???", "4x???", "b[1] 4x?"},
		{"?????", "?????", "b[1] ?x?"},
		{"??NDR", "??NDR", "b[1] ?xNDR"},
		{"??HDR", "2xHDR", "b[1] 2xHDR"},
		{"4xNDR", "4x???", "b[1] 4xNDR"},
	} {
		src := fmt.Sprintf("Ca 1 \"a\"\n[1](11) \t\"b\"[1]\t\t# lid 3 lmc 0 \"b\" lid 4 %s\n\n"+
			"Ca 1 \"b\"\n[1](22) \t\"a\"[1](11) \t\t# lid 4 lmc 0 \"a\" lid 3 %s\n", tt.near, tt.far)
		n, err := Parse("f", []byte(src))
		if err != nil {
			t.Errorf("%s and %s: %v", tt.near, tt.far, err)
			continue
		}
		if err := n.Validate(); err != nil {
			t.Error(err)
		}
		if got := cable(n, &n.Nodes[0].Ports[1]); got != tt.want {
			t.Errorf("%s and %s: %s, want %s", tt.near, tt.far, got, tt.want)
		}
	}
}

// TestParseOtherTools: lines as the tools of infiniband-diags 44, OpenSM 3.3.23 and
// ibdiagnet print them.
func TestParseOtherTools(t *testing.T) {
	const without = ": expected that of ibnetdiscover without -p, -l, -S, -H and --cache"
	for _, tt := range []struct{ src, want string }{
		{"CA    12  1 0xb83fd20300aa0031 4x SDR - SW     3  3 0xb83fd20300410000 ( 'n3 mlx5_0' - 'leaf' )\n",
			"f:1:1: output of ibnetdiscover -p"},
		{"SW     3  4 0xb83fd20300410000 4x ???                                    'leaf'\n",
			"f:1:1: output of ibnetdiscover -p"},
		{"Ca\t: 0xb83fd20300aa0030 ports 1 \"n3 mlx5_0\"\n",
			"f:1:1: output of ibswitches, ibhosts, ibrouters, ibnodes or ibnetdiscover -l"},
		{"Switch\t : 0xb83fd20300410000 ports 4 devid 0xd2f0 vendid 0x2c9 \"leaf\"\n",
			"f:1:1: output of ibswitches, ibhosts, ibrouters, ibnodes or ibnetdiscover -l"},
		{"CA: n3 mlx5_0:\n      0xb83fd20300aa0031     12    1[  ] ==( 4X           2.5 Gbps Initialize/  LinkUp)==>       3    3[  ] \"leaf\" ( )\n", "f:2:1: output of iblinkinfo"},
		{"Switch: 0xb83fd20300410000 leaf:\n           3    4[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n", "f:2:1: output of iblinkinfo"},
		{"# This database file was automatically generated by IBDIAG\n\nSTART_NODES\nNodeDesc,NumPorts\n",
			"f:1:1: output of ibdiagnet (db_csv or another file)"},
		{"\nSTART_PM_INFO\n", "f:2:1: output of ibdiagnet (db_csv or another file)"},
		{"{ CA-SM Ports:01 SystemGUID:b83fd20300aa0010 NodeGUID:b83fd20300aa0010 ...\n",
			"f:1:1: output of ibdiagnet or OpenSM (a .lst file)"},
		{"Unicast lids [0-12] of switch Lid 3 guid 0xb83fd20300410000 ('leaf'):\n",
			"f:1:1: output of ibroute or OpenSM (forwarding tables)"},
		{"\x2b\x83\xe7\x8f\x01\x00\x00\x00\x04\x00", "f:1:1: output of ibnetdiscover --cache"},
		{"NodeRecord dump:\n\t\tlid.....................0x3\n", "f:1:1: output of saquery"},
		{"CA 'mlx5_0'\n\tCA type: MT4129\n", "f:1:1: output of ibstat"},
	} {
		if _, err := Parse("f", []byte(tt.src)); err == nil || err.Error() != tt.want+without {
			t.Errorf("%.60q:\n got  %v\n want %s%s", tt.src, err, tt.want, without)
		}
	}
	// A topology with such lines in it stays one.
	if _, err := Parse("f", []byte("START_NODES\n\nCa 1 \"a\"\n")); err != nil {
		t.Error(err)
	}
}

// TestParseBounds shows that hostile files end with an error and not with the
// machine.
func TestParseBounds(t *testing.T) {
	many := func(n int, line string) []byte {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line, i)
		}
		return []byte(b.String())
	}
	tests := []struct {
		name string
		src  []byte
		want string // in the error
	}{
		{"file", make([]byte, MaxFile+1), "file of 67108865 bytes: at most 67108864 are read"},
		{"nodes", many(MaxNodes+1, "Ca 1 \"%d\"\n\n"), "more than 65536 nodes or 1048576 ports"},
		{"ports", many(MaxPorts/255+1, "Ca 254 \"%d\"\n\n"), "more than 65536 nodes or 1048576 ports"},
		{"errors", many(10000, "[%d] x\n\n"), "f: too many errors"},
		{"dangling cables", many(10000, "Ca 1 \"%d\"\n[1] \"?\"\n"), "f: too many errors"},
		{"one line", []byte(strings.Repeat("x", 1<<20)), "no node in the file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f", tt.src)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %.200v, want %s", err, tt.want)
			}
			var list diag.List
			if errors.As(err, &list) && len(list) > maxErrors+1 {
				t.Errorf("%d errors", len(list))
			}
		})
	}
}
