// Package rmpp carries messages that are longer than one packet (IBA 13.6): it cuts
// a table of records into segments and puts segments together, both under a window
// that the receiver opens. Machine is a pure value: packets and the time are passed
// in, packets and what came of transfers are taken out.
//
// The packets are those of subnet administration, whose header of 56 bytes each segment repeats, or of a class that is
// laid out alike. Where the architecture leaves a choice, the machine does as Linux does, because that is what is at
// the other end.
package rmpp
