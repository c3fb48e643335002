package rights_test

import (
	"context"
	"testing"

	"ibsm/mad"
	"ibsm/rights"
)

func TestRoles(t *testing.T) {
	for _, c := range []struct {
		role rights.Role
		may  string // a letter for each Right: x for yes
	}{{0, "x....."}, {rights.Reader, "xx.x.."}, {rights.Tenant, "xxx..."}, {rights.Operator, "xxxxx."},
		{rights.Admin, "xxxxxx"}, {9, "x....."}} {
		u := &rights.User{Role: c.role}
		for right, want := range c.may {
			if got := u.May(rights.Right(right)); got != (want == 'x') {
				t.Errorf("role %v, right %v: %t", c.role, rights.Right(right), got)
			}
		}
	}
	for _, role := range rights.Roles() {
		if got, err := rights.ParseRole(role.String()); got != role || err != nil {
			t.Errorf("role %v is parsed as %v, %v", role, got, err)
		}
	}
	for _, name := range []string{"", "root", "none"} {
		if role, err := rights.ParseRole(name); err == nil {
			t.Errorf("%q is role %v", name, role)
		}
	}
}

func TestContext(t *testing.T) {
	if u := rights.Of(context.Background()); u.May(rights.ReadOwn) || u.Partition("a", 1) && u.May(rights.ChangeOwn) {
		t.Errorf("a request without a user has rights: %+v", u)
	}
	u := &rights.User{Name: "nico", Role: rights.Admin}
	if got := rights.Of(rights.With(context.Background(), u)); got != u {
		t.Errorf("got user %+v", got)
	}
}

func TestScope(t *testing.T) {
	keys, err := rights.ParseKeys("0x100-0x1ff")
	guids, err2 := rights.ParseGUIDs("0x0200000000000000-0x02ffffffffffffff")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	byName := rights.Scope{Names: []string{"t7-*", "exact"}}
	byKey := rights.Scope{Keys: rights.Ranges[mad.PKey]{keys}}
	both := rights.Scope{Names: byName.Names, Keys: byKey.Keys}
	for _, c := range []struct {
		scope rights.Scope
		name  string
		key   mad.PKey
		want  bool
	}{
		{rights.Scope{}, "t7-a", 0x100, false}, {rights.Scope{}, "", 0, false},
		{byName, "t7-a", 0x7000, true}, {byName, "t7-", 0, true}, {byName, "exact", 0x1, true},
		{byName, "exactly", 0x1, false}, {byName, "at7-a", 0x1, false}, {byName, "", 0x1, false},
		{byKey, "any", 0x100, true}, {byKey, "any", 0x1ff, true}, {byKey, "any", 0x81ff, true},
		{byKey, "any", 0xff, false}, {byKey, "any", 0x200, false}, {byKey, "any", 0, true},
		{both, "t7-a", 0x100, true}, {both, "t8-a", 0x100, false}, {both, "t7-a", 0x200, false}, {both, "t7-a", 0, true},
	} {
		u := &rights.User{Role: rights.Tenant, Scope: c.scope}
		if got := u.Partition(c.name, c.key); got != c.want {
			t.Errorf("scope %v: partition %q %v: %t", c.scope, c.name, c.key, got)
		}
		u.Role = rights.Operator
		if !u.Partition(c.name, c.key) {
			t.Errorf("partition %q %v is not an operator's", c.name, c.key)
		}
	}
	u := &rights.User{Role: rights.Tenant,
		Scope: rights.Scope{Hosts: []string{"gpu-*-b"}, GUIDs: rights.Ranges[mad.GUID]{guids}}}
	for _, c := range []struct {
		port mad.GUID
		host string
		want bool
	}{{0x0200000000000001, "", true}, {0x0300000000000000, "", false}, {0, "gpu-1-b", true}, {0, "gpu-1-c", false},
		{0, "gpu--b", true}, {0, "gpu-b", false}, {0, "", false}} {
		if got := u.Member(c.port, c.host); got != c.want {
			t.Errorf("member %v %q: %t", c.port, c.host, got)
		}
	}
	if (&rights.User{Role: rights.Tenant, Scope: byKey}).Member(1, "") {
		t.Error("a tenant without GUIDs may name one")
	}
}

func TestParseRanges(t *testing.T) {
	for _, text := range []string{"", "0", "0x0", "0x7fff", "0x8001", "5-4", "1-", "-1", "1-2-3", "a"} {
		if of, err := rights.ParseKeys(text); err == nil {
			t.Errorf("P_Keys %q are %v", text, of)
		}
	}
	for _, text := range []string{"", "0x0", "x", "0x2-0x1", "0x1-"} {
		if of, err := rights.ParseGUIDs(text); err == nil {
			t.Errorf("GUIDs %q are %v", text, of)
		}
	}
	for _, pattern := range []string{"", "a b", "a\n", "a\x00", "ä", string(make([]byte, 65))} {
		if rights.CheckPattern(pattern) == nil {
			t.Errorf("%q is a pattern", pattern)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("a*b*c", "aXbYc")
	f.Add("*", "")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		u := &rights.User{Role: rights.Tenant, Scope: rights.Scope{Names: []string{pattern}}}
		if got, want := u.Partition(name, 1), slow(pattern, name); got != want && len(pattern)+len(name) < 40 {
			t.Errorf("%q matches %q: %t, want %t", name, pattern, got, want)
		}
	})
}

// slow is what a pattern means, without regard to time.
func slow(pattern, name string) bool {
	switch {
	case len(pattern)+len(name) >= 40:
		return false
	case pattern == "":
		return name == ""
	case pattern[0] == '*':
		return slow(pattern[1:], name) || name != "" && slow(pattern, name[1:])
	}
	return name != "" && name[0] == pattern[0] && slow(pattern[1:], name[1:])
}
