// Package registry is what clients have registered with the SA and what no sweep could
// find out again: multicast groups and their members, services, event subscriptions,
// alias GUIDs, which ports demand a GRH, who is or was behind a port, and the partitions
// that callers have put.
//
// A Registry changes by Changes alone, one number each: whoever has applied the same
// Changes holds the same registry. The store keeps them on disk, a standby mirrors
// them, and reports are made of them. Freeze gives a State, an immutable picture that
// costs next to nothing to take and answers queries while the Registry goes on.
//
// The package decides nothing about who may register what; that is the SA's. It holds
// the rules that all registrations keep among themselves: a member belongs to a group,
// groups share an MLID only when their packets may take one tree, a GUID is an alias
// once.
package registry
