package portgroups

import (
	"errors"
	"fmt"

	"ibsm/partitions"
	"ibsm/topo"
)

// ForPartitions are the groups as partitions.conf may name them. s may be nil.
func (s *Set) ForPartitions() *partitions.PortGroups {
	return &partitions.PortGroups{
		Check: func(name string, claims bool) error {
			g := s.Find(name)
			switch {
			case g == nil:
				return fmt.Errorf("no port group has this name%s; pgrp_policy_file defines port groups", s.Meant(name))
			case ByPartition([]*Group{g}):
				return errors.New("the port group is defined by partitions, so it cannot be a member of one")
			case !claims && len(ByDescription([]*Group{g})) > 0:
				return errors.New(
					"by security tenants a port group that goes by descriptions of nodes is no member, as a host chooses its own; list port GUIDs")
			}
			return nil
		},
		Members: func(t *topo.Topo, name string) []topo.PortIdx { return NewResolver(t, nil).Members(s.Find(name)) },
	}
}
