// Package ufm answers calls of UFM's REST API that programs for its partitions send: a thin view of a
// ctl.PartitionSource and a ctl.Source. Docs/ufm.md lists the calls, and says where they differ from UFM's.
//
// A partition that POST resources/pkeys makes is one of callers that goes with its last member; one that
// resources/pkeys/add makes stays. The default partition is the partition file's: it is listed without members, and
// does not change.
package ufm
