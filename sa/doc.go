// Package sa answers requests to subnet administration (IBA 15) and does no I/O.
//
// The Responder reads: from a published View, and holds no state. A worker receives a
// datagram, asks the Responder in force, and sends what comes back. What takes but a
// moment is Answer's; tables, which may take longer and come in many packets, are
// Table's. Served are ClassPortInfo, single or in tables the records of nodes, ports,
// links, switches, their tables, managers, paths, groups, services, subscriptions and
// GUIDs, and MultiPathRecord. A requester sees what its P_Keys let it see. Anything else
// that calls for an answer gets the status that says so.
//
// The Registrar writes: Set and Delete of MCMemberRecord, ServiceRecord, InformInfo and
// GUIDInfoRecord change what is registered, and subscribers are sent Reports of what
// happens. There is one, which has one owner.
package sa
