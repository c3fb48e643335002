package dump

import (
	"context"
	"io"

	"ibsm/mad"
	"ibsm/opensm/names"
	"ibsm/routing/mcast"
	"ibsm/view"
)

// MulticastFDBs writes opensm.mcfdbs: the multicast forwarding tables, without switches
// that forward nothing. ibdmchk reads it.
func MulticastFDBs(ctx context.Context, w io.Writer, v *view.View, _ names.Map) error {
	type entry struct {
		mlid  mad.LID
		ports mcast.PortMask
	}
	entries := make([][]entry, len(v.Topo.Switches)) // by switch
	for tree := range v.MFTs.Trees() {
		for _, b := range tree.Branches {
			entries[b.Switch] = append(entries[b.Switch], entry{tree.MLID, b.Ports})
		}
	}
	var b []byte
	for s, n := range v.Topo.Switches {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(entries[s]) == 0 {
			continue
		}
		b = appendGUID(append(b[:0], "\nSwitch "...), v.Topo.Nodes[n].GUID)
		b = append(b, "\nLID    : Out Port(s)\n"...)
		for _, e := range entries[s] {
			b = append(appendHex(append(b, "0x"...), uint64(e.mlid), 4, upperDigits), " :"...)
			for port := range e.ports.Ports() {
				b = append(appendHex(append(b, " 0x"...), uint64(port), 3, upperDigits), ' ')
			}
			b = append(b, '\n')
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
