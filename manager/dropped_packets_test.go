package manager

import (
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/topo"
)

// TestDroppedPackets: traps 257 to 259 (IBA 14.2.5.1) are counted by sender, receiver, key and the port that
// dropped the packets. The latest come first, a list that was given out does not change, and there are no more rows
// than 64.
func TestDroppedPackets(t *testing.T) {
	v := servedView()
	guid := v.Topo.Ports[v.LIDs.PortOf(3)].GUID
	sw := topo.PortIdx(topo.None)
	for _, p := range v.Topo.EndPorts {
		if v.Topo.Nodes[v.Topo.Ports[p].Node].Type == mad.Switch {
			sw = p
		}
	}
	node := &v.Topo.Nodes[v.Topo.Ports[sw].Node]
	atSwitch := func(key mad.PKey, to mad.LID, num uint8) *smp.Notice {
		return (*smp.Notice)(notice(smp.TrapSwitchBadPKey, func(n *smp.Notice) {
			d := n.SwitchBadPKey()
			d.SetLID1(3)
			d.SetLID2(to)
			d.SetSwitchLID(v.LIDs.Base[sw])
			d.SetPortNum(num)
			d.SetPKey(key)
		}).Packet.Data())
	}
	var c trapCounts
	c.drop(10, atSwitch(0x8001, 4, 2), v)
	first := c.dropped
	c.drop(20, atSwitch(0x8001, 4, 2), v)
	c.drop(30, atSwitch(0x7fff, 0xc000, 2), v)
	c.drop(40, atSwitch(0x7fff, 0xc000, 200), v)             // the switch has no such port
	c.drop(40, (*smp.Notice)(linkChange().Packet.Data()), v) // another trap
	c.drop(40, atSwitch(0x8001, 4, 2), nil)                  // nothing is known of the subnet
	to := v.Topo.Ports[v.LIDs.PortOf(4)].GUID
	want := []DroppedPackets{
		{Trap: smp.TrapSwitchBadPKey, Key: 0x7fff, From: guid, ToLID: 0xc000, Node: node.GUID, Port: 2, Count: 1,
			First: 30, Last: 30},
		{Trap: smp.TrapSwitchBadPKey, Key: 0x8001, From: guid, To: to, ToLID: 4, Node: node.GUID, Port: 2, Count: 2,
			First: 10, Last: 20},
	}
	if len(c.dropped) != len(want) || c.dropped[0] != want[0] || c.dropped[1] != want[1] {
		t.Errorf("%+v, want %+v", c.dropped, want)
	}
	if first[0].Count != 1 || len(first) != 1 {
		t.Errorf("a list that was given out is %+v now", first)
	}
	for key := range mad.PKey(2 * maxDropped) {
		c.drop(50, atSwitch(0x8100+key, 4, 1), v)
	}
	if len(c.dropped) != maxDropped || c.dropped[0].Key != 0x8100+2*maxDropped-1 {
		t.Errorf("%d rows, the first is %+v", len(c.dropped), c.dropped[0])
	}
}
