package daemon

import (
	"maps"
	"time"

	"ibsm/conf"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/partitions/callers"
	"ibsm/routing/qos"
	"ibsm/sa"
)

// callerGroups is what the groups of callers' partitions follow from.
func callerGroups(chosen *partitions.Selected, c *conf.Config, paths *qos.Policy) sa.CallerGroups {
	g := sa.CallerGroups{QoS: conf.QoS.In(c), Defaults: groupDefaults(c), Paths: paths}
	if chosen != nil {
		g.File = chosen.ForTables()
	}
	return g
}

// callerRules are the rules of orders about partitions; nil before the port is open.
func (c *configuration) callerRules() *server.CallerRules {
	now := c.current.Load()
	l, chosen := now.effective()
	if chosen == nil {
		return nil
	}
	first, last, err := l.PKeyRange()
	if err != nil {
		return nil // conf has refused it
	}
	return &server.CallerRules{
		Rules: callers.Rules{File: chosen.ForTables(), Range: [2]mad.PKey{mad.PKey(first), mad.PKey(last)},
			Recent: now.former.since, NoHosts: conf.Security.In(l.Config) == conf.Tenants},
		Mirrored: conf.PartitionsMirror.In(l.Config) == "required",
	}
}

// formerKeys are the P_Keys that the partition file in force had, so that they are not given to callers too soon. It is
// immutable.
type formerKeys struct {
	policy *partitions.Policy // in force now; nil for none
	since  map[mad.PKey]int64 // when P_Keys went that are not in policy, in seconds since 1970
}

// without is what follows when another policy comes into force.
func (f formerKeys) without(policy *partitions.Policy, now time.Time) formerKeys {
	if f.policy == policy {
		return f
	}
	next := formerKeys{policy, maps.Clone(f.since)}
	if f.policy == nil {
		return next
	}
	stay := map[mad.PKey]bool{}
	for _, key := range partitionKeys(policy) {
		stay[key] = true
	}
	for i := range f.policy.Partitions {
		if key := f.policy.Partitions[i].Key; !stay[key] {
			if next.since == nil {
				next.since = map[mad.PKey]int64{}
			}
			next.since[key] = now.Unix()
		}
	}
	maps.DeleteFunc(next.since, func(_ mad.PKey, since int64) bool { return now.Unix()-since >= callers.Reuse })
	return next
}
