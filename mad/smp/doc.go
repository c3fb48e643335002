// Package smp holds the subnet-management attributes (IBA 14.2.5 and the vendor
// attributes a manager must know): each is the 64 bytes of the wire with an
// accessor for each field, named as the field is in the architecture.
//
//	var pi smp.PortInfo = *pkt.Data()   // a view costs a copy of 64 bytes
//	pi.SetPortState(smp.PortArmed)      // all other bits stay as they were read
//
// No accessor panics, whatever the bytes, and none but String allocates. A setter cuts a value to
// the width of its field. An index into a table may be one into the port's whole
// table: it counts modulo the size of the block.
//
// Arrays rather than structs, because a Set that changes one field must give back
// every other bit as it was read, reserved and unknown ones too, and because a
// comparison of what a port holds with what it should hold is one ==.
package smp
