package history

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/registry"
	"ibsm/view"
)

// managers compares the subnet managers, this one first.
func (c *comparer) managers() {
	was, is := managerTexts(c.old.SMs), managerTexts(c.now.SMs)
	for _, sm := range c.old.SMs {
		if to := is[sm.GUID]; to != was[sm.GUID] {
			c.add(Change{Kind: Managers, Name: sm.GUID.String(), From: was[sm.GUID], To: to})
		}
	}
	for _, sm := range c.now.SMs {
		if was[sm.GUID] == "" {
			c.add(Change{Kind: Managers, Name: sm.GUID.String(), To: is[sm.GUID]})
		}
	}
}

func managerTexts(all []view.SM) map[mad.GUID]string {
	texts := make(map[mad.GUID]string, len(all))
	for _, sm := range all {
		texts[sm.GUID] = fmt.Sprintf("%v priority %d LID %d", smp.SMState(sm.State), sm.Priority, sm.LID)
	}
	return texts
}

// settings compares what an operator has a say in.
func (c *comparer) settings() {
	set := func(name, from, to string) {
		if from != to {
			c.add(Change{Kind: Settings, Name: name, From: from, To: to})
		}
	}
	a, b := &c.old.Subnet, &c.now.Subnet
	set("subnet_prefix", a.Prefix.String(), b.Prefix.String())
	set("subnet_timeout", fmt.Sprint(a.SubnetTimeOut), fmt.Sprint(b.SubnetTimeOut))
	if a.SAKey != b.SAKey {
		set("sa_key", "one", "another") // it is a secret
	}
	if !slices.Equal(c.old.PrefixRoutes, c.now.PrefixRoutes) {
		set("prefix_routes_file", fmt.Sprintf("%d routes", len(c.old.PrefixRoutes)),
			fmt.Sprintf("%d other routes", len(c.now.PrefixRoutes)))
	}
	x, y := c.old.Partitions, c.now.Partitions
	if x == nil || y == nil || x == y {
		return
	}
	if x.Policy != y.Policy {
		from, to := "no partitions", "no partitions"
		if x.Policy != nil {
			from = fmt.Sprintf("%d partitions", len(x.Policy.Partitions))
		}
		if y.Policy != nil {
			to = fmt.Sprintf("%d partitions, read again", len(y.Policy.Partitions))
		}
		set("partition_config_file", from, to)
	}
	set("partition_enforce", fmt.Sprint(x.Settings.Enforce), fmt.Sprint(y.Settings.Enforce))
}

// groups compares the multicast groups, which come in order of MGID.
func (c *comparer) groups(old, now *registry.State) {
	if old == now || old == nil || now == nil {
		return
	}
	text := func(s *registry.State, mgid mad.GID) string { return fmt.Sprintf("%d members", s.CountMembers(mgid)) }
	nextOld, stopOld := iter.Pull(old.Groups())
	defer stopOld()
	nextNow, stopNow := iter.Pull(now.Groups())
	defer stopNow()
	a, haveA := nextOld()
	b, haveB := nextNow()
	for haveA || haveB {
		order := bytes.Compare(a.MGID[:], b.MGID[:])
		switch {
		case !haveB || haveA && order < 0:
			c.add(Change{Kind: Groups, Name: a.MGID.String(), From: text(old, a.MGID)})
			a, haveA = nextOld()
		case !haveA || order > 0:
			c.add(Change{Kind: Groups, Name: b.MGID.String(), To: text(now, b.MGID)})
			b, haveB = nextNow()
		default:
			if from, to := old.CountMembers(a.MGID), now.CountMembers(a.MGID); from != to {
				c.add(Change{Kind: Groups, Name: a.MGID.String(), From: text(old, a.MGID), To: text(now, a.MGID)})
			}
			a, haveA = nextOld()
			b, haveB = nextNow()
		}
	}
}
