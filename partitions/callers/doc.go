// Package callers is about the partitions that programs put, beside those of partitions.conf: what a caller may put,
// what a policy is that has both, and what has become of each member.
//
// The partitions themselves are part of the registry (registry.Partition), which the store keeps and standbys mirror.
// The rules of this package are pure: they make registry Changes of a State and an order, and a policy of a State and
// the policy of the file.
//
// The file wins. A P_Key or a name belongs to one origin: a caller cannot put what the file has, and a partition of
// callers which the file has later is held: it stays stored, and is in force again when the file has it no more.
package callers
