package main

import (
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/mad/txn"
	"ibsm/sim/fabric"
	"ibsm/sim/fabric/fabrictest"
	"ibsm/topo/net"
)

// TestFunctionCommands goes through a session about virtual functions line by line.
func TestFunctionCommands(t *testing.T) {
	server, _ := startServer(t, "fattree:k=4,functions=2")
	c := &console{server: server}
	const a, b = "H-b83fd20300a00000", "H-b83fd20300a00010"
	for _, tt := range []struct{ line, want, err string }{
		{line: "show functions " + a, want: "node \"" + a + "\" functions 2 virtualization not enabled\n" +
			"function 1 0x0000000000000000 Down lid LID shared pkeys 0xffff\n" +
			"function 2 0x0000000000000000 Down lid LID shared pkeys 0xffff\n"},
		{line: "functions " + a + " 3 0x0200000000000001"},
		{line: "show functions " + a, want: "node \"" + a + "\" functions 3 virtualization not enabled\n" +
			"function 1 0x0000000000000000 Down lid LID shared pkeys 0xffff\n" +
			"function 2 0x0000000000000000 Down lid LID shared pkeys 0xffff\n" +
			"function 3 0x0200000000000001 Down lid LID shared pkeys 0xffff\n"},
		{line: "functions adapters 0"},
		{line: "functions adapters 1 0x0200000000000010"},
		{line: "show functions " + b, want: "node \"" + b + "\" functions 1 virtualization not enabled\n" +
			"function 1 0x0200000000000011 Down lid LID shared pkeys 0xffff\n"},
		{line: "function move " + b + " 1 " + a + " 1"},
		{line: "function lid " + a + " 1 own"},
		{line: "show functions " + a, want: "node \"" + a + "\" functions 1 virtualization not enabled\n" +
			"function 1 0x0200000000000011 Down lid 0 own pkeys 0xffff\n"},
		{line: "function lid " + a + " 1 0"},
		{line: "function guid " + b + " 1 0x77 0x78"},
		{line: "function down " + b + " 1"},
		{line: "function up " + b + " 1"},
		{line: "function reboot " + b + " 1"},
		{line: "function policy " + b + " 1 down"},
		{line: "function policy " + b + " 1 follow"},
		{line: "function name " + b + " 1 \"vf of a tenant\""},
		{line: "function probe " + a + " 1 " + b + " 1 0x8001", want: "no route\n"},
		{line: "function probe " + a + " 1 " + b + " 1", want: "no route\n"},
		{line: "vports adapters layout mixed"},
		{line: "vports adapters lag 2s"},
		{line: "vports " + a + " vport0 own"},
		{line: "vports " + a + " layout middle", err: `"middle": expected high, low or mixed`},
		{line: "vports " + a + " lag -1s", err: `"-1s": expected a time such as 2s`},
		{line: "vports " + a + " early maybe", err: `"maybe": expected yes or no`},
		{line: "vports " + a + " colour red", err: `no quirk "colour": expected one of change, early, generalinfo, lag, layout, modifier, portinfo, readonly, restart, top, vport0`},
		{line: "vports switches layout low", err: `"switches" has no vPorts; the command functions makes them`},
		{line: "functions leaf-01 1", err: `node "S-b83fd20300400000" is a switch`},
		{line: "functions " + a + " 128", err: "128 functions: expected 0 to 127"},
		{line: "functions " + a + " -1", err: `"-1": expected a number of functions`},
		{line: "function guid " + a + " 1 x", err: `"x": expected a GUID such as 0x0200000000000001, or 0`},
		{line: "function up " + a + " 2",
			err: `function "2" of node "` + a + `": it has 1; the command functions makes them`},
		{line: "function up " + a + " 0",
			err: `function "0" of node "` + a + `": it has 1; the command functions makes them`},
		{line: "function policy " + a + " 1 up", err: `"up": expected follow or down`},
		{line: "function lid " + a + " 1 2",
			err: `"2": expected own, or the vPort whose LID it shares, 0 for that of the port`},
	} {
		answer, err := c.command(tt.line)
		said := ""
		if err != nil {
			said = err.Error()
		}
		answer = strings.ReplaceAll(strings.ReplaceAll(answer, "lid 65535", "lid LID"), "lid 0 shared", "lid LID shared")
		if answer != tt.want || said != tt.err {
			t.Errorf("%s:\n got %q, error %q\nwant %q, error %q", tt.line, answer, said, tt.want, tt.err)
		}
	}
	if help, err := c.command("help"); err != nil || !strings.Contains(help, "  layout high|low|mixed") {
		t.Errorf("help does not list the quirks: %v", err)
	}
}

// TestFunctionsOfSpec: every host of a SPEC has the functions that it asks for, and no aggregation node has.
func TestFunctionsOfSpec(t *testing.T) {
	n, err := loadNet("fattree:k=4,levels=2,sharp=on,functions=127")
	if err != nil {
		t.Fatal(err)
	}
	f := fabric.New(n, fabric.Config{})
	hosts := 0
	for at := range f.EndPorts() {
		info, want := f.NodeInfo(at), 0
		if info.NodeType() == mad.CA && info.DeviceID() != net.SHARPDevice {
			want = 127
			hosts++
		}
		if got := f.NumFunctions(at); got != want {
			t.Errorf("%s has %d functions, want %d", f.NodeID(at.Node), got, want)
		}
	}
	if hosts != 8 {
		t.Errorf("%d hosts", hosts)
	}
	at, _ := f.FindNode("H-b83fd20300a00000")
	s, err := f.Attach(at)
	if err != nil {
		t.Fatal(err)
	}
	o := fabrictest.Ask(f, s, &txn.Request{Method: mad.MethodGet, Attr: smp.AttrVirtualizationInfo})
	if info := smp.VirtualizationInfo(o.Data); o.Status != 0 || info.VPortIndexTop() != 127 {
		t.Errorf("VirtualizationInfo %x, %v", o.Data[:8], o.Status)
	}
}
