package server

import (
	"reflect"
	"strings"
	"testing"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/registry"
)

// registeredSubnet is a fat tree with a group of one full member by an alias and one sender
// that is not there, a service and a subscription.
func registeredSubnet(t *testing.T) (s *subnet, node *ctl.Node) {
	t.Helper()
	v := newView(t, "fattree:k=4")
	p := v.Topo.EndPorts[0]
	n := &v.Topo.Nodes[v.Topo.Ports[p].Node]
	port, alias := v.Topo.Ports[p].GUID, mad.GUID(0xa11a5)
	gid := func(g mad.GUID) mad.GID { return mad.MakeGID(mad.DefaultPrefix, g) }
	mgid := mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 15: 1}
	service := registry.Service{ServiceKey: registry.ServiceKey{ID: 7, GID: gid(port), PKey: 0x8001}, Lease: 60,
		Expires: 1000}
	copy(service.Name[:], "storage")
	r := registry.New()
	for _, c := range []registry.Change{
		registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: port, Index: 1}, GUID: alias}},
		registry.PutGroup{Group: registry.Group{MGID: mgid, MLID: 0xc001, PKey: 0xffff, QKey: 0xb1b, MTU: mad.MTU2048,
			Rate: 3, SL: 2}},
		registry.PutMember{Member: registry.Member{MGID: mgid, Port: gid(alias), JoinState: 3, Proxy: true}},
		registry.PutMember{Member: registry.Member{MGID: mgid, Port: gid(0xdead), JoinState: 4}},
		registry.PutService{Service: service},
		registry.PutSubscription{Subscription: registry.Subscription{
			SubscriptionKey: registry.SubscriptionKey{Subscriber: gid(port), QPN: 1,
				Filter: registry.Filter{LIDBegin: 3, LIDEnd: 5, Generic: true, Type: registry.AnyType, Trap: 64,
					Producer: 4}},
			Destination: registry.Destination{Addr: mad.Addr{LID: 9, QPN: 1}},
		}},
	} {
		if err := r.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	return newSubnet(v, r.Freeze()), &ctl.Node{GUID: n.GUID.String(), Desc: n.Desc.String()}
}

func TestRegisteredRows(t *testing.T) {
	s, node := registeredSubnet(t)
	const mgid = "ff12:401b:ffff:0000:0000:0000:0000:0001"
	const alias, gone = "fe80:0000:0000:0000:0000:0000:000a:11a5", "fe80:0000:0000:0000:0000:0000:0000:dead"
	same := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	same("groups", rows[ctl.Group](t, s, ctl.Groups, ctl.Filter{}), []ctl.Group{
		{MGID: mgid, MLID: 0xc001, PKey: "0xffff", QKey: "0x00000b1b", MTU: 2048, Rate: 10, SL: 2, Members: 2, Full: 1},
	})
	members := []ctl.Member{
		{MGID: mgid, Port: gone, State: []string{"send-only"}},
		{MGID: mgid, Port: alias, Node: node.GUID, Desc: node.Desc, State: []string{"full", "non-member"}, Proxy: true},
	}
	same("members", rows[ctl.Member](t, s, ctl.Members, ctl.Filter{}), members)
	same("members of the group", rows[ctl.Member](t, s, ctl.Members, ctl.Filter{Group: "ff12:401b:ffff::1"}), members)
	port := mad.MakeGID(mad.DefaultPrefix, s.view.Topo.Ports[s.view.Topo.EndPorts[0]].GUID).String()
	same("services", rows[ctl.Service](t, s, ctl.Services, ctl.Filter{}), []ctl.Service{
		{ID: "0x0000000000000007", GID: port, Node: node.GUID, Desc: node.Desc, PKey: "0x8001", Name: "storage",
			Lease: 60, Ends: 1000},
	})
	same("subscriptions", rows[ctl.Subscription](t, s, ctl.Subscriptions, ctl.Filter{}), []ctl.Subscription{
		{Subscriber: port, Node: node.GUID, Desc: node.Desc, LID: 9, QPN: 1, Trap: "64", Generic: true, Type: "all",
			Producer: "4", Issuers: "LID 3-5"},
	})
	for group, want := range map[string]string{"ff12::9": "no group", "x": "is not an MGID",
		"10.0.0.1": "is not an MGID"} {
		if _, err := s.Rows(ctl.Members, ctl.Filter{Group: group}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("members of %s: %v", group, err)
		}
	}
	nobody := newSubnet(s.view, nil)
	for _, l := range []ctl.List{ctl.Groups, ctl.Members, ctl.Services, ctl.Subscriptions} {
		if got := rows[any](t, nobody, l, ctl.Filter{}); len(got) != 0 {
			t.Errorf("%s where nothing is registered: %v", l, got)
		}
	}
}

// TestReceives: the words for a JoinState say of a member whether it receives.
func TestReceives(t *testing.T) {
	for j := range registry.JoinState(16) {
		if m := (ctl.Member{State: joinStates(j)}); m.Receives() != j.Receives() {
			t.Errorf("JoinState %d, %q: receives %v", j, m.State, m.Receives())
		}
	}
}
