package view

// VPorts says how complete Topo.VPorts is.
type VPorts struct {
	// Ignored says that vPorts are not brought up (virt_enabled 0 or 1).
	Ignored bool
	// Unread says that some ports have not been read in this term: a GUID or a LID that is not known may be that of a
	// vPort.
	Unread bool
	// HopLimit is that of paths with a vPort at an end (virt_default_hop_limit); 0 for the one of other paths whose
	// packets have a GRH.
	HopLimit uint8
	// Records says that records of nodes and ports show vPorts with a LID of their own (enable_virt_rec_ext).
	Records bool
}
