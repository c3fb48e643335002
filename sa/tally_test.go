package sa

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"testing"

	"ibsm/mad"
	"ibsm/registry"
)

// TestTally makes random changes: what is counted change by change is what there is.
func TestTally(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	reg := registry.New()
	counted := newTally(reg.Freeze())
	mgid := func() mad.GID { return mad.GID{0: 0xff, 1: 0x12, 15: byte(rng.IntN(4))} }
	port := func() mad.GID { return mad.MakeGID(mad.DefaultPrefix, mad.GUID(1+rng.IntN(4))) }
	sub := func() registry.SubscriptionKey {
		return registry.SubscriptionKey{Subscriber: port(), QPN: uint32(1 + rng.IntN(2))}
	}
	service := func() registry.ServiceKey { return registry.ServiceKey{ID: uint64(rng.IntN(3)), GID: port()} }
	for i := range 4000 {
		var c registry.Change
		switch rng.IntN(12) {
		case 0, 1, 2:
			g := mgid()
			c = registry.PutGroup{
				Group: registry.Group{MGID: g, MLID: mad.MinMulticastLID + mad.LID(g[15]), PKey: mad.DefaultPKey,
					MTU: mad.MTU2048},
			}
		case 3:
			c = registry.DeleteGroup{MGID: mgid()}
		case 4, 5, 6:
			c = registry.PutMember{
				Member: registry.Member{MGID: mgid(), Port: port(), JoinState: registry.FullMember,
					Proxy: rng.IntN(2) == 0},
			}
		case 7:
			c = registry.DeleteMember{MGID: mgid(), Port: port()}
		case 8:
			c = registry.PutService{Service: registry.Service{ServiceKey: service(), Lease: registry.InfiniteLease}}
		case 9:
			c = registry.DeleteService{ServiceKey: service()}
		case 10:
			k := sub()
			c = registry.PutSubscription{
				Subscription: registry.Subscription{
					SubscriptionKey: k, Destination: registry.Destination{Addr: mad.Addr{LID: 5, QPN: k.QPN}},
				},
			}
		case 11:
			c = registry.DeleteSubscription{SubscriptionKey: sub()}
		}
		before := reg.Freeze()
		if reg.Apply(c) != nil {
			continue // such as a member of no group
		}
		counted.count(before, c)
		fresh := newTally(reg.Freeze())
		for _, x := range []struct {
			what      string
			got, want map[mad.GID]int
		}{
			{"members", counted.members, fresh.members}, {"members of their own", counted.own, fresh.own},
			{"services", counted.services, fresh.services},
			{"subscriptions", counted.subscriptions, fresh.subscriptions},
		} {
			if !maps.Equal(x.got, x.want) {
				t.Fatalf("seed %d, change %d %T: %s %v, want %v", seed, i, c, x.what, x.got, x.want)
			}
		}
	}
	if len(counted.members) == 0 || len(counted.services) == 0 || len(counted.subscriptions) == 0 {
		t.Errorf("nothing was counted: %+v", counted)
	}
}

// TestSoleMembers: the only port that has joined a group itself is taken for its creator, by its alias GUIDs, too, one
// group for each MLID; what it entered for others, or others for it, does not count.
func TestSoleMembers(t *testing.T) {
	const alias = mad.GUID(0x77)
	type member struct {
		group byte
		port  mad.GUID
		proxy bool
	}
	for _, c := range []struct {
		name    string
		members []member
		mlids   map[byte]mad.LID // of groups that have others than their number
		known   byte             // the group whose creator is known to be h1; 0 for none
		want    map[mad.GUID]int
	}{
		{"one", []member{{1, h3, false}}, nil, 0, map[mad.GUID]int{h3: 1}},
		{"two", []member{{1, h3, false}, {1, h2, false}}, nil, 0, map[mad.GUID]int{}},
		{"one, and one that it entered", []member{{1, h3, false}, {1, h2, true}}, nil, 0, map[mad.GUID]int{h3: 1}},
		{"one that was entered", []member{{1, h2, true}}, nil, 0, map[mad.GUID]int{}},
		{"its alias", []member{{1, alias, false}}, nil, 0, map[mad.GUID]int{h3: 1}},
		{"itself and its alias", []member{{1, alias, false}, {1, h3, false}}, nil, 0, map[mad.GUID]int{h3: 1}},
		{"two groups", []member{{1, h3, false}, {2, h3, false}}, nil, 0, map[mad.GUID]int{h3: 2}},
		{"two groups on an MLID", []member{{1, h3, false}, {2, h3, false}}, map[byte]mad.LID{2: 1}, 0,
			map[mad.GUID]int{h3: 1}},
		{"two groups on an MLID, the creator of one is known", []member{{1, h3, false}, {2, h3, false}},
			map[byte]mad.LID{2: 1}, 2, map[mad.GUID]int{h1: 1}},
	} {
		reg := registry.New()
		put := func(c registry.Change) {
			if err := reg.Apply(c); err != nil {
				t.Fatal(err)
			}
		}
		put(registry.PutAlias{Alias: registry.Alias{Slot: registry.Slot{Port: h3, Index: 1}, GUID: alias}})
		mgid := func(group byte) mad.GID { return mad.GID{0: 0xff, 1: 0x12, 15: group} }
		for _, m := range c.members {
			mlid := mad.MinMulticastLID + cmp.Or(c.mlids[m.group], mad.LID(m.group))
			put(registry.PutGroup{
				Group: registry.Group{MGID: mgid(m.group), MLID: mlid, PKey: mad.DefaultPKey, MTU: mad.MTU2048},
			})
			put(registry.PutMember{
				Member: registry.Member{MGID: mgid(m.group), Port: mad.MakeGID(mad.DefaultPrefix, m.port),
					JoinState: registry.FullMember, Proxy: m.proxy},
			})
		}
		counted := newTally(reg.Freeze())
		if c.known != 0 {
			counted.creators.add(mgid(c.known), h1)
		}
		if counted.creditSoleMembers(reg.Freeze()); !maps.Equal(counted.creators.count, c.want) {
			t.Errorf("%s: %v, want %v", c.name, counted.creators.count, c.want)
		}
	}
}
