package hyperx

import (
	"cmp"
	"fmt"

	"ibsm/routing"
	"ibsm/routing/shape"
	"ibsm/routing/spread"
	"ibsm/topo"
)

// network is the switches of the subnet in their places.
type network struct {
	routing.In
	at      [][]int32        // by switch: coordinates; nil without a place
	dims    []int            // switches in each dimension
	stride  []int            // by dimension: from a place to the next
	index   []int            // by switch: its place
	places  []topo.SwitchIdx // None where the switch is missing
	bundles [][]spread.Bundle
	height  []int32 // by switch: its place in an order without equals
}

// newNetwork refuses places that switches cannot have. Switches without coordinates have no place.
func newNetwork(in routing.In, h *shape.HyperX) (*network, error) {
	count := len(in.Topo.Switches)
	if len(h.At) != count {
		return nil, fmt.Errorf("the HyperX has %d switches, but the subnet has %d", len(h.At), count)
	}
	n := &network{In: in, at: h.At, dims: h.Dims, index: make([]int, count),
		bundles: spread.Bundles(routing.NewGraph(in.Topo))}
	size := 1
	for _, d := range h.Dims {
		n.stride = append(n.stride, size)
		if size *= d; d < 1 || size > maxPlaces {
			return nil, fmt.Errorf("a HyperX of %v: expected 1 to %d places", h.Dims, maxPlaces)
		}
	}
	n.places = make([]topo.SwitchIdx, size)
	for i := range n.places {
		n.places[i] = topo.None
	}
	for s, at := range h.At {
		if len(at) == 0 {
			continue
		}
		if err := n.put(topo.SwitchIdx(s), at); err != nil {
			return nil, err
		}
	}
	n.height = routing.Ranks(count, func(a, b topo.SwitchIdx) int {
		return cmp.Compare(len(n.bundles[a]), len(n.bundles[b]))
	})
	return n, nil
}

// maxPlaces is more than there can be switches.
const maxPlaces = 1 << 20

// put gives a switch its place.
func (n *network) put(s topo.SwitchIdx, at []int32) error {
	name := n.Topo.Nodes[n.Topo.Switches[s]].Desc.String()
	if len(at) != len(n.dims) {
		return fmt.Errorf("switch %q has %d coordinates in a HyperX of %d dimensions", name, len(at), len(n.dims))
	}
	for d, c := range at {
		if c < 0 || int(c) >= n.dims[d] {
			return fmt.Errorf("switch %q has the coordinates %v in a HyperX of %v places", name, at, n.dims)
		}
		n.index[s] += int(c) * n.stride[d]
	}
	if n.places[n.index[s]] != topo.None {
		return fmt.Errorf("switch %q has the coordinates %v of another switch", name, at)
	}
	n.places[n.index[s]] = s
	return nil
}

// moved is the switch at the place to which a switch comes by a change of one coordinate, None if it is missing.
func (n *network) moved(s topo.SwitchIdx, dim int, to int32) topo.SwitchIdx {
	return n.places[n.index[s]+int(to-n.at[s][dim])*n.stride[dim]]
}

// cables are those from a switch to another; nil for none.
func (n *network) cables(s, to topo.SwitchIdx) []spread.Way {
	if b := spread.Find(n.bundles[s], to); b != nil {
		return b.Ways
	}
	return nil
}
