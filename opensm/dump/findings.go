package dump

import (
	"context"
	"fmt"
	"io"

	"ibsm/opensm/names"
	"ibsm/topo"
	"ibsm/view"
)

// Roots writes opensm-updn-roots.dump: the node GUIDs of root switches, which root_guid_file may have. It is empty
// where updn has refused the subnet.
func Roots(_ context.Context, w io.Writer, v *view.View, _ names.Map) error {
	if v.Tables.Findings == nil {
		return nil
	}
	for _, s := range v.Tables.Findings.Roots {
		if _, err := fmt.Fprintf(w, "%#x\n", uint64(v.Topo.Nodes[v.Topo.Switches[s]].GUID)); err != nil {
			return err
		}
	}
	return nil
}

// ComputeOrder writes opensm-ftree-ca-order.dump: the LIDs of compute nodes, with their descriptions, in
// the order that ranks of MPI jobs should have, and a dummy for each that a leaf lacks.
func ComputeOrder(ctx context.Context, w io.Writer, v *view.View, given names.Map) error {
	for _, p := range v.Tables.Findings.Computes {
		line := []byte("0xFFFF\tDUMMY")
		if p != topo.None {
			node := &v.Topo.Nodes[v.Topo.Ports[p].Node]
			line = given.AppendPrinted(fmt.Appendf(nil, "0x%04x\t", uint16(v.LIDs.Base[p])), node.GUID, &node.Desc)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return ctx.Err()
}
