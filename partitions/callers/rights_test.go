package callers

import (
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/rights"
)

// tenant is a user with the P_Keys 0x100 to 0x102, the hosts t-* and the GUIDs 1 to 9.
func tenant() *rights.User {
	return &rights.User{Name: "t", Role: rights.Tenant, Scope: rights.Scope{
		Keys: rights.Ranges[mad.PKey]{{0x100, 0x102}}, Hosts: []string{"t-*"}, GUIDs: rights.Ranges[mad.GUID]{{1, 9}}}}
}

// TestTenant: a tenant changes its own partitions, and no error shows it another one.
func TestTenant(t *testing.T) {
	k := newKept(t, "hidden=0x101: 0x9;\nALL=0x7fff: ALL;")
	k.put(Wanted{Name: "foreign", Key: 0x200, Members: ports(1)})
	k.User = tenant()
	if p := k.put(Wanted{Name: "mine", Members: []Member{{Port: 1}, {Host: "t-1"}}}).Partition; p.Key != 0x100 {
		t.Errorf("the P_Key is %v: expected the first of the tenant's", p.Key)
	}
	put := func(w Wanted) error { _, err := k.Put(&k.State, &w, Match{}); return err }
	edit := func(name string, e Edit) error { _, err := k.Edit(&k.State, name, &e, Match{}); return err }
	_, deleting := k.Delete(&k.State, "foreign", Match{})
	_, matching := k.Delete(&k.State, "foreign", Match{Number: 7})
	for name, c := range map[string]struct {
		err  error
		kind Kind
	}{
		"foreign P_Key":      {put(Wanted{Name: "new", Key: 0x200}), Forbidden},
		"free P_Key":         {put(Wanted{Name: "new", Key: 0x300}), Forbidden},
		"foreign name":       {put(Wanted{Name: "foreign", Members: ports(1)}), Forbidden},
		"move of a foreign":  {put(Wanted{Name: "foreign", Key: 0x102}), Forbidden},
		"P_Key of the file":  {put(Wanted{Name: "new", Key: 0x101}), 0},
		"name of the file":   {put(Wanted{Name: "hidden", Key: 0x102}), 0},
		"foreign edit":       {edit("foreign", Edit{Add: ports(1)}), Forbidden},
		"foreign removal":    {edit("foreign", Edit{Remove: ports(1)}), Forbidden},
		"foreign delete":     {deleting, Forbidden},
		"foreign match":      {matching, Forbidden},
		"foreign GUID":       {edit("mine", Edit{Add: ports(10)}), Forbidden},
		"foreign host":       {edit("mine", Edit{Add: []Member{{Host: "u-1"}}}), Forbidden},
		"put a foreign GUID": {put(Wanted{Name: "mine", Members: ports(1, 77)}), Forbidden},
	} {
		refused, is := c.err.(*Refusal)
		if !is || c.kind != 0 && refused.Kind != c.kind {
			t.Errorf("%s: %v", name, c.err)
		} else if name != "foreign name" && strings.Contains(refused.Text, "foreign") &&
			!strings.HasPrefix(refused.Text, `partition "foreign" is not one that`) {
			t.Errorf("%s shows another partition: %s", name, refused.Text)
		}
	}
	k.User = &rights.User{Name: "r", Role: rights.Reader}
	if err := put(Wanted{Name: "new", Key: 0x100}); err == nil {
		t.Error("a reader puts a partition")
	}
}

// TestTenantFile: what the file has, and is not the tenant's, is not shown.
func TestTenantFile(t *testing.T) {
	k := newKept(t, "secret=0x101: 0x9;")
	k.User = tenant()
	k.User.Scope.Names = []string{"t-*"}
	for _, w := range []Wanted{{Name: "t-1", Key: 0x101}} {
		if _, err := k.Put(&k.State, &w, Match{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("put %+v: %v", w, err)
		}
	}
}

// TestTenantKeeps: members that others added stay, and an undo brings none back that the tenant may not name.
func TestTenantKeeps(t *testing.T) {
	k := newKept(t, "")
	k.put(Wanted{Name: "mine", Key: 0x100, Members: ports(1, 77)})
	k.User = tenant()
	k.put(Wanted{Name: "mine", Members: ports(1, 2, 77)})
	done := k.do(k.Edit(&k.State, "mine", &Edit{Remove: ports(77)}, Match{}))
	if refused, is := undo(k, done.Partition.Number).(*Refusal); !is || refused.Kind != Forbidden {
		t.Errorf("an undo of a tenant brought a foreign GUID back: %v", refused)
	}
	k.User = nil
	k.do(k.Undo(&k.State, done.Partition.Number))
}

func undo(k *kept, number uint64) error {
	_, err := k.Undo(&k.State, number)
	return err
}

// TestDeleteWhenEmpty: a partition goes with its last member, if it was put so.
func TestDeleteWhenEmpty(t *testing.T) {
	k := newKept(t, "")
	k.put(Wanted{Name: "none", DeleteWhenEmpty: true})
	if _, is := k.PartitionNamed("none"); is {
		t.Error("a partition that is deleted when it is empty was made without members")
	}
	remove := func(name string, guids ...mad.GUID) {
		t.Helper()
		k.do(k.Edit(&k.State, name, &Edit{Remove: ports(guids...)}, Match{}))
	}
	k.put(Wanted{Name: "brief", DeleteWhenEmpty: true, Members: ports(1, 2)})
	remove("brief", 2, 3)
	if _, is := k.PartitionNamed("brief"); !is {
		t.Fatal("the partition went before its last member")
	}
	k.do(k.Edit(&k.State, "brief", &Edit{Add: ports(4), Remove: ports(1)}, Match{}))
	last := k.do(k.Edit(&k.State, "brief", &Edit{Remove: ports(4, 4)}, Match{}))
	if _, is := k.PartitionNamed("brief"); is || len(last.Changes) != 2 {
		t.Errorf("the partition stayed without members: %+v", last)
	}
	k.do(k.Undo(&k.State, last.Partition.Number))
	if p, is := k.PartitionNamed("brief"); !is || !p.DeleteWhenEmpty || len(k.members("brief")) != 1 {
		t.Errorf("the undo made %+v", p)
	}
	k.put(Wanted{Name: "brief", DeleteWhenEmpty: true})
	if _, is := k.PartitionNamed("brief"); is {
		t.Error("the partition stayed after a put without members")
	}
	k.put(Wanted{Name: "lasting", Members: ports(1)})
	remove("lasting", 1)
	if _, is := k.PartitionNamed("lasting"); !is {
		t.Error("a partition that stays went with its last member")
	}
}

// TestKeepMembers: other values of a partition leave its members as they are.
func TestKeepMembers(t *testing.T) {
	k := newKept(t, "")
	k.put(Wanted{Name: "red", Members: []Member{{Port: 1, Membership: partitions.Limited, Index0: true}, {Host: "h"}}})
	before := k.members("red")
	p, _ := k.PartitionNamed("red")
	w := WantedOf(&p)
	w.IPoIB, w.MTU, w.SL = true, mad.MTU4096, 3
	done := k.put(*w)
	if after := k.members("red"); len(done.Changes) != 2 || strings.Join(before, " ") != strings.Join(after, " ") {
		t.Errorf("members %q became %q with %d changes", before, after, len(done.Changes))
	}
	if w := *WantedOf(&done.Partition); len(k.put(w).Changes) > 0 {
		t.Error("the same once more is a change")
	}
}
