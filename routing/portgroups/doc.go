// Package portgroups is groups of ports that have a name: the port-groups of qos-policy.conf, and those of NVIDIA's
// pgrp_policy_file. A group lists ports by GUID, by the description of their node, by partition, by type of node, or
// by other groups.
//
// Read reads one group; Parse a pgrp_policy_file. Link looks up the groups that groups name, and refuses those that
// contain themselves. A Resolver finds the members of groups in a subnet.
package portgroups
