package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/ctl/shape"
	"ibsm/topo/net"
)

// shape is the shape of the manager's subnet, or of the one that spec describes if that
// is not "". Nodes are called by the names that the operator gave them. With routes the
// links have the number of routes.
func (a *asker) shape(ctx context.Context, spec string, routes bool) (*shape.Fabric, error) {
	var nodes []*ctl.Node
	var links []*ctl.Link
	if spec != "" {
		var err error
		if nodes, links, err = described(ctx, spec, routes); err != nil {
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

// described are the nodes and links of a topology that a file or a generator describes. Ibfabric lists them, as it
// computes the routes too.
func described(ctx context.Context, spec string, routes bool) (nodes []*ctl.Node, links []*ctl.Link, err error) {
	if _, err := loadNet(spec); err != nil {
		return nil, nil, err
	}
	argv := []string{"ibfabric", "show"}
	if routes {
		argv = append(argv, "--routes")
	}
	var subnet struct {
		Nodes []*ctl.Node
		Links []*ctl.Link
	}
	_, err = runJSON(ctx, append(argv, "--", spec), &subnet)
	return subnet.Nodes, subnet.Links, err
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
