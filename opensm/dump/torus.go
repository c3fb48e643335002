package dump

import (
	"context"
	"fmt"
	"io"

	"ibsm/opensm/names"
	"ibsm/view"
)

// Torus writes opensm-torus.dump: the coordinates of each switch in the torus that the routing engine
// torus-2QoS has found.
func Torus(_ context.Context, w io.Writer, v *view.View, given names.Map) error {
	for _, p := range v.Tables.Places {
		node := &v.Topo.Nodes[v.Topo.Switches[p.Switch]]
		line := fmt.Appendf(nil, "switch %d,%d,%d GUID 0x%04x (", p.At[0], p.At[1], p.At[2], uint64(node.GUID))
		if _, err := w.Write(append(appendName(line, given, node), ")\n"...)); err != nil {
			return err
		}
	}
	return nil
}
