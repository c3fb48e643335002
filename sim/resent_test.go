package sim_test

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sim/fabric"
	"ibsm/topo/net/nettest"
)

// A block that had to be sent twice is read again by the next light sweep: the first
// copy of an older Set may arrive after all, and its reply be lost, so that nothing
// else shows it.
func TestLateBlockWithoutReply(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.add(firstHost(n), minhopConfig())
	t.Cleanup(m.dump)
	var late []mad.Datagram // the first Set of each switch's only block
	forward := m.OnAction
	m.OnAction = func(now time.Duration, a manager.Action) {
		if send, ok := a.(manager.Send); ok {
			for _, d := range send.Datagrams {
				if d.Packet.AttrID() == smp.AttrLinearForwardingTable && len(late) < len(b.lfts()) {
					late = append(late, d)
				}
			}
		}
		forward(now, a)
	}
	dropping := false
	m.Heard = func(received []mad.Datagram) {
		for i := range received {
			if dropping && received[i].Packet.AttrID() == smp.AttrLinearForwardingTable {
				received[i].Packet.SetTID(0)
				received[i].Packet.SetMethod(mad.MethodSend)
			}
		}
	}
	b.Fabric.NodeDown(host(n, 5).Node)
	b.pass(settling)
	dropping = true // the replies to the first attempts are lost
	b.Fabric.NodeUp(host(n, 5).Node)
	b.pass(100 * time.Millisecond)
	dropping = false
	b.pass(2 * time.Second)
	b.mustBeWhole(m)
	whole := b.lfts()
	dropping = true
	m.Station.Send(late)
	b.pass(time.Millisecond)
	dropping = false
	if len(changed(whole, b.lfts())) == 0 {
		t.Fatal("the late Sets change nothing: no test")
	}
	b.pass(settling)
	b.mustBeWhole(m)
}
