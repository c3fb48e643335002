package callers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/topo"
)

// TestStates makes each state of a member, and compares the reason.
func TestStates(t *testing.T) {
	const red = mad.PKey(5)
	full := red | mad.FullMember
	default1 := mad.DefaultPKey
	for _, c := range []struct {
		what    string
		member  Member
		file    string
		edit    func(sub *topo.Topo, tables *partitions.Tables)
		held    []mad.PKey // by H1
		unknown bool       // there is no view
		state   State
		why     string
		ready   bool
	}{
		{what: "it has the P_Key", member: Member{Port: h1}, held: []mad.PKey{default1, full}, state: Applied, ready: true},
		{what: "a limited member", member: Member{Port: h1, Membership: partitions.Limited},
			held: []mad.PKey{default1, red}, state: Applied, ready: true},
		{what: "a host", member: Member{Host: "H1"}, held: []mad.PKey{default1, full}, state: Applied, ready: true},
		{what: "nobody has seen the port", member: Member{Port: 99}, state: Pending, why: "no port with this GUID",
			ready: true},
		{what: "nobody has seen the host", member: Member{Host: "H9"}, state: Pending, why: "no host with this name",
			ready: true},
		{what: "there is no view", member: Member{Port: h1}, unknown: true, state: Pending, why: "not read the subnet"},
		{what: "the view is older", member: Member{Port: h1}, held: []mad.PKey{default1},
			edit: func(_ *topo.Topo, tables *partitions.Tables) {
				older := *tables.Policy
				older.Number = 0
				tables.Policy = &older
			},
			state: Pending, why: "not written it yet"},
		{what: "the file has the P_Key", member: Member{Port: h1}, file: "mine=0x5: ALL;", held: []mad.PKey{default1, full},
			state: Held, why: `partitions.conf:1:1 has P_Key 0x0005, as partition "mine"`},
		{what: "the file has the name", member: Member{Port: h1}, file: "red=0x6: ALL;", state: Held,
			why: `has P_Key 0x0006, as partition "red"`},
		{what: "the table is full", member: Member{Port: h1}, held: []mad.PKey{default1},
			edit: func(sub *topo.Topo, tables *partitions.Tables) {
				tables.Overflows = []partitions.Overflow{{Port: sub.FindPort(h1), Size: 1, Left: []mad.PKey{full},
					VPort: topo.None}}
			}, state: Failed, why: "is full: it has 1 entries"},
		{what: "the table cannot be read", member: Member{Port: h1}, edit: func(sub *topo.Topo, _ *partitions.Tables) {
			sub.Ports[sub.FindPort(h1)].PKeys = nil
		}, state: Failed, why: "does not answer"},
		{what: "it does not take the P_Key", member: Member{Port: h1}, held: []mad.PKey{default1}, state: Failed,
			why: "does not take the P_Key"},
		{what: "a full member has the limited one", member: Member{Port: h1}, held: []mad.PKey{default1, red},
			state: Failed, why: "does not take the P_Key"},
		{what: "it is not ACTIVE", member: Member{Port: h1}, held: []mad.PKey{default1},
			edit: func(sub *topo.Topo, _ *partitions.Tables) {
				sub.Ports[sub.FindPort(h1)].Info.SetPortState(smp.PortInit)
			}, state: Pending, why: "not ACTIVE"},
		{what: "two nodes have the name", member: Member{Host: "H1"}, held: []mad.PKey{default1, full},
			edit: func(sub *topo.Topo, _ *partitions.Tables) {
				sub.Nodes[sub.Ports[sub.FindPort(h2)].Node].Desc = sub.Nodes[sub.Ports[sub.FindPort(h1)].Node].Desc
			}, state: Pending, why: "two nodes have this name", ready: false},
		{what: "another partition has index 0", member: Member{Port: h1, Index0: true}, held: []mad.PKey{default1, full},
			state: Applied, why: "index 0 is of P_Key 0xffff", ready: true},
	} {
		t.Run(c.what, func(t *testing.T) {
			k := newKept(t, c.file)
			done := k.do((&Rules{}).Put(&k.State, &Wanted{Name: "red", Key: red, Members: []Member{c.member}}, Match{}))
			sub := newLab(t)
			tables := partitions.Compile(Of(&k.State, nil).Beside(k.File), partitions.Settings{}, sub, nil)
			if c.held != nil {
				sub.Ports[sub.FindPort(h1)].PKeys = topo.NewPKeyTable(c.held)
			}
			for _, p := range sub.EndPorts {
				sub.Ports[p].Info.SetPortState(smp.PortActive)
			}
			if c.edit != nil {
				c.edit(sub, tables)
			}
			f := &Facts{File: k.File, Tables: tables, Topo: sub}
			if c.unknown {
				f = &Facts{File: k.File}
			}
			rows := f.Rows(&k.State, &done.Partition)
			if len(rows) != 1 || rows[0].State != c.state || !strings.Contains(rows[0].Why, c.why) ||
				(rows[0].Why == "") != (c.why == "") {
				t.Errorf("%+v, want %v %q", rows, c.state, c.why)
			}
			if Ready(rows) != c.ready || Summary(rows)[c.state] != 1 {
				t.Errorf("ready %t, summary %v", Ready(rows), Summary(rows))
			}
		})
	}
}

// TestHostAndPort: a port that is named by GUID and by its host is what its GUID says.
func TestHostAndPort(t *testing.T) {
	k, sub := newKept(t, ""), newLab(t)
	done := k.put(Wanted{Name: "red", Key: 5, Members: []Member{{Host: "H1"},
		{Port: h1, Membership: partitions.Limited}}})
	tables := partitions.Compile(Of(&k.State, nil).Beside(nil), partitions.Settings{}, sub, nil)
	at := sub.FindPort(h1)
	if want := tables.Want[at].Keys(); !slices.Equal(want, []mad.PKey{mad.DefaultPKey, 5}) {
		t.Errorf("the wanted table is %v", want)
	}
	sub.Ports[at].PKeys = tables.Want[at]
	sub.Ports[at].Info.SetPortState(smp.PortActive)
	rows := (&Facts{Tables: tables, Topo: sub}).Rows(&k.State, &done.Partition)
	if text := fmt.Sprint(rows[0].State, rows[0].Host, rows[1].State, rows[1].Port); len(rows) != 2 ||
		text != fmt.Sprint(Applied, "H1", Applied, h1) || !Ready(rows) {
		t.Errorf("%+v", rows)
	}
}

// TestOwned: without a file, all P_Keys that no caller has or had stay where they are, at end ports and at ports of
// switches that check.
func TestOwned(t *testing.T) {
	k, sub := newKept(t, ""), newLab(t)
	k.put(Wanted{Name: "red", Key: 5, Members: ports(h1)})
	k.put(Wanted{Name: "old", Key: 6, Members: ports(h1)})
	k.do(k.Delete(&k.State, "old", Match{}))
	set := func(p topo.PortIdx, keys ...mad.PKey) { sub.Ports[p].PKeys = topo.NewPKeyTable(keys) }
	p1, p2, p3 := sub.FindPort(h1), sub.FindPort(h2), sub.FindPort(h3)
	set(p1, 0xffff, 0x8006, 0, 0x0123)
	set(p2, 0x8123, 0x8005)
	set(p3)
	checks, plain := sub.Ports[p1].Peer, sub.Ports[p2].Peer
	set(checks, 0xffff, 0x8123)
	set(plain, 0xffff)
	sub.Ports[checks].Info.SetPartitionEnforcementInbound(true)
	tables := partitions.Compile(Of(&k.State, nil).Beside(nil), partitions.Settings{}, sub, nil)
	for _, c := range []struct {
		port topo.PortIdx
		want []mad.PKey
	}{
		{p1, []mad.PKey{0xffff, 0, 0, 0x0123, 0x8005}}, {p2, []mad.PKey{0x8123}}, {p3, []mad.PKey{0xffff}},
		{checks, []mad.PKey{0xffff, 0x8123, 0x8005}},
	} {
		if got := tables.Want[c.port]; got == nil || !slices.Equal(got.Keys(), c.want) {
			t.Errorf("port %d gets %v, want %v", c.port, got, c.want)
		}
	}
	if tables.Want[plain] != nil || tables.Confines || tables.Checking[checks] != partitions.LeaveAsIs {
		t.Errorf("a port that does not check gets %v, confines %t", tables.Want[plain], tables.Confines)
	}
}

// TestStatesOfVPorts: a member that is a vPort has the P_Key before the vPort is ACTIVE. Nobody waits for one that is
// down.
func TestStatesOfVPorts(t *testing.T) {
	const red, guid = mad.PKey(5), mad.GUID(0x0200000000000001)
	full := red | mad.FullMember
	for _, c := range []struct {
		what  string
		vPort topo.VPort
		older bool
		state State
		why   string
		ready bool
	}{
		{what: "it has the P_Key", vPort: topo.VPort{State: smp.PortActive}, state: Applied, ready: true},
		{what: "it has it and is not ACTIVE yet", vPort: topo.VPort{State: smp.PortInit, Waits: topo.WaitsForManager},
			state: Applied, ready: true},
		{what: "it waits for its switch", vPort: topo.VPort{State: smp.PortInit, Waits: topo.WaitsForSwitch,
			PKeys: topo.NewPKeyTable([]mad.PKey{0xffff, 0})}, state: Pending, why: "the switch in front"},
		{what: "it is down", vPort: topo.VPort{State: smp.PortDown, Waits: topo.WaitsForDriver,
			PKeys: topo.NewPKeyTable(nil)}, state: Pending, why: "link policy", ready: true},
		{what: "its table is full", vPort: topo.VPort{State: smp.PortActive, PartitionCap: 2,
			PKeys: topo.NewPKeyTable([]mad.PKey{0xffff, 0x8007})}, state: Failed, why: "is full: it has 2 entries"},
		{what: "it does not take it", vPort: topo.VPort{State: smp.PortInit, Waits: topo.LeftAsFound,
			PKeys: topo.NewPKeyTable(nil)}, state: Failed, why: "does not take"},
		{what: "the manager's policy is older", vPort: topo.VPort{State: smp.PortActive}, older: true, state: Pending,
			why: "not written it yet"},
	} {
		k := newKept(t, "")
		done := k.put(Wanted{Name: "red", Key: red, Members: []Member{{Port: guid}}})
		sub := newLab(t)
		v := c.vPort
		v.GUID, v.Index, v.Port, v.PartitionCap = guid, 1, sub.FindPort(h1), max(v.PartitionCap, 2)
		if v.PKeys == nil {
			v.PKeys = topo.NewPKeyTable([]mad.PKey{0xffff, full})
		}
		sub.VPorts = topo.NewVPorts([]topo.VPort{v}, nil)
		tables := partitions.Compile(Of(&k.State, nil).Beside(nil), partitions.Settings{}, sub, nil)
		if c.older {
			older := *tables.Policy
			older.Number = 0
			tables.Policy = &older
		}
		rows := (&Facts{Tables: tables, Topo: sub}).Rows(&k.State, &done.Partition)
		if len(rows) != 1 || rows[0].State != c.state || !strings.Contains(rows[0].Why, c.why) ||
			(rows[0].Why == "") != (c.why == "") || sub.VPortOf(rows[0].At) != 0 {
			t.Errorf("%s: %+v, want %v %q", c.what, rows, c.state, c.why)
		}
		if Ready(rows) != c.ready {
			t.Errorf("%s: ready %t", c.what, Ready(rows))
		}
	}
}
