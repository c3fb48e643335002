package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/mad/madtest"
	"ibsm/sim/fabric"
	"ibsm/sim/ibsim"
	topology "ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// startServer serves a fabric until the test ends.
func startServer(t *testing.T, spec string) (s *ibsim.Server, sock string) {
	t.Helper()
	n, err := loadNet(spec)
	if err != nil {
		t.Fatal(err)
	}
	n.Profile = nettest.Profile(t)
	return serveNet(t, n, false)
}

// serveNet serves the devices of a Net as they are.
func serveNet(t testing.TB, n *topology.Net, additionalCounters bool) (s *ibsim.Server, sock string) {
	t.Helper()
	sock = madtest.NewSocket()
	s, err := ibsim.Listen(
		ibsim.ServerConfig{
			SockName: sock, Fabric: fabric.New(n, fabric.Config{Caps: deviceCaps(n, additionalCounters)}),
		})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, sock
}

// TestCommands goes through a session line by line: each is judged by what it says,
// and by what the fabric then is.
func TestCommands(t *testing.T) {
	server, _ := startServer(t, "fattree:k=4")
	quits := 0
	c := &console{server: server, quit: func() { quits++ }}
	for _, tt := range []struct {
		line string
		want string // whole answer, or its beginning when it ends with "..."
		err  string // or the whole error
	}{
		{line: ""},
		{line: "  # nothing"},
		{line: "state", want: "not active 48 of 48 links, the first at \"S-b83fd20300400000\" port 1: Initialize, LinkUp\n"},
		{line: "link down leaf-01 1"},
		{line: "state", want: "not active 47 of 47 links, the first at \"S-b83fd20300400000\" port 2: Initialize, LinkUp\n"},
		{line: "show \"host-01 mlx5_0\"", want: "node \"H-b83fd20300a00000\" CA 0xb83fd20300a00000\n" +
			"port 1 lid " + map[string]string{"real": "65535", "ideal": "0"}[nettest.Profile(t).String()] +
			" Down Polling to \"S-b83fd20300400000\" 1\n"},
		{line: "link up 0xb83fd20300400000 1 # by GUID"},
		{line: "node down leaf-01"},
		{line: "state", want: "not active 44 of 44..."},
		{line: "node up leaf-01"},
		{line: "reboot leaf-02"},
		{line: "state", want: "not active 48 of 48..."},
		{line: "mute leaf-01"},
		{line: "unmute leaf-01"},
		{line: "defect switches Set PortInfo 0x1c"},
		{line: "defect leaf-01 Get 0xff17 none"},
		{line: "sound adapters"},
		{line: "lie switch H-b83fd20300a00000 8 0x77"},
		{line: "lie behind H-b83fd20300a00000 2 leaf-02 3"},
		{line: "lie endless H-b83fd20300a00000"},
		{line: "lie delay H-b83fd20300a00000 700ms"},
		{line: "lie capacity H-b83fd20300a00010 65535"},
		{line: "lie as H-b83fd20300a00010 H-b83fd20300a00020"},
		{line: "honest H-b83fd20300a00000"},
		{line: "honest H-b83fd20300a00010"},
		{line: "lie switch H-b83fd20300a00000 255", err: `"255": expected a number of ports, 1 to 254`},
		{line: "lie switch H-b83fd20300a00000 8 0", err: `"0": expected a GUID such as 0x1234`},
		{line: "lie behind H-b83fd20300a00000 1 leaf-02 1", err: `"1": expected a port of a node that claims to be a switch`},
		{line: "lie endless H-b83fd20300a00000",
			err: `node "H-b83fd20300a00000" does not claim to be a switch: first lie switch H-b83fd20300a00000 PORTS`},
		{line: "lie delay H-b83fd20300a00000 -1s", err: `"-1s": expected a time such as 700ms`},
		{line: "lie capacity H-b83fd20300a00000 65536", err: `"65536": expected a number of P_Keys, 0 to 65535`},
		{line: "lie as H-b83fd20300a00000 host-99", err: `no node "host-99"`},
		{line: "recable leaf-01 1 leaf-02 1"},
		{line: "show leaf-02",
			want: "node \"S-b83fd20300400040\" switch 0xb83fd20300400040\nport 0 lid 0 Initialize LinkUp\n" +
				"port 1 lid 0 Initialize LinkUp to \"S-b83fd20300400000\" 1\n..."},
		{line: "unplug leaf-02 1"},
		{line: "unplug leaf-02 1", err: `node "leaf-02" port 1 has no cable`},
		{line: "state", want: "not active 46 of 46..."},
		{line: "probe 5 7", want: "arrived 0 of 5\nlost ..."},
		{line: "loss 1%"},
		{line: "bit errors leaf-01 2 1e-12"},
		{line: "count leaf-01 2 SymbolErrorCounter 0x10"},
		{line: "count leaf-01 2 PortVLXmitWait3 5"},
		{line: "latency 10us"},
		{line: "counters", want: "smps 0\n"},
		{line: "reset counters"},
		{line: "clients", want: "malformed 0, refused 0, given back 0, late 0, unwanted 0, dropped 0, died 0\n"},
		{line: "help", want: "Commands:\n  link down NODE PORT..."},
		{line: "quit"},
		{line: "loss 2", err: `"2": expected a share such as 0.01 or 1%`},
		{line: "loss NaN", err: `"NaN": expected a share such as 0.01 or 1%`},
		{line: "bit errors leaf-01 2 -1", err: `"-1": expected a share such as 0.01 or 1%`},
		{line: "bit errors leaf-01 9 0", err: `port "9" of node "leaf-01": expected 1 to 4`},
		{line: "count leaf-01 2 Symbols 1", err: `no counter "Symbols"; perfquery prints their names`},
		{line: "count leaf-01 9 PortXmitData 1", err: `port "9" of node "leaf-01": expected 1 to 4`},
		{line: "count leaf-01 2 PortXmitData -1", err: `"-1": expected a number below 2^63`},
		{line: "latency -1s", err: `"-1s": expected a time such as 5us`},
		{line: "defect switches Send PortInfo none", err: `"Send": expected Get or Set`},
		{line: "defect switches Get PortInfos none",
			err: `no attribute "PortInfos"; the command counters prints names`},
		{line: "defect switches Get PortInfo ignores", err: `"ignores" is an answer to Set alone`},
		{line: "defect switches Get PortInfo 0",
			err: `"0": expected a status such as 0x1c, or none, acknowledges, ignores, before`},
		{line: "defect leaf-99 Get PortInfo none", err: `no node "leaf-99"`},
		{line: "sound leaf-99", err: `no node "leaf-99"`},
		{line: "probe 0", err: `"0": expected a number from 1 to 1000000`},
		{line: "probe 1 x", err: `seed "x": expected a number of 64 bits`},
		{line: "link down leaf-01", err: "usage: link down NODE PORT"},
		{line: "link sideways leaf-01 1", err: "usage: link down NODE PORT | link up NODE PORT"},
		{line: "link down leaf-01 5", err: `port "5" of node "leaf-01": expected 1 to 4`},
		{line: "link down leaf-01 0", err: `port "0" of node "leaf-01": expected 1 to 4`},
		{line: "link down leaf-99 1", err: `no node "leaf-99"`},
		{line: "reboot 0x12", err: `no node "0x12"`},
		{line: `show "leaf`, err: `a quote (") is not closed`},
		{line: "dance", err: `unknown command "dance"; help lists them`},
	} {
		got, err := c.command(tt.line)
		text := ""
		if err != nil {
			text = err.Error()
		}
		begin, open := strings.CutSuffix(tt.want, "...")
		if text != tt.err || got != tt.want && !(open && strings.HasPrefix(got, begin)) {
			t.Errorf("%s: got %q, error %q\nwant %q, error %q", tt.line, got, text, tt.want, tt.err)
		}
	}
	if quits != 1 {
		t.Errorf("quit %d times", quits)
	}
	server.Do(func(f *fabric.Fabric) {
		if faults, latency := f.Faults(); faults.Loss != 0.01 || latency.Microseconds() != 10 {
			t.Errorf("loss %v, latency %v", faults.Loss, latency)
		}
	})
}

// TestControlSocket talks to a server as a script does.
func TestControlSocket(t *testing.T) {
	server, _ := startServer(t, "fattree:k=4")
	path := filepath.Join(t.TempDir(), "control")
	l, err := listenCommands(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: want 0600", info.Mode(), err)
	}
	if _, err := listenCommands(path); err == nil || !strings.Contains(err.Error(), "a server listens there") {
		t.Errorf("a second server at %s: %v", path, err)
	}
	c := &console{server: server}
	go accept(l, c.obey(t.Context()))
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for _, tt := range []struct{ line, last string }{
		{"show leaf-01", "ok\n"},
		{"dance", "error: unknown command \"dance\"; help lists them\n"},
		{"state", "ok\n"},
		{strings.Repeat("x", 2*maxLine), fmt.Sprintf("error: line longer than %d bytes\n", maxLine)},
	} {
		if _, err := io.WriteString(conn, tt.line+"\n"); err != nil {
			t.Fatal(err)
		}
		last := ""
		for last != "ok\n" && !strings.HasPrefix(last, "error: ") {
			if last, err = lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		if last != tt.last {
			t.Errorf("%.20s: %q, want %q", tt.line, last, tt.last)
		}
	}
}

func FuzzCommand(f *testing.F) {
	for _, line := range []string{"state", `show "host-01 mlx5_0"`, "link down leaf-01 1", "recable a 1 b 2",
		"probe 10", `"`, "#"} {
		f.Add(line)
	}
	n, err := loadNet("fattree:k=4")
	if err != nil {
		f.Fatal(err)
	}
	server, _ := serveNet(f, n, false)
	c := &console{server: server, quit: func() {}}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "probe") {
			return // a million of them take their time
		}
		if _, err := c.command(line); err != nil && strings.Contains(err.Error(), "\n") &&
			!strings.Contains(line, "\n") {
			t.Errorf("%q: the error is more than a line: %v", line, err)
		}
	})
}
