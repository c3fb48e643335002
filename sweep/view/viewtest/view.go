// Package viewtest makes views of generated subnets, for tests.
package viewtest

import (
	"testing"

	"ibsm/mad/fabric/net"
	"ibsm/routing"
	"ibsm/routing/minhop"
	"ibsm/sweep/topo"
	"ibsm/sweep/view"
)

// New is a generated subnet with LIDs from 1 on, 2^lmc at each port, and min-hop routes.
func New(tb testing.TB, spec string, lmc uint8) *view.View {
	tb.Helper()
	n, err := net.Generate(spec)
	if err != nil {
		tb.Fatal(err)
	}
	t, err := topo.FromNet(n, net.NoEnd)
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
