package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/routing/portgroups"
)

// TestPortGroups: groups are listed with their place, their members, of which long lists are cut unless a group is
// asked for by name, and the rules that no port matches.
func TestPortGroups(t *testing.T) {
	v := newView(t, "fattree:k=8")
	s := newSubnet(v, nil)
	if got := rows[ctl.PortGroup](t, s, ctl.PortGroups, ctl.Filter{}); len(got) != 0 {
		t.Errorf("without files: %+v", got)
	}
	groups, errors1, _ := portgroups.Parse("groups",
		[]byte("port-group\nname: spines\nuse: roots\nport-regexp: ^spine-0[12]\nport-regexp: ^core\nend-port-group\nport-group\nname: hosts\nunion-rule: ALL_CAS\nend-port-group\n"))
	if errors1 != nil {
		t.Fatal(errors1)
	}
	v.PortGroups = portgroups.NewSet(groups)
	s = newSubnet(v, nil)
	got := rows[ctl.PortGroup](t, s, ctl.PortGroups, ctl.Filter{})
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	spines := got[0]
	if spines.Name != "spines" || spines.Use != "roots" || spines.Position != "groups:1:1" || spines.Ports != 2 ||
		spines.More != 0 || spines.Lists != "description ^spine-0[12], description ^core" {
		t.Errorf("%+v", spines)
	}
	for i, m := range spines.Members {
		n := v.Topo.FindNode(mustGUID(t, m.Node))
		if m.Desc != fmt.Sprintf("spine-%02d", i+1) || m.Port != 0 || m.Type != "switch" ||
			m.GUID != v.Topo.Ports[v.Topo.Nodes[n].First].GUID.String() {
			t.Errorf("%+v", m)
		}
	}
	if want := []ctl.UnmatchedRule{{Position: "groups:5:1", Rule: "description ^core"}}; !slices.Equal(spines.Unmatched,
		want) {
		t.Errorf("%+v", spines.Unmatched)
	}
	hosts := 8 * 8 * 8 / 4
	if g := got[1]; g.Ports != hosts || len(g.Members) != 64 || g.More != hosts-64 {
		t.Errorf("%d ports, %d members, %d more", g.Ports, len(g.Members), g.More)
	}
	for _, name := range []string{"Hosts", "all_cas"} {
		one := rows[ctl.PortGroup](t, s, ctl.PortGroups, ctl.Filter{Group: name})
		if len(one) != 1 || len(one[0].Members) != hosts || one[0].More != 0 ||
			(one[0].Position == "") != (name == "all_cas") {
			t.Errorf("%s: %+v", name, one)
		}
	}
	if _, err := s.Rows(ctl.PortGroups, ctl.Filter{Group: "spine"}); !errors.Is(err, ctl.ErrNotFound) ||
		!strings.Contains(err.Error(), `no port group has the name "spine"; did you mean spines?`) {
		t.Errorf("a name of none: %v", err)
	}
}
