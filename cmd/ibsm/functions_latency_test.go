package main_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net"
)

// TestFunctionsLatency prints the 99th percentiles of queries of hosts, beside 1,024 hosts with 127 functions each:
// idle, and while racks of 40 hosts start all their functions again and heavy sweeps are ordered, without end.
func TestFunctionsLatency(t *testing.T) {
	if !proof() {
		t.Skip("full sizes only (IBSM_PROOF=1): it measures")
	}
	s := newAPISubnet(t, "fattree:k=16", 1)
	hosts := s.ends
	each := func(f *fabric.Fabric, hosts []net.End, do func(fabric.VPort)) {
		for _, at := range hosts {
			for i := range f.NumFunctions(at) {
				do(fabric.VPort{At: at, Index: uint16(i + 1)})
			}
		}
	}
	s.server.Do(func(f *fabric.Fabric) {
		for _, at := range hosts {
			f.SetVPorts(at.Node, fabric.VPorts{Functions: 127})
		}
		each(f, hosts, func(of fabric.VPort) {
			guid := 0x02<<56 | mad.GUID(of.At.Node)<<16 | mad.GUID(of.Index)
			f.SetFunctionGUID(of, guid, guid|1<<48)
		})
	})
	conf := filepath.Join(s.dir, "opensm.conf")
	if err := os.WriteFile(conf, []byte("virt_enabled 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := s.run(0, 5, "-F", conf)
	m.await("SUBNET UP")
	active := func(of []net.End) (n int) {
		s.server.Do(func(f *fabric.Fabric) {
			each(f, of, func(of fabric.VPort) {
				if info := f.VPortInfo(of); info.VPortState() == smp.PortActive {
					n++
				}
			})
		})
		return n
	}
	eventually(t, "all functions are ACTIVE", func() bool { return active(hosts) == 127*len(hosts) })
	v := &attackVictim{apiSubnet: s, m: m}
	t.Logf("%d functions; idle: p99 %s", active(hosts), v.latencies())
	ctx, cancel := context.WithCancel(t.Context())
	client, done := m.client("127.0.0.7", false), make(chan int)
	go func() {
		tick, n := time.NewTicker(20*time.Millisecond), 0
		defer tick.Stop()
		for ; ctx.Err() == nil; n++ {
			rack := hosts[n*40%(len(hosts)-40):][:40]
			if status, text, err := m.call(ctx, client, "Bearer "+s.token, "POST", "/v1/sweep", ""); status != 202 &&
				ctx.Err() == nil {
				t.Errorf("%d %s %v", status, text, err)
			}
			for i := range rack { // one after the other, so that the simulation answers meanwhile
				s.server.Do(func(f *fabric.Fabric) { each(f, rack[i:i+1], f.RebootFunction) })
			}
			for active(rack) < 127*len(rack) && ctx.Err() == nil {
				<-tick.C
			}
		}
		done <- n
	}()
	during := v.latencies()
	cancel()
	t.Logf("racks started again %d times, each with a heavy sweep: p99 %s", <-done, during)
}
