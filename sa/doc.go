// Package sa answers requests to subnet administration (IBA 15) from a published
// View. It does no I/O and holds no state: a worker receives a datagram, asks the
// Answerer in force, and sends what comes back.
//
// Served are single Gets of ClassPortInfo, NodeRecord, PortInfoRecord,
// SMInfoRecord, LinkRecord and PathRecord. Anything else that calls for an answer
// gets the status that says so.
package sa
