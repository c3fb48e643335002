// Package viewtest makes views of generated subnets, for tests.
package viewtest

import (
	"testing"

	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
	"ibsm/view"
)

// New is a generated subnet with LIDs from 1 on, 2^lmc at each port, and min-hop routes.
func New(tb testing.TB, spec string, lmc uint8) *view.View {
	tb.Helper()
	n, err := net.Generate(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return Of(tb, n, lmc)
}

// Of is the same of a fabric.
func Of(tb testing.TB, n *net.Net, lmc uint8) *view.View {
	tb.Helper()
	t, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		tb.Fatal(err)
	}
	lids := topo.SequentialLIDs(t, lmc)
	tables, err := minhop.Route(tb.Context(), routing.In{Topo: t, LIDs: lids})
	if err != nil {
		tb.Fatal(err)
	}
	return &view.View{Topo: t, LIDs: lids, Tables: tables}
}
