package callers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/registry"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// policyOf is the policy of a partition file.
func policyOf(t *testing.T, text string) *partitions.Policy {
	t.Helper()
	policy, errs, _ := partitions.Parse("partitions.conf", []byte(text)).Policy()
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return policy
}

// kept is a registry with partitions of callers, and the rules of their orders.
type kept struct {
	*testing.T
	*registry.Registry
	Rules
}

func newKept(t *testing.T, file string) *kept {
	k := &kept{T: t, Registry: registry.New(), Rules: Rules{Range: [2]mad.PKey{0x10, 0x13}, Now: 1_000_000}}
	if file != "" {
		k.File = policyOf(t, file)
	}
	return k
}

// do makes the changes of an order that must not be refused.
func (k *kept) do(done *Done, err error) *Done {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
	for _, c := range done.Changes {
		if err := k.Apply(c); err != nil {
			k.Fatalf("%T: %v", c, err)
		}
	}
	return done
}

func (k *kept) put(w Wanted) *Done {
	k.Helper()
	return k.do(k.Put(&k.State, &w, Match{}))
}

func ports(guids ...mad.GUID) (members []Member) {
	for _, g := range guids {
		members = append(members, Member{Port: g})
	}
	return members
}

// members are those of a partition as texts.
func (k *kept) members(name string) (all []string) {
	k.Helper()
	p, is := k.PartitionNamed(name)
	if !is {
		k.Fatalf("there is no partition %s", name)
	}
	for m := range k.PartitionMembers(p.Key) {
		text := fmt.Sprintf("%s%v=%v", m.Host, m.Port, partitions.Membership(m.Membership))
		if m.Index0 {
			text += " index0"
		}
		all = append(all, strings.TrimPrefix(strings.ReplaceAll(text, "0x0000000000000000", ""), " "))
	}
	return all
}

// TestPut: a partition is put whole; the same once more is no change; each change has the next number.
func TestPut(t *testing.T) {
	k := newKept(t, "")
	done := k.put(Wanted{Name: "red", Members: ports(1, 2, 2)})
	if p := done.Partition; !done.Created || p.Key != 0x10 || p.Number != 1 || p.Since != k.Now {
		t.Errorf("created %+v", done)
	}
	k.Now++
	for _, same := range []Wanted{{Name: "red", Members: ports(2, 1)}, {Name: "red", Key: 0x10, Members: []Member{
		{Port: 1, Membership: partitions.Full}, {Port: 2}}}} {
		if done := k.put(same); done.Created || len(done.Changes) > 0 || done.Partition.Number != 1 {
			t.Errorf("the same once more: %+v", done)
		}
	}
	k.put(Wanted{Name: "red", Note: "of team 7", IPoIB: true, MTU: mad.MTU4096, Members: []Member{
		{Port: 2, Membership: partitions.Limited, Index0: true}, {Host: "h9", Membership: partitions.Both}}})
	p, _ := k.PartitionNamed("red")
	if want := []string{"h9=both", "0x0000000000000002=limited index0"}; p.Number != 2 || p.Since != k.Now ||
		p.Note != "of team 7" || p.MTU != mad.MTU4096 || !slices.Equal(k.members("red"), want) {
		t.Errorf("changed to %+v with %v", p, k.members("red"))
	}
	m, _ := k.PartitionMember(registry.MemberKey{Key: 0x10, Port: 2})
	if m.Number != 2 || m.Since != k.Now {
		t.Errorf("a changed member is %+v", m)
	}
	k.put(Wanted{Name: "red", Key: 0x20, Members: ports(5)})
	former, was := k.FormerPartition(0x10)
	if p, _ := k.PartitionNamed("red"); p.Key != 0x20 || p.Number != 3 || !was || former.Number != 3 ||
		!slices.Equal(k.members("red"), []string{"0x0000000000000005=full"}) {
		t.Errorf("another P_Key: %+v, before %+v", p, former)
	}
}

// TestEdit: members are added and removed; who is named already gets the new values.
func TestEdit(t *testing.T) {
	k := newKept(t, "")
	k.put(Wanted{Name: "red", Members: ports(1, 2, 3)})
	edit := func(e Edit, m Match) (*Done, error) { return k.Edit(&k.State, "red", &e, m) }
	k.do(edit(Edit{Add: []Member{{Port: 3, Membership: partitions.Limited}, {Port: 4}}, Remove: ports(1, 9)}, Match{}))
	want := []string{"0x0000000000000002=full", "0x0000000000000003=limited", "0x0000000000000004=full"}
	if got := k.members("red"); !slices.Equal(got, want) {
		t.Errorf("members %v", got)
	}
	if done := k.do(edit(Edit{Add: ports(4), Remove: ports(1)}, Match{Number: 2})); len(done.Changes) > 0 {
		t.Errorf("nothing to do: %+v", done)
	}
	if done := k.do(k.Delete(&k.State, "red", Match{Number: 2})); done.Partition.Number != 3 {
		t.Errorf("deleted: %+v", done)
	}
	if done := k.do(k.Delete(&k.State, "red", Match{})); len(done.Changes) > 0 || k.PartitionNumber() != 3 {
		t.Errorf("deleted twice: %+v", done)
	}
}

// TestFreeKeys: a new partition gets the lowest P_Key of the range that neither the file nor callers have or had within
// an hour.
func TestFreeKeys(t *testing.T) {
	k := newKept(t, "storage=0x10: ALL;\n")
	k.Recent = map[mad.PKey]int64{0x11: k.Now - 10, 0x12: k.Now - Reuse}
	get := func(name string) mad.PKey { return k.put(Wanted{Name: name}).Partition.Key }
	if a, b := get("a"), get("b"); a != 0x12 || b != 0x13 {
		t.Errorf("P_Keys %s and %s", a, b)
	}
	_, err := k.Put(&k.State, &Wanted{Name: "c"}, Match{})
	if r := refusalOf(t, err); r.Kind != Full || r.Field != "pkey" {
		t.Errorf("without a free P_Key: %+v", r)
	}
	k.do(k.Delete(&k.State, "a", Match{}))
	k.Now += Reuse - 1
	if got := get("c"); got != 0x11 { // which the file had an hour ago
		t.Errorf("P_Key %s", got)
	}
	k.Now++
	if got := get("d"); got != 0x12 {
		t.Errorf("after an hour P_Key %s", got)
	}
}

func refusalOf(t *testing.T, err error) *Refusal {
	t.Helper()
	r := (*Refusal)(nil)
	if !errors.As(err, &r) {
		t.Fatalf("%v is no refusal", err)
	}
	return r
}

// TestRefusals: what a caller may not order is refused with a sentence that names it, and nothing changes.
func TestRefusals(t *testing.T) {
	const file = "storage=0x10: ALL;\nbackup=0x40: SELF;\n"
	long := strings.Repeat("x", 65)
	for _, c := range []struct {
		order any
		match Match
		kind  Kind
		field string
		says  string
	}{
		{Wanted{Name: ""}, Match{}, Wrong, "name", "such as tenant-7"},
		{Wanted{Name: long}, Match{}, Wrong, "name", "65 bytes"},
		{Wanted{Name: "a b"}, Match{}, Wrong, "name", `character " "`},
		{Wanted{Name: "a\x00"}, Match{}, Wrong, "name", `"\x00"`},
		{Wanted{Name: "<script>"}, Match{}, Wrong, "name", `"<"`},
		{Wanted{Name: "../x"}, Match{}, Wrong, "name", `"/"`},
		{Wanted{Name: ".."}, Match{}, Wrong, "name", "a path"},
		{Wanted{Name: "0x10"}, Match{}, Wrong, "name", "a number"},
		{Wanted{Name: "a", Key: 0x8011}, Match{}, Wrong, "pkey", "0x1 to 0x7ffe"},
		{Wanted{Name: "a", Key: 0x7fff}, Match{}, Wrong, "pkey", "0x7ffe"},
		{Wanted{Name: "a", Key: 0x10}, Match{}, Conflict, "pkey", "partitions.conf:1:1 has P_Key 0x0010, as partition \"storage\""},
		{Wanted{Name: "backup"}, Match{}, Conflict, "name", "partitions.conf:2:1 has a partition \"backup\", with P_Key 0x0040"},
		{Wanted{Name: "Default"}, Match{}, Conflict, "name", "partition file"},
		{Wanted{Name: "a", Key: 0x11}, Match{}, Conflict, "pkey", `"red" has P_Key 0x0011 already`},
		{Wanted{Name: "red", Key: 0x10}, Match{}, Conflict, "pkey", "storage"},
		{Wanted{Name: "red"}, Match{Absent: true}, Changed, "", "already"},
		{Wanted{Name: "red"}, Match{Number: 7}, Changed, "", "number 1, not 7"},
		{Wanted{Name: "new"}, Match{Number: 7}, Changed, "", "not 7"},
		{Wanted{Name: "a", Note: strings.Repeat("n", 129)}, Match{}, Wrong, "note", "129 bytes"},
		{Wanted{Name: "a", IPoIB: true, MTU: 6}, Match{}, Wrong, "mtu", "2048"},
		{Wanted{Name: "a", IPoIB: true, Rate: 63}, Match{}, Wrong, "rate", "100"},
		{Wanted{Name: "a", SL: 16}, Match{}, Wrong, "sl", "0 to 15"},
		{Wanted{Name: "a", IPoIB: true, Scope: 16}, Match{}, Wrong, "scope", "1 to 15"},
		{Wanted{Name: "a", Scope: 4}, Match{}, Wrong, "ipoib", "set ipoib"},
		{Wanted{Name: "a", Members: []Member{{}}}, Match{}, Wrong, "members", "either a guid"},
		{Wanted{Name: "a", Members: []Member{{Port: 1, Host: "h"}}}, Match{}, Wrong, "members", "either a guid"},
		{Wanted{Name: "a", Members: []Member{{Port: 1, Membership: 4}}}, Match{}, Wrong, "membership", "limited or both"},
		{Wanted{Name: "a", Members: []Member{{Host: "h[1-3]"}}}, Match{}, Wrong, "host", "not the name of a host"},
		{Wanted{Name: "a", Members: []Member{{Host: "ALL"}}}, Match{}, Wrong, "host", "not the name of a host"},
		{Wanted{Name: "a", Members: []Member{{Host: "h 1"}}}, Match{}, Wrong, "host", "not the name of a host"},
		{Wanted{Name: "a", Members: []Member{{Host: "twice"}}}, Match{}, Conflict, "host", `"twice mlx5_0"`},
		{Wanted{Name: "a", Members: []Member{{Port: 1}, {Port: 1, Index0: true}}}, Match{}, Wrong, "members", "named twice"},
		{Edit{}, Match{Number: 3}, Changed, "", "number 1, not 3"},
		{Edit{Add: ports(1), Remove: ports(1)}, Match{}, Wrong, "remove", "both added and removed"},
		{Edit{Add: []Member{{Host: "*"}}}, Match{}, Wrong, "host", "not the name"},
	} {
		k := newKept(t, file)
		k.Claimed = func(host string) string {
			if host == "twice" {
				return "twice mlx5_0"
			}
			return ""
		}
		k.put(Wanted{Name: "red", Key: 0x11, Members: ports(1)})
		before := slices.Collect(k.Changes())
		var err error
		switch o := c.order.(type) {
		case Wanted:
			_, err = k.Put(&k.State, &o, c.match)
		case Edit:
			_, err = k.Rules.Edit(&k.State, "red", &o, c.match)
		}
		r := refusalOf(t, err)
		if r.Kind != c.kind || r.Field != c.field || !strings.Contains(r.Text, c.says) {
			t.Errorf("%+v: kind %d, field %q, %q", c.order, r.Kind, r.Field, r.Text)
		}
		if !slices.Equal(slices.Collect(k.Changes()), before) {
			t.Errorf("%+v is refused and changes something", c.order)
		}
	}
	k := newKept(t, file)
	for name, kind := range map[string]Kind{"gone": Missing, "storage": Conflict} {
		_, err := k.Edit(&k.State, name, &Edit{}, Match{})
		if r := refusalOf(t, err); r.Kind != kind {
			t.Errorf("edit of %s: %+v", name, r)
		}
	}
	_, err := k.Delete(&k.State, "storage", Match{})
	if r := refusalOf(t, err); r.Kind != Conflict {
		t.Errorf("deletion of a partition of the file: %+v", r)
	}
	k.NoHosts = true
	_, err = k.Put(&k.State, &Wanted{Name: "a", Members: []Member{{Host: "h1"}}}, Match{})
	if r := refusalOf(t, err); r.Field != "host" || !strings.Contains(r.Text, "security tenants") {
		t.Errorf("a host with security tenants: %+v", r)
	}
}

// TestFull: there is a limit to partitions and members, and orders that add nothing are taken at it.
func TestFull(t *testing.T) {
	k := newKept(t, "")
	for i := range MaxPartitions {
		k.put(Wanted{Name: fmt.Sprintf("p%d", i), Key: mad.PKey(1 + i)})
	}
	_, err := k.Put(&k.State, &Wanted{Name: "more", Key: 0x7000}, Match{})
	if r := refusalOf(t, err); r.Kind != Full {
		t.Errorf("one more partition: %+v", r)
	}
	many := make([]Member, MaxMembers)
	for i := range many {
		many[i].Port = mad.GUID(1 + i)
	}
	k.put(Wanted{Name: "p0", Members: many})
	_, err = k.Edit(&k.State, "p1", &Edit{Add: ports(1)}, Match{})
	if r := refusalOf(t, err); r.Kind != Full {
		t.Errorf("one more member: %+v", r)
	}
	k.put(Wanted{Name: "p0", Members: many[:MaxMembers-1]})
	k.put(Wanted{Name: "p1", Members: ports(1)})
}

// TestBeside: the file wins by P_Key and by name, and what it leaves to callers is in force.
func TestBeside(t *testing.T) {
	k := newKept(t, "")
	k.put(Wanted{Name: "red", Key: 1, Members: ports(1)})
	k.put(Wanted{Name: "green", Key: 2, IPoIB: true, Members: ports(2)})
	k.put(Wanted{Name: "blue", Key: 3, Members: ports(3)})
	names := func(p *partitions.Policy) (all []string) {
		for i := range p.Partitions {
			all = append(all, fmt.Sprintf("%s=%s", p.Partitions[i].Name, p.Partitions[i].Key))
		}
		return all
	}
	set := Of(&k.State, nil)
	for _, c := range []struct {
		file string
		want string
	}{
		{"", "Default=0x7fff red=0x0001 green=0x0002 blue=0x0003"},
		{"Default=0x7fff: ALL=full;", "Default=0x7fff red=0x0001 green=0x0002 blue=0x0003"},
		{"mine=0x1: ALL;", "Default=0x7fff mine=0x0001 green=0x0002 blue=0x0003"},
		{"green=0x9: ALL;", "Default=0x7fff green=0x0009 red=0x0001 blue=0x0003"},
	} {
		var file *partitions.Policy
		if c.file != "" {
			file = policyOf(t, c.file)
		}
		got := set.Beside(file)
		text := strings.Join(names(got), " ")
		if text != c.want || got.Number != 3 || (got.Owned == nil) != (file != nil) {
			t.Errorf("beside %q: %s, number %d, owned %v", c.file, text, got.Number, got.Owned)
		}
	}
	file := policyOf(t, "a=0x1: ALL;")
	if (*Set)(nil).Beside(nil) != nil || (*Set)(nil).Beside(file) != file || Of(&registry.New().State, nil) != nil {
		t.Error("without partitions of callers the policy is another")
	}
	groups, defaulted := Part(set.Beside(file)).WellKnown(true, partitions.Defaults{Rate: 16})
	if len(groups) != 1 || groups[0].PKey != 0x8002 || groups[0].Rate != 16 || !defaulted[groups[0].MGID] {
		t.Errorf("groups %+v", groups)
	}
	k.do(k.Delete(&k.State, "red", Match{}))
	if got := Of(&k.State, set).Beside(nil); !slices.Equal(got.Owned, []mad.PKey{1, 2, 3}) {
		t.Errorf("owned are %v: P_Key 1 must be taken from tables", got.Owned)
	}
}

const labNet = `
switchguid=0x200000
Switch 8 "SW1"
[1] "H1"[1]
[2] "H2"[1]
[3] "H3"[1]
[4] "H3"[1]

caguid=0x100000
Ca 1 "H1 mlx5_0"
[1] "SW1"[1]

caguid=0x100002
Ca 1 "H2 mlx5_0"
[1] "SW1"[2]

caguid=0x100004
Ca 1 "H3 mlx5_0"
[1] "SW1"[3]
`

const (
	h1 mad.GUID = 0x100001 + 2*iota
	h2
	h3
)

// newLab is a subnet of a switch and three hosts, with all ports in the default partition.
func newLab(t *testing.T) *topo.Topo {
	t.Helper()
	text := strings.ReplaceAll(labNet, "[4] \"H3\"[1]\n", "")
	for _, h := range []string{"H1", "H2", "H3"} {
		text = strings.ReplaceAll(text, `"`+h+`"`, `"`+h+` mlx5_0"`)
	}
	n, err := net.Parse("lab", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	sub, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range sub.EndPorts {
		sub.Ports[p].PKeys = topo.NewPKeyTable([]mad.PKey{mad.DefaultPKey})
	}
	return sub
}

// TestIndexZero: of those that want index 0 of a port the last caller has it, and the file before all callers. Who does
// not have it is a member without.
func TestIndexZero(t *testing.T) {
	sub := newLab(t)
	k := newKept(t, "")
	first := []Member{{Port: h1, Index0: true}}
	k.put(Wanted{Name: "zeta", Key: 9, Members: first})
	k.put(Wanted{Name: "alpha", Key: 5, Members: first})
	table := func(file *partitions.Policy) []mad.PKey {
		return partitions.Compile(Of(&k.State, nil).Beside(file), partitions.Settings{}, sub,
			nil).Want[sub.FindPort(h1)].Keys()
	}
	open := policyOf(t, "Default=0x7fff: ALL=full;")
	for _, c := range []struct {
		what string
		file *partitions.Policy
		want mad.PKey
	}{{"callers", open, 0x8005}, {"callers without a file", nil, 0x8005},
		{"the file", policyOf(t, "Default=0x7fff: ALL=full;\nown=0x3, indx0: 0x100001=full;"), 0x8003}} {
		got := table(c.file)
		if got[0] != c.want || !slices.Contains(got, 0x8009) || !slices.Contains(got, mad.DefaultPKey) {
			t.Errorf("%s: table %v", c.what, got)
		}
	}
	k.put(Wanted{Name: "zeta", Key: 9, Members: first, Note: "the partition, not its member, has changed"})
	if got := table(open); got[0] != 0x8005 {
		t.Errorf("after another change: %v", got)
	}
	k.put(Wanted{Name: "alpha", Key: 5, Members: ports(h1)})
	if got := table(open); got[0] != 0x8009 {
		t.Errorf("when the later one gives it up: %v", got)
	}
}

// TestExport: the exported file means what the partitions mean.
func TestExport(t *testing.T) {
	k := newKept(t, "")
	k.put(Wanted{Name: "red", Key: 1, Note: "two\nlines", IPoIB: true, MTU: mad.MTU4096, Rate: 16, SL: 3, Scope: 5,
		QKey: 0x1234, Members: []Member{{Port: h1, Index0: true}, {Port: h2, Membership: partitions.Limited},
			{Host: "node-7", Membership: partitions.Both}}})
	k.put(Wanted{Name: "empty", Key: 2})
	text := string(Export(&k.State))
	got, want := policyOf(t, text), Of(&k.State, nil).Beside(partitions.Closed())
	for i := range want.Partitions {
		w := want.Partitions[i]
		p := got.Find(w.Key)
		if w.Number == 0 {
			continue
		}
		if p == nil || p.Name != w.Name || p.SL != w.SL || p.IPoIB != w.IPoIB {
			t.Fatalf("partition %+v is exported as %+v in\n%s", w, p, text)
		}
		plain := func(m partitions.Member) string { return fmt.Sprint(m, m.Index0) }
		var a, b []string
		for _, m := range p.Members {
			a = append(a, plain(m))
		}
		for _, m := range w.Members {
			b = append(b, plain(m))
		}
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Errorf("members %v are exported as %v in\n%s", b, a, text)
		}
	}
	a, _ := got.WellKnown(true, partitions.Defaults{})
	b, _ := Part(want).WellKnown(true, partitions.Defaults{})
	if !reflect.DeepEqual(a, b) {
		t.Errorf("groups\n%+v are exported as\n%+v in\n%s", b, a, text)
	}
}

// TestOfShares: a Set that was made of an earlier one is the one that is made afresh, after any orders.
func TestOfShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	k := newKept(t, "")
	var set *Set
	for step := range 2000 {
		name := string(rune('a' + rng.IntN(6)))
		k.Now++
		switch rng.IntN(4) {
		case 0:
			k.do(k.Delete(&k.State, name, Match{}))
		case 1:
			if done, err := k.Edit(&k.State, name, &Edit{Add: ports(mad.GUID(1 + rng.IntN(9))),
				Remove: ports(mad.GUID(10 + rng.IntN(9)))}, Match{}); err == nil {
				k.do(done, nil)
			}
		default:
			var members []Member
			for g := range 18 {
				if rng.IntN(3) == 0 {
					members = append(members, Member{Port: mad.GUID(1 + g), Index0: rng.IntN(5) == 0})
				}
			}
			done, err := k.Put(&k.State, &Wanted{Name: name, Key: mad.PKey(1 + rng.IntN(8)), Members: members}, Match{})
			if err == nil {
				k.do(done, nil)
			}
		}
		if rng.IntN(3) == 0 {
			continue // several changes at once
		}
		was := set
		set = Of(&k.State, was)
		fresh := Of(&k.State, nil)
		if !reflect.DeepEqual(set, fresh) {
			t.Fatalf("step %d: %+v\nafresh %+v", step, set, fresh)
		}
		if was != nil && reflect.DeepEqual(was, fresh) && set != was {
			t.Fatalf("step %d: nothing has changed, and the Set is another", step)
		}
	}
}

// TestOfNothing: where no partition is left and none is remembered, there is no policy of callers.
func TestOfNothing(t *testing.T) {
	k := newKept(t, "")
	done := k.put(Wanted{Name: "red"})
	k.do(k.Delete(&k.State, "red", Match{}))
	k.do(&Done{Changes: []registry.Change{registry.DeleteFormerPartition{Key: done.Partition.Key}}}, nil)
	if set := Of(&k.State, nil); set != nil || set.Beside(nil) != nil {
		t.Errorf("%+v", set)
	}
}
