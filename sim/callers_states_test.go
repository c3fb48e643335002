package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/finding"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/partitions"
	"ibsm/partitions/callers"
	"ibsm/sim"
	"ibsm/sim/fabric"
	"ibsm/sweep"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// rowsOf are the members of a partition with their states, by GUID or name.
func (b *harness) rowsOf(m *watched, file *partitions.Policy, name string) map[string]callers.Row {
	b.Helper()
	state := m.Registrar().State()
	p, is := state.PartitionNamed(name)
	if !is {
		b.Fatalf("there is no partition %s", name)
	}
	facts := callers.Facts{File: file}
	if m.View != nil {
		facts.Tables, facts.Topo = m.View.Partitions, m.View.Topo
	}
	rows := map[string]callers.Row{}
	for _, r := range facts.Rows(state, &p) {
		key := r.Host
		if key == "" {
			key = r.Port.String()
		}
		rows[key] = r
	}
	return rows
}

// TestCallerStates: each state of a member comes with its true reason.
func TestCallerStates(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=4,levels=2")
	fine, full, unread, unset, refuses, away := host(n, 1), host(n, 2), host(n, 3), host(n, 4), host(n, 5), host(n, 6)
	trouble := map[int32]func(*mad.Packet) (mad.Status, bool){ // the status, and whether there is an answer
		unread.Node:  func(p *mad.Packet) (mad.Status, bool) { return 0, false },
		unset.Node:   func(p *mad.Packet) (mad.Status, bool) { return 0, p.Method() != mad.MethodSet },
		refuses.Node: func(p *mad.Packet) (mad.Status, bool) { return mad.StatusBadField, true },
	}
	b := newHarness(t, n, fabric.Config{Seed: 1, Caps: func(i int32, _ *net.Node, c *fabric.Caps) {
		if i == full.Node {
			c.PartitionCap = 2
		}
		if end := trouble[i]; end != nil {
			c.Defect = func(p *mad.Packet, obey func() mad.Status) (mad.Status, bool) {
				status, answers := end(p)
				if p.AttrID() == smp.AttrPKeyTable && (i == unread.Node || p.Method() == mad.MethodSet) {
					return status, answers
				}
				return obey(), true
			}
		}
	}})
	m := b.addKept(host(n, 0), registrarConfig(), sim.NewDisk(time.Millisecond))
	b.Fabric.LinkDown(away)
	b.pass(settling)
	all := []callers.Member{b.memberAt(fine), b.memberAt(full), b.memberAt(unread), b.memberAt(unset),
		b.memberAt(refuses), b.memberAt(away), {Port: 0x99}, {Host: "nobody"}}
	b.put(m, callers.Wanted{Name: "first", Key: 0x101, Members: all})
	expect := func(file *partitions.Policy, name string, at net.End, state callers.State, why string) {
		t.Helper()
		key := b.Fabric.PortGUID(at).String()
		r := b.rowsOf(m, file, name)[key]
		if r.State != state || !strings.Contains(r.Why, why) || why == "" && r.Why != "" {
			t.Errorf("%s: the member at %v is %v: %q; want %v, %q", name, at, r.State, r.Why, state, why)
		}
	}
	expect(nil, "first", fine, callers.Pending, "has not written it yet")
	b.pass(settling)
	expect(nil, "first", fine, callers.Applied, "")
	expect(nil, "first", full, callers.Applied, "")
	expect(nil, "first", unread, callers.Failed, "does not answer when its P_Key table is read")
	expect(nil, "first", unset, callers.Failed, "does not take the P_Key")
	expect(nil, "first", refuses, callers.Failed, "does not take the P_Key")
	expect(nil, "first", away, callers.Pending, "no port with this GUID has been seen")
	for _, who := range []string{"0x0000000000000099", "nobody"} {
		if r := b.rowsOf(m, nil, "first")[who]; r.State != callers.Pending || !r.Unseen {
			t.Errorf("member %s is %v, unseen %t: %s", who, r.State, r.Unseen, r.Why)
		}
	}
	b.put(m, callers.Wanted{Name: "second", Key: 0x102, Members: []callers.Member{b.memberAt(full),
		{Port: b.Fabric.PortGUID(fine), Index0: true}}})
	b.pass(settling)
	expect(nil, "second", full, callers.Failed, "the P_Key table of the port is full: it has 2 entries")
	expect(nil, "first", full, callers.Applied, "")
	expect(nil, "second", fine, callers.Applied, "")
	b.put(m, callers.Wanted{Name: "third", Key: 0x103, Members: []callers.Member{{Port: b.Fabric.PortGUID(fine),
		Index0: true}}})
	b.pass(settling)
	expect(nil, "third", fine, callers.Applied, "")
	expect(nil, "second", fine, callers.Applied, "index 0 is of P_Key 0x8103")

	file := partitions.Default().WithPartitions([]partitions.Partition{{Name: "own", Key: 0x101}}, 0, nil)
	file.File = nil
	b.Partition(m.Manager, sweep.Partitions{Policy: file})
	b.pass(settling)
	expect(file, "first", fine, callers.Held, `has P_Key 0x0101, as partition "own"`)
	expect(file, "second", fine, callers.Applied, "index 0 is of P_Key 0x8103")
	if held := m.View.Partitions.Policy.Held; len(held) != 1 || held[0].Name != "first" {
		t.Errorf("held: %v", held)
	}
	if !slices.ContainsFunc(m.View.Findings, func(f finding.Finding) bool { return f.Kind == finding.CallerHeld }) {
		t.Error("no finding says so")
	}
	b.Partition(m.Manager, sweep.Partitions{})
	b.pass(settling)
	expect(nil, "first", fine, callers.Applied, "")
	b.Fabric.LinkUp(away)
	b.pass(settling)
	expect(nil, "first", away, callers.Applied, "")
}
