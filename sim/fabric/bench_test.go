package fabric

import (
	"os"
	"runtime"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// routes are directed routes from node to every node, by breadth first.
func routes(n *net.Net, from int32) []mad.Route {
	to := make([]mad.Route, len(n.Nodes))
	seen := make([]bool, len(n.Nodes))
	seen[from] = true
	for queue := []int32{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if n.Nodes[at].Type != mad.Switch && at != from {
			continue
		}
		for num := 1; num < len(n.Nodes[at].Ports); num++ {
			if peer := n.Nodes[at].Ports[num].Peer.Node; peer >= 0 && !seen[peer] {
				seen[peer] = true
				to[peer], _ = to[at].Then(uint8(num))
				queue = append(queue, peer)
			}
		}
	}
	return to
}

func firstCA(n *net.Net) int32 {
	for i := range n.Nodes {
		if n.Nodes[i].Type == mad.CA {
			return int32(i)
		}
	}
	return -1
}

// requests are what a manager asks of every node: NodeInfo, PortInfo, and a block of
// the forwarding table set on switches.
func requests(n *net.Net, from int32) []mad.Datagram {
	var all []mad.Datagram
	for i, r := range routes(n, from) {
		var d mad.Datagram
		d.LID = mad.PermissiveLID
		d.Packet.SetDirected(&r, mad.MethodGet, smp.AttrNodeInfo, 0)
		all = append(all, d)
		d.Packet.SetDirected(&r, mad.MethodGet, smp.AttrPortInfo, smp.PortInfoMod(1, true))
		all = append(all, d)
		if n.Nodes[i].Type == mad.Switch {
			d.Packet.SetDirected(&r, mad.MethodSet, smp.AttrLinearForwardingTable, uint32(i%64))
			all = append(all, d)
		}
	}
	return all
}

// BenchmarkSMP is one SMP asked and answered on a three-level fat tree of 11,664
// hosts, at once and through the event queue.
func BenchmarkSMP(b *testing.B) {
	n := nettest.Generate(b, "fattree:k=36")
	for _, c := range []struct {
		name string
		cfg  Config
	}{
		{"at-once", Config{}},
		{"queued", Config{Latency: time.Microsecond}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := New(n, c.cfg)
			ca := firstCA(n)
			s, err := f.Attach(net.End{Node: ca, Port: 1})
			if err != nil {
				b.Fatal(err)
			}
			all := requests(n, ca)
			replies := make([]mad.Datagram, 64)
			b.ReportAllocs()
			i, answered := 0, 0
			for b.Loop() {
				s.Send(all[i : i+1])
				if i++; i%64 == 0 || i == len(all) {
					i %= len(all)
					f.Advance(f.Now() + time.Millisecond)
					answered += s.Recv(replies)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "SMP/s")
			if answered < b.N-64 {
				b.Fatalf("%d of %d answered: %v", answered, b.N, f.Stats().Drops)
			}
		})
	}
}

// BenchmarkNew is the loading of a fabric that is already a Net.
func BenchmarkNew(b *testing.B) {
	n := nettest.Generate(b, "fattree:k=36")
	b.ReportAllocs()
	for b.Loop() {
		New(n, Config{})
	}
}

func TestSMPDoesNotAllocate(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	for _, latency := range []time.Duration{0, time.Microsecond} {
		f := New(n, Config{Latency: latency})
		ca := firstCA(n)
		s := attach(t, f, ca, 1)
		all := requests(n, ca)
		replies := make([]mad.Datagram, len(all))
		round := func() {
			s.Send(all)
			f.Advance(f.Now() + time.Millisecond)
			if got := s.Recv(replies); got != len(all) {
				t.Fatalf("%d of %d answered", got, len(all))
			}
		}
		round() // tables and queues grow once
		if allocs := testing.AllocsPerRun(10, round); allocs != 0 {
			t.Errorf("latency %v: %v allocations for %d SMPs, want none", latency, allocs, len(all))
		}
	}
}

// TestLargestSubnet loads 39,366 hosts and 3,645 switches and programs every table
// to the full.
func TestLargestSubnet(t *testing.T) {
	if os.Getenv("IBSM_PROOF") == "" {
		t.Skip("full size: set IBSM_PROOF=1")
	}
	n := nettest.Generate(t, "fattree:k=54")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	f := New(n, Config{})
	t.Logf("New: %v for %d nodes", time.Since(start), len(n.Nodes))
	var lft [mad.DataSize]byte
	for i := range n.Nodes {
		if n.Nodes[i].Type != mad.Switch {
			continue
		}
		d := &f.nodes[i]
		for block := range uint32(0xc000 / smp.LFTBlockSize) {
			data := lft
			if st := f.attribute(d.first, true, smp.AttrLinearForwardingTable, block, &data); st != mad.StatusOK {
				t.Fatal(st)
			}
		}
		for num := range uint32(len(n.Nodes[i].Ports)) {
			data := [mad.DataSize]byte{0xff, 0xff}
			f.attribute(d.first, true, smp.AttrPKeyTable, num<<16, &data)
			for in := range uint8(len(n.Nodes[i].Ports)) {
				f.attribute(d.first, true, smp.AttrSLtoVLMappingTable, smp.SLtoVLMod(in, uint8(num)), &data)
			}
			f.attribute(d.first, true, smp.AttrVLArbitrationTable, smp.VLArbMod(1, uint8(num)), &data)
		}
		for block := range uint16(1024 / smp.MFTBlockSize) {
			for position := range uint8(4) {
				data := lft
				f.attribute(d.first, true, smp.AttrMulticastForwardingTable, smp.MFTMod(position, block), &data)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("programmed: %v, %d MB", time.Since(start), (after.HeapAlloc-before.HeapAlloc)>>20)
	if mb := (after.HeapAlloc - before.HeapAlloc) >> 20; mb > 1500 {
		t.Errorf("the fabric takes %d MB, want at most 1500", mb)
	}
	runtime.KeepAlive(f)
}
