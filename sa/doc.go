// Package sa answers requests to subnet administration (IBA 15) from a published
// View. It does no I/O and holds no state: a worker receives a datagram, asks the
// Answerer in force, and sends what comes back. What takes but a moment is Answer's;
// tables, which may take longer and come in many packets, are Table's.
//
// Served are ClassPortInfo, and single or in tables NodeRecord, PortInfoRecord,
// SMInfoRecord, LinkRecord and PathRecord. Anything else that calls for an answer
// gets the status that says so.
package sa
