// Package pma holds the attributes of performance management (IBA 16.1.3): each is its bytes
// on the wire with an accessor for each field, named as the field is in the architecture. A
// packet's room for them is mad.Packet.PerfData.
//
//	pma.SetGet(&p, pma.AttrPortCountersExtended, port)
//	...
//	pc := (*pma.PortCountersExtended)(reply.PerfData()[:])
//	sent := pc.Counter(pma.PortXmitData) * 4 // the unit is 4 bytes
//
// PortCounters and PortCountersExtended count the same things with different widths: a Counter
// names what is counted in both. The attributes that have counters of one width, one for each
// virtual lane, service level or kind of error, are rows of a table (Array).
//
// All counters stay at their largest value when it is reached (IBA 16.1.3.5). A Set writes
// zero to those that its CounterSelect names; no other value can be written.
//
// No accessor panics, whatever the bytes, and none but String and names of counters
// allocates.
package pma
