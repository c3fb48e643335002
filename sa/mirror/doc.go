// Package mirror carries what clients have registered from the master to the subnet
// managers that stand by, so that any of them can go on with it. Source is the master's
// end and Follower the other, and Reader is the other where the master is of another kind;
// they are pure values.
//
// A standby asks once a second for what changed since the Change that it has last, and
// the master answers at once. From then on, for as long as it is asked, the master also
// sends what changes without being asked, in batches that are 10 ms apart at least. An
// answer goes by RMPP, is acknowledged, and is sent again every 10 ms while it is not:
// so a standby is some milliseconds behind, and 100 only where many packets in a row are
// lost. In a quiet subnet these are three packets a second: question, answer, and
// acknowledgement.
//
// With them goes the policy by which the master rules, when the standby does not have it:
// what that is, is not this package's.
//
// Changes are numbered within a Reign, the time of one manager as master. A standby that
// has those of another reign, or has fallen behind farther than the master remembers,
// is sent everything.
//
// The packets are of a vendor's management class. Each shows the subnet's SM_Key and
// M_Key, and what does not show those of our own configuration is not listened to.
//
// Of a master of another kind, as OpenSM, a Reader asks the SA for tables, as any client
// that it trusts. It has what was registered when its last Reading began, if that was not
// in Doubt.
package mirror
