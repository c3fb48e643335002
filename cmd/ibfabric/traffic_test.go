package main

import (
	"math"
	"testing"
	"time"

	"ibsm/mad/pma"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// TestLoad: what ports of a fabric that Debian's OpenSM has brought up count under load, by the second.
func TestLoad(t *testing.T) {
	n, err := loadNet("fattree:k=4")
	if err != nil {
		t.Fatal(err)
	}
	server, sock := serveNet(t, n, true)
	startOpenSM(t, sock, firstHost(n))
	c := &console{server: server}
	var hosts []net.End
	server.Do(func(f *fabric.Fabric) { hosts = hostPorts(f) })
	name := func(at net.End) string { return n.Nodes[at.Node].Desc }
	last := hosts[len(hosts)-1]
	for _, tt := range []struct {
		lines  []string
		port   net.End
		leaf   bool    // the port of the leaf that leads there
		words  float64 // parts of the link's
		waited float64
	}{
		{[]string{"load shift 50%"}, hosts[3], false, 0.5, 0},
		{[]string{"load none"}, hosts[3], false, 0, 0},
		{[]string{`load pair "` + name(hosts[0]) + `" "` + name(last) + `" 100%`, `load pair "` + name(hosts[2]) +
			`" "` + name(last) + `" 100%`}, hosts[2], false, 0.5, 0.5},
		{[]string{`drain "` + name(last) + `" 20%`}, last, true, 0.2, 0.8},
		{[]string{`drain "` + name(last) + `" 1`, "load none", "load random 30% 7"}, hosts[5], false, 0.3, 0},
	} {
		for _, line := range tt.lines {
			if answer, err := c.command(line); err != nil {
				t.Fatalf("%s: %s, %v", line, answer, err)
			}
		}
		at, rate := tt.port, 0.0
		read := func() (words, waited uint64, now time.Duration) {
			server.Do(func(f *fabric.Fabric) {
				if at = tt.port; tt.leaf {
					at = f.Peer(at)
				}
				rate = f.BitRate(at) / 32
				words, waited, now = f.Counter(at, pma.PortXmitData), f.Counter(at, pma.PortXmitWait), f.Now()
			})
			return words, waited, now
		}
		words, waited, then := read()
		var moreWords, moreWaited uint64
		now := then
		for now-then < 50*time.Millisecond { // the server's clock
			moreWords, moreWaited, now = read()
		}
		seconds := (now - then).Seconds()
		gotWords, gotWaited := float64(moreWords-words)/seconds/rate, float64(moreWaited-waited)/seconds/rate
		if math.Abs(gotWords-tt.words) > 0.01 || math.Abs(gotWaited-tt.waited) > 0.1 {
			t.Errorf(
				"%v: port %d of %q sends %.3f of what its link carries and waits %.3f of the time, want %.3f and %.3f",
				tt.lines, at.Port, n.Nodes[at.Node].Desc, gotWords, gotWaited, tt.words, tt.waited)
		}
	}
	for line, want := range map[string]string{
		"load shift 2":          `"2": expected a share such as 0.01 or 1%`,
		"load pair leaf-01 x 1": `node "leaf-01" is not an adapter with a cable`,
		"drain nobody 1":        `no node "nobody"`,
		"load random 1 x":       `seed "x": expected a number of 64 bits`,
		"load":                  "usage: load shift RATE | load random RATE [SEED] | load pair NODE NODE RATE | load none",
	} {
		if _, err := c.command(line); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
