package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"

	"ibsm/cmd/cli"
	"ibsm/cmd/ibsmctl/shape"
	"ibsm/ctl"
	"ibsm/ctl/server"
	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

// shape is the shape of the manager's subnet, or of the one that spec describes if that
// is not "". Nodes are called by the names that the operator gave them. With routes the
// links have the number of routes.
func (a *asker) shape(ctx context.Context, spec string, routes bool) (*shape.Fabric, error) {
	var nodes []*ctl.Node
	var links []*ctl.Link
	if spec != "" {
		subnet, err := described(ctx, spec)
		if err != nil {
			return nil, err
		}
		nodes, err = rowsOf[ctl.Node](subnet, ctl.Nodes, ctl.Filter{})
		if err == nil {
			links, err = rowsOf[ctl.Link](subnet, ctl.Links, ctl.Filter{Routes: routes})
		}
		if err != nil {
			return nil, err
		}
	} else {
		q := query("absent", "1")
		if routes {
			q.Set("routes", "1")
		}
		err := ctl.All(ctx, a.Client, http.MethodGet, "/v1/nodes", query("absent", "1"), func(n *ctl.Node) error {
			nodes = append(nodes, new(*n))
			return nil
		})
		if err == nil {
			err = ctl.All(ctx, a.Client, http.MethodGet, "/v1/links", q, func(l *ctl.Link) error {
				links = append(links, new(*l))
				return nil
			})
		}
		if err != nil {
			return nil, a.explain(err)
		}
	}
	for _, n := range nodes {
		n.Desc = a.names.of(n.GUID, n.Desc)
	}
	for _, l := range links {
		l.From.Desc, l.To.Desc = a.names.of(l.From.Node, l.From.Desc), a.names.of(l.To.Node, l.To.Desc)
	}
	return shape.New(nodes, links), nil
}

// rowsOf are the rows of a list.
func rowsOf[T any](s ctl.Subnet, l ctl.List, f ctl.Filter) (all []*T, err error) {
	rows, err := s.Rows(l, f)
	if err != nil {
		return nil, err
	}
	for row := range rows {
		all = append(all, new(*row.(*T)))
	}
	return all, nil
}

// described is what a manager would show of a subnet that a file or a generator
// describes: with the LIDs of the file, or from 1 on where it has none, and min-hop routes.
// A file says nothing of states; what is cabled counts as Active.
func described(ctx context.Context, spec string) (ctl.Subnet, error) {
	fabric, err := loadNet(spec)
	if err != nil {
		return nil, err
	}
	t, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		return nil, err
	}
	for i := range t.Ports {
		if p := &t.Ports[i]; p.Peer != topo.None {
			p.Info.SetPortState(smp.PortActive)
		}
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		n.Aggregation = n.Type == mad.CA && strings.Contains(n.Desc.String(), "Aggregation Node")
	}
	lids := lidsOf(t)
	tables, err := minhop.Route(ctx, routing.In{Topo: t, LIDs: lids})
	if err != nil {
		return nil, err
	}
	return server.Show(&view.View{Gen: 1, Topo: t, LIDs: lids, Tables: tables,
		Subnet: view.Subnet{Prefix: mad.DefaultPrefix}}), nil
}

// lidsOf are the LIDs that end ports say they have, or LIDs from 1 on unless each has its
// own.
func lidsOf(t *topo.Topo) *topo.LIDs {
	base, lmc := make([]mad.LID, len(t.Ports)), make([]uint8, len(t.Ports))
	taken := map[mad.LID]bool{}
	for _, p := range t.EndPorts {
		info := &t.Ports[p].Info
		base[p], lmc[p] = info.LID(), info.LMC()
		for i := range mad.LID(1) << lmc[p] {
			lid := base[p] + i
			if !lid.IsUnicast() || taken[lid] {
				return topo.SequentialLIDs(t, 0)
			}
			taken[lid] = true
		}
	}
	return topo.NewLIDs(base, lmc)
}

// loadNet is the topology that a file or a generator describes.
func loadNet(spec string) (*net.Net, error) {
	n, err := net.Load(spec)
	var wrong *net.SpecError
	if errors.As(err, &wrong) {
		return nil, cli.UsageError(wrong.Text, cmp.Or(wrong.Hint, "see ibfabric gen --help for kinds and keys"))
	}
	if n != nil {
		n.Warnings.Warn(os.Stderr)
	}
	return n, err
}
