// Package mirror copies the registrations of clients from the master to its standbys, so that
// any of them can take over. Source is the master's end. Follower is the end of a standby
// whose master is ibsm, and Reader that of a standby of another master. All are pure values.
//
// A standby asks once a second for the Changes after the last one that it has, and the master
// answers at once. For as long as the standby asks, the master also sends new Changes
// unasked, in batches at least 10 ms apart. An answer goes by RMPP, is acknowledged, and is
// repeated every 10 ms until then: so a standby lags by some milliseconds, and by 100 only
// when many packets in a row are lost. In a quiet subnet this takes three packets a second:
// question, answer, and acknowledgement.
//
// The answer also carries the master's policy when the standby does not have it. To this
// package the policy is opaque.
//
// Changes are numbered within a mastership Term. A standby with the Changes of another term,
// or one that needs older Changes than the master remembers, gets everything.
//
// The packets are of a vendor's management class. Each has an authentication code with a key derived from the whole
// secret of keys_file, the SM_Key and the M_Key; without a keys_file, from the last two. Questions and answers are
// sealed as whole messages, under keys of a session that the standby opens (session.go, opening.go), and numbered: one
// that is not newer than the last, or of another session, is dropped, and so is a packet from a port at which no walk
// has found a manager. Managers of two versions of the protocol do not mirror, nor do managers whose keys everybody
// knows unless Config.DefaultKeys is set.
//
// From a master that is not ibsm, such as OpenSM, a Reader gets the tables of its SA, as a
// trusted client. It has the registrations from before its last Reading began, if that was not
// in Incomplete.
package mirror
