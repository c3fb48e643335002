package path

import (
	"slices"

	"ibsm/registry"
	"ibsm/topo"
)

// GRHHopLimit is the HopLimit of a path within the subnet whose packets have a GRH. Linux sends one where
// it is above 0, and older kernels and librdmacm where it is above 1; NVIDIA's virt_default_hop_limit
// is 2, too.
const GRHHopLimit = 2

// portSet is a set of ports, a bit each; nil is empty.
type portSet []uint64

func (s portSet) has(p topo.PortIdx) bool {
	i := uint(p) / 64
	return i < uint(len(s)) && s[i]>>(uint(p)%64)&1 != 0
}

// DemandsGRH reports whether a port is registered as one that demands a GRH of every packet. Paths from and
// to it have a HopLimit with which hosts send a GRH.
func (f *Finder) DemandsGRH(p topo.PortIdx) bool { return f.grh.has(p) }

// WithGRHPort is the Finder for which a port demands a GRH, too, whatever is registered. It shares
// everything else with the other.
func (f *Finder) WithGRHPort(p topo.PortIdx) *Finder {
	g := *f
	g.grh = slices.Clone(f.grh)
	g.flip(p)
	return &g
}

// registerGRHPorts takes over what differs in a State from the one before. A set that another Finder
// may have is copied.
func (f *Finder) registerGRHPorts(now, before *registry.State) {
	owned := false
	for port := range now.TouchedGRHPorts(before) {
		p := f.view.Topo.FindEnd(port)
		if p == topo.None || now.DemandsGRH(port) == f.grh.has(p) {
			continue
		}
		if !owned {
			f.grh, owned = slices.Clone(f.grh), true
		}
		f.flip(p)
	}
}

// flip adds or removes a port.
func (f *Finder) flip(p topo.PortIdx) {
	if f.grh == nil {
		f.grh = make(portSet, (len(f.ends)+63)/64)
	}
	f.grh[p/64] ^= 1 << (p % 64)
}
