package mad

// PerfDataSize is the size of an attribute of performance management in bytes.
const PerfDataSize = 192

// PerfData is the attribute of a packet of performance management or congestion control (IBA
// 16.1.1), as a view. What is between the common header and it is reserved.
func (p *Packet) PerfData() *[PerfDataSize]byte { return (*[PerfDataSize]byte)(p[64:256]) }
