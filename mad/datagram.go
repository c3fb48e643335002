package mad

// Addr is where a MAD comes from or goes to.
type Addr struct {
	LID       LID    // PermissiveLID for a directed-route SMP
	QPN       uint32 // remote queue pair: 0 for SMPs, 1 for general services
	SL        uint8
	PathBits  uint8
	PKeyIndex uint16
	GRH       GRH
}

// GRH is what a reply takes over of a packet's Global Route Header (IBA 8.3). A reply to a
// request with a GRH has one (IBA 13.5.4). Packets of QP0 have none.
type GRH struct {
	GID          GID    // remote: SGID of a packet received, DGID of one to send
	FlowLabel    uint32 // 20 bits
	TrafficClass uint8
	HopLimit     uint8
	GIDIndex     uint8 // local, in the port's GID table
	Present      bool  // there is a GRH; else the other fields are void
}

// RemoteGID is the GID of the GRH, 0 without one.
func (a *Addr) RemoteGID() GID {
	if !a.GRH.Present {
		return GID{}
	}
	return a.GRH.GID
}

// Datagram is one MAD with its address, as a Port sends and receives it. It
// holds its bytes by value: nothing refers to a buffer of the port.
type Datagram struct {
	Addr
	// TimedOut says the port gave the request up: Packet is the request, of
	// which only the common header may be valid.
	TimedOut bool
	Packet   Packet
}

// QP is the queue pair that a datagram belongs to on our side.
func (d *Datagram) QP() int {
	if d.Packet.MgmtClass().IsSubnet() {
		return 0
	}
	return 1
}
