// Package file is the routing engine file: routes come from a file in the format of OpenSM's
// opensm-lfts.dump, or the lengths of ways from one in that of opensm-lid-matrix.dump. It reads
// both formats. The tables are OpenSM's, for the same files.
//
// Nothing that a file says is known to arrive anywhere: the proof of the tables shows that.
package file

import (
	"bytes"
	"context"
	"fmt"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/routing"
	"ibsm/topo"
)

// Route is a routing.Engine: the routes of lfts_file, in which ports may have had other LIDs than they
// have now. They stay as they are, whatever In.Keep says. It refuses a file that gives a switch of
// the subnet a port that the switch does not have.
func (f *LFTs) Route(ctx context.Context, in routing.In) (*routing.Tables, error) {
	size := routing.RowLen(in.LIDs.Top)
	tables := &routing.Tables{LFT: make([][]uint8, len(in.Topo.Switches)), Top: in.LIDs.Top}
	moved := f.moved(in)
	for i := range f.Switches {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		from := &f.Switches[i]
		n := in.Topo.FindNode(from.GUID)
		if n == topo.None || in.Topo.Nodes[n].Switch == topo.None {
			continue
		}
		row := bytes.Repeat([]byte{routing.NoPath}, size)
		for was, port := range from.Port {
			if port == routing.NoPath {
				continue
			}
			if port > in.Topo.Nodes[n].NumPorts {
				return nil, fmt.Errorf("%v: switch %v %q has no port %d, by which LID %d leaves it", from.At, from.GUID,
					in.Topo.Nodes[n].Desc.String(), port, was)
			}
			if lid := moved[was]; lid != 0 && int(lid) < size {
				row[lid] = port
			}
		}
		tables.LFT[in.Topo.Nodes[n].Switch] = row
	}
	var err error
	given := func(s topo.SwitchIdx) bool { return tables.LFT[s] != nil }
	if tables.Notes, err = whole(in, given, f.Owner, f.end); err != nil {
		return nil, err
	}
	for s, row := range tables.LFT {
		if row == nil {
			tables.LFT[s] = bytes.Repeat([]byte{routing.NoPath}, size)
		}
	}
	return tables, nil
}

// whole returns an error if a file is about another subnet, or leads to a switch of this one but has nothing of what
// leads from there, and a note about switches that it does not know at all. given are the switches that it has; owner
// are the ports that it names; end is the last line.
func whole(in routing.In, given func(topo.SwitchIdx) bool, owner map[mad.LID]mad.GUID,
	end diag.Position) (notes []string, err error) {
	named := make([]bool, len(in.Topo.Switches))
	for _, guid := range owner {
		if p := in.Topo.FindPort(guid); p != topo.None && in.Topo.Nodes[in.Topo.Ports[p].Node].Switch != topo.None {
			named[in.Topo.Nodes[in.Topo.Ports[p].Node].Switch] = true
		}
	}
	missing, first := 0, ""
	for s, n := range in.Topo.Switches {
		node := &in.Topo.Nodes[n]
		switch {
		case given(topo.SwitchIdx(s)):
		case named[s]:
			return nil, fmt.Errorf("%v: the file has routes to switch %v %q, but none from it: %s", end,
				node.GUID, node.Desc.String(), cutOff)
		default:
			if missing++; missing == 1 {
				first = fmt.Sprintf("%v %q", node.GUID, node.Desc.String())
			}
		}
	}
	switch {
	case missing > 0 && missing == len(in.Topo.Switches):
		return nil, fmt.Errorf("%v: no switch of the file is in this subnet: the file describes another one", end)
	case missing > 0:
		notes = append(notes,
			fmt.Sprintf("%s has nothing about %d switches of this subnet, which get no routes; the first is %s",
				end.File, missing, first))
	}
	return notes, nil
}

// moved is, by LID of the file, the LID that its port has now: the same if it is one of the
// port's, or if the file does not name the port. It is 0 where the port has gone and the LID is
// another port's, to which the route does not lead.
func (f *LFTs) moved(in routing.In) []mad.LID {
	moved := make([]mad.LID, int(mad.MaxUnicastLID)+1)
	for was := range moved {
		lid := mad.LID(was)
		moved[was] = lid
		guid, is := f.Owner[lid]
		if !is {
			continue
		}
		p := in.Topo.FindPort(guid)
		switch {
		case p != topo.None && in.LIDs.Base[p] != 0:
			if in.LIDs.PortOf(lid) != p {
				moved[was] = in.LIDs.Base[p] + lid&(1<<in.LIDs.LMC[p]-1)
			}
		case in.LIDs.PortOf(lid) != topo.None:
			moved[was] = 0
		}
	}
	return moved
}

// Engine balances routes as minhop does, over the ports from which lid_matrix_dump_file says the way is
// shortest. In.Prev keeps the entries that lead by one of them.
func (f *Matrix) Engine(s routing.Balancing) routing.Engine {
	return func(ctx context.Context, in routing.In) (*routing.Tables, error) {
		return f.route(ctx, in, s)
	}
}

func (f *Matrix) route(ctx context.Context, in routing.In, s routing.Balancing) (*routing.Tables, error) {
	b := routing.NewBalance(in, s)
	given := make([]*HopTable, b.Graph.Len())
	for i := range f.Switches {
		if n := in.Topo.FindNode(f.Switches[i].GUID); n != topo.None && in.Topo.Nodes[n].Switch != topo.None {
			given[in.Topo.Nodes[n].Switch] = &f.Switches[i]
		}
	}
	notes, err := whole(in, func(s topo.SwitchIdx) bool { return given[s] != nil }, f.Owner, f.end)
	if err != nil {
		return nil, err
	}
	tables, err := b.Route(ctx, func(s topo.SwitchIdx, into *routing.PortSets) {
		if given[s] != nil {
			given[s].nearest(in, b.Graph, s, into)
		}
	})
	if err != nil {
		return nil, err
	}
	tables.Notes, tables.Findings = notes, b.Findings()
	return tables, nil
}

// nearest adds the ports of a switch from which the file says the way to each switch is shortest.
// The LIDs of the file are taken for those of today, as OpenSM does.
func (h *HopTable) nearest(in routing.In, g *routing.Graph, s topo.SwitchIdx, into *routing.PortSets) {
	_, egress := g.Edges(s)
	for place, lid := range h.LIDs {
		p := in.LIDs.PortOf(lid)
		if p == topo.None || in.LIDs.Base[p] != lid || in.Topo.Nodes[in.Topo.Ports[p].Node].Switch == topo.None {
			continue
		}
		row := h.By(place)
		least := uint8(routing.Unreachable)
		for _, hops := range row {
			least = min(least, hops)
		}
		var ports routing.PortMask
		for _, port := range egress {
			if int(port) < len(row) && row[port] == least && least != routing.Unreachable {
				ports.Add(port)
			}
		}
		into.Set(in.Topo.Nodes[in.Topo.Ports[p].Node].Switch, &ports)
	}
}
