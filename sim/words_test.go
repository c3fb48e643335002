package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// TestTrapsLogged: the first traps of a series are logged one by one, and later ones by
// their number, as OpenSM does; the port that saw a bad key is logged as well.
func TestTrapsLogged(t *testing.T) {
	b := newHarness(t, nettest.Generate(t, "fattree:k=4,levels=2"), fabric.Config{})
	m := b.comeUp(minhopConfig())
	send := func(number smp.TrapNumber, times int) {
		var d mad.Datagram
		d.LID = 3
		d.Packet.SetHeader(mad.ClassLIDRouted, mad.MethodTrap, smp.AttrNotice, 0)
		n := (*smp.Notice)(d.Packet.Data())
		n.SetIsGeneric(true)
		n.SetTrapNumber(number)
		n.SetProducerType(smp.ProducerCA)
		n.BadKey().SetKey(0x1234)
		for range times {
			b.Deliver(m.Manager, d)
			b.pass(time.Millisecond)
		}
	}
	send(smp.TrapBadPKey, 55)
	for _, c := range []struct {
		text string
		want int
	}{
		{"log_trap_info: Received Generic Notice type:0 num:257 (Bad P_Key) Producer:1 (Channel Adapter) from LID:3 TID:0x", 10},
		{"log_trap_info: Bad P_Key:0x1234 on SL:0 from LID1:0", 10},
		{"Received trap 20 times consecutively", 1},
		{"Received trap 50 times consecutively", 1},
		{"times consecutively", 2},
	} {
		if got := m.says(c.text); got != c.want {
			t.Errorf("%q is logged %d times, want %d", c.text, got, c.want)
		}
	}
}

// TestPortsLogged: what comes and goes between sweeps is logged, but not what a new
// master finds.
func TestPortsLogged(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	b := newHarness(t, n, fabric.Config{})
	m := b.comeUp(minhopConfig())
	if logged := m.says("new port") + m.says("Removed port"); logged != 0 {
		t.Errorf("%d ports are logged as the subnet comes up", logged)
	}
	at := host(n, 1)
	guid := n.Nodes[at.Node].Ports[at.Port].GUID.String()
	b.Fabric.LinkDown(at)
	b.pass(settling)
	if m.says("drop_mgr_remove_port: Removed port with GUID:"+guid+" LID range [") != 1 || m.says("Removed port") != 1 {
		t.Error("a host that goes is not logged once")
	}
	b.Fabric.LinkUp(at)
	b.pass(settling)
	if m.says("state_mgr_report_new_ports: Discovered new port with GUID:"+guid+" LID range [") != 1 ||
		m.says("new port") != 1 {
		t.Error("a host that comes is not logged once")
	}
}
