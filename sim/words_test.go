package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/sim/fabric"
)

// TestTrapsTold: the first traps of a series are told of one by one, and later ones by
// their number, as OpenSM does; what a bad key was shown to is told as well.
func TestTrapsTold(t *testing.T) {
	b := newBed(t, generate(t, "fattree:k=4,levels=2"), fabric.Config{})
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
			t.Errorf("%q is told %d times, want %d", c.text, got, c.want)
		}
	}
}

// TestPortsTold: what comes and goes between sweeps is told of, but not what a new
// master finds.
func TestPortsTold(t *testing.T) {
	n := generate(t, "fattree:k=4,levels=2")
	b := newBed(t, n, fabric.Config{})
	m := b.comeUp(minhopConfig())
	if told := m.says("new port") + m.says("Removed port"); told != 0 {
		t.Errorf("%d ports are told of as the subnet comes up", told)
	}
	at := host(n, 1)
	guid := n.Nodes[at.Node].Ports[at.Port].GUID.String()
	b.Fabric.LinkDown(at)
	b.pass(settling)
	if m.says("drop_mgr_remove_port: Removed port with GUID:"+guid+" LID range [") != 1 || m.says("Removed port") != 1 {
		t.Error("a host that goes is not told of once")
	}
	b.Fabric.LinkUp(at)
	b.pass(settling)
	if m.says("state_mgr_report_new_ports: Discovered new port with GUID:"+guid+" LID range [") != 1 || m.says("new port") != 1 {
		t.Error("a host that comes is not told of once")
	}
}
