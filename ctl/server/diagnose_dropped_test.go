package server

import (
	"strings"
	"testing"
	"time"

	"ibsm/ctl/ctltest"
	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/sa"
	"ibsm/topo"
)

// TestDroppedCauses: what a trap of the last hour reports has a cause by the P_Key tables, and advice for it. Two
// ports communicate unless the packets were dropped in the last minute although no table drops them.
func TestDroppedCauses(t *testing.T) {
	v := newView(t, "fattree:k=4")
	var cas []topo.PortIdx
	for _, p := range v.Topo.EndPorts {
		if v.Topo.Nodes[v.Topo.Ports[p].Node].Type == mad.CA {
			cas = append(cas, p)
		}
		v.Topo.Ports[p].Info.SetPortState(smp.PortActive)
		v.Topo.Ports[p].PKeys = topo.NewPKeyTable([]mad.PKey{0xffff})
	}
	a, b := cas[1], cas[len(cas)-1]
	v.Topo.Ports[a].PKeys = topo.NewPKeyTable([]mad.PKey{0xffff, 0x8001, 0x0002})
	v.Topo.Ports[b].PKeys = topo.NewPKeyTable([]mad.PKey{0xffff, 0x0002})
	sw := v.Topo.Ports[b].Peer
	v.Topo.Ports[sw].Info.SetPortState(smp.PortActive)
	port := func(p topo.PortIdx) (mad.GUID, uint8) {
		return v.Topo.Nodes[v.Topo.Ports[p].Node].GUID, v.Topo.Ports[p].Num
	}
	for name, c := range map[string]struct {
		trap   smp.TrapNumber
		key    uint32
		to     mad.LID // a multicast group
		ago    time.Duration
		unread bool // the switch port checks P_Keys, and its table is not known
		works  bool
		lists  bool // without arguments, the port that dropped the packets is listed
		kind   string
		text   string
		do     string
	}{
		"Q_Key": {trap: smp.TrapBadQKey, key: 0x0b1b, works: true, lists: true, kind: "Q_Key dropped",
			text: "packets with Q_Key 0x00000b1b", do: "same Q_Key"},
		"not sent any more": {trap: smp.TrapSwitchBadPKey, key: 0x8009, works: true, lists: true, kind: "P_Key dropped",
			text: "the sender does not have this P_Key", do: "restart the program"},
		"not received": {trap: smp.TrapBadPKey, key: 0x8001, works: true, lists: true, kind: "P_Key dropped",
			text: "the receiver does not have this partition", do: "partitions add"},
		"both limited": {trap: smp.TrapSwitchBadPKey, key: 0x0002, works: true, lists: true, kind: "P_Key dropped",
			text: "limited members cannot", do: "make one a full member"},
		"limited broadcast": {trap: smp.TrapSwitchBadPKey, key: 0x0002, to: 0xc001, works: true},
		"permitted": {trap: smp.TrapSwitchBadPKey, key: 0xffff, lists: true, kind: "P_Key dropped",
			text: "these packets are permitted", do: "part_enforce"},
		"permitted by now": {trap: smp.TrapSwitchBadPKey, key: 0xffff, ago: 10 * time.Minute, works: true, lists: true,
			kind: "P_Key dropped", text: "these packets are permitted", do: "part_enforce"},
		"not read": {trap: smp.TrapSwitchBadPKey, key: 0xffff, unread: true, lists: true,
			kind: "P_Key dropped", text: "its table could not be read", do: "partition_config_file"},
		"long ago": {trap: smp.TrapSwitchBadPKey, key: 0xffff, ago: 2 * time.Hour, works: true},
	} {
		row := manager.DroppedPackets{Trap: c.trap, Key: c.key, From: v.Topo.Ports[a].GUID, To: v.Topo.Ports[b].GUID,
			ToLID: v.LIDs.Base[b], Count: 3,
			Last: time.Now().Add(-c.ago).Unix()}
		at := b
		if c.trap == smp.TrapSwitchBadPKey {
			at = sw
		}
		if row.Node, row.Port = port(at); c.to != 0 {
			row.To, row.ToLID = 0, c.to
		}
		v.Topo.Ports[sw].Info.SetPartitionEnforcementOutbound(c.unread)
		if v.Topo.Ports[sw].PKeys = v.Topo.Ports[b].PKeys; c.unread {
			v.Topo.Ports[sw].PKeys = nil
		}
		s := Show(v, row).(*subnet)
		where := s.called(at) + " dropped packets with "
		d := ctltest.Diagnose(t, s, v.Topo.Ports[a].GUID.String(), v.Topo.Ports[b].GUID.String())
		if d.Works != c.works || (len(d.Reasons) > 0) != (c.kind != "") {
			t.Errorf("%s: works %t, %+v", name, d.Works, d.Reasons)
			continue
		}
		if c.kind != "" && (!ctltest.HasReason(d, c.kind, where) || !ctltest.HasReason(d, c.kind, c.text) ||
			!ctltest.HasReason(d, c.kind, "reported 3 times") || !strings.Contains(d.Reasons[0].Do, c.do)) {
			t.Errorf("%s: %+v", name, d.Reasons)
		}
		if alone := ctltest.Diagnose(t, s, v.Topo.Ports[a].GUID.String(), ""); c.kind != "" &&
			!ctltest.HasReason(alone, c.kind, where) {
			t.Errorf("%s: the sender: %+v", name, alone.Reasons)
		}
		all, err := s.Diagnose("", "")
		if err != nil {
			t.Fatal(err)
		}
		listed := false
		for d := range all {
			listed = listed || d.Port.Node == row.Node.String() && d.Port.Port == row.Port &&
				(strings.Contains(d.Reasons[0].Kind, "dropped"))
		}
		if listed != c.lists {
			t.Errorf("%s: listed %t", name, listed)
		}
	}
}

// TestDroppedBySA: requests that the SA dropped are a remark about the port that sent them, for an hour.
func TestDroppedBySA(t *testing.T) {
	v := newView(t, "fattree:k=4")
	p := v.Topo.EndPorts[len(v.Topo.EndPorts)-1]
	v.Topo.Ports[p].Info.SetPortState(smp.PortActive)
	row := sa.Offender{Port: v.Topo.Ports[p].GUID, Method: mad.MethodGetTable, Attr: sarec.AttrPathRecord, Count: 4}
	for ago, want := range map[time.Duration]bool{0: true, 2 * time.Hour: false} {
		row.Last = time.Now().Add(-ago)
		s := newSubnet(v, nil)
		s.offending = func() []sa.Offender { return []sa.Offender{row} }
		d := ctltest.Diagnose(t, s, row.Port.String(), "")
		if ctltest.HasReason(d, "SA request dropped", "4 times") != want || !d.Works {
			t.Errorf("%v ago: %+v", ago, d)
		}
	}
}

// TestWayToSA: clients ask the SA with the P_Key of the default partition (Linux,
// drivers/infiniband/core/sa_query.c), which one of two ports must have as a full member (IBA 10.9.3).
func TestWayToSA(t *testing.T) {
	for _, c := range []struct {
		host, manager []mad.PKey
		text          string
	}{
		{[]mad.PKey{0x7fff}, []mad.PKey{0xffff}, ""},
		{[]mad.PKey{0, 0x8020, 0x7fff}, []mad.PKey{0xffff}, ""},
		{[]mad.PKey{0x8020}, []mad.PKey{0xffff, 0x8020}, "the port has no P_Key"},
		{[]mad.PKey{0x7fff}, []mad.PKey{0x7fff}, "limited member"},
		{[]mad.PKey{0x7fff}, []mad.PKey{0x8020}, "the manager's port has no P_Key"},
	} {
		v := newView(t, "fattree:k=4")
		host := v.Topo.EndPorts[len(v.Topo.EndPorts)-1]
		v.Topo.Ports[host].Info.SetPortState(smp.PortActive)
		v.Topo.Ports[host].PKeys, v.Topo.Ports[v.Topo.EndPort(v.Topo.Self)].PKeys = topo.NewPKeyTable(c.host),
			topo.NewPKeyTable(c.manager)
		d := ctltest.Diagnose(t, newSubnet(v, nil), v.Topo.Ports[host].GUID.String(), "")
		if ctltest.HasReason(d, "no way to the SA", c.text) != (c.text != "") {
			t.Errorf("%v to %v: %+v", c.host, c.manager, d.Reasons)
		}
	}
}
