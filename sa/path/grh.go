package path

import (
	"maps"
	"sync"
	"sync/atomic"

	"ibsm/mad"
)

// GRHPorts are the ports whose adapters demand a GRH of every packet, such as functions that share a
// LID. No attribute of subnet management says so, but Linux puts a GRH on requests to the SA at
// such ports and nowhere else. Paths from and to them have a HopLimit with which hosts
// send a GRH. It only grows, by one GUID for each port, and is safe for concurrent use; nil holds none.
type GRHPorts struct {
	mu    sync.Mutex // of Add
	ports atomic.Pointer[map[mad.GUID]bool]
}

// Add notes that a port demands a GRH.
func (g *GRHPorts) Add(port mad.GUID) {
	if g.has(port) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	ports := map[mad.GUID]bool{port: true}
	if before := g.ports.Load(); before != nil {
		maps.Copy(ports, *before)
	}
	g.ports.Store(&ports)
}

func (g *GRHPorts) has(port mad.GUID) bool {
	if g == nil {
		return false
	}
	ports := g.ports.Load()
	return ports != nil && (*ports)[port]
}

// grhHopLimit is the HopLimit of a path within the subnet whose packets have a GRH. Linux sends one where
// it is above 0, and older kernels and librdmacm where it is above 1; NVIDIA's virt_default_hop_limit
// is 2, too.
const grhHopLimit = 2

// WithGRHPorts is the Finder of the same View that knows of ports which demand a GRH, also those
// that are added later. It shares everything with the other.
func (f *Finder) WithGRHPorts(ports *GRHPorts) *Finder {
	g := *f
	g.grh = ports
	return &g
}
