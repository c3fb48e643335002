package mad

// Addr is where a MAD comes from or goes to.
type Addr struct {
	LID       LID    // PermissiveLID for a directed-route SMP
	QPN       uint32 // remote queue pair: 0 for SMPs, 1 for general services
	SL        uint8
	PathBits  uint8
	PKeyIndex uint16
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
