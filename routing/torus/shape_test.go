package torus

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ibsm/routing"
	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/shape"
	"ibsm/routing/verify"
)

// TestFromGrid: tori and meshes are routed without a file, whole and with a cable or a switch missing: all packets
// arrive, without a credit loop.
func TestFromGrid(t *testing.T) {
	for _, spec := range []string{"torus:dims=4x4", "torus:dims=5x5", "torus:dims=3x4x5,hosts=2", "torus:dims=4x4x4",
		"torus:dims=2x4x4", "torus:dims=6", "mesh:dims=4x4", "mesh:dims=3x3x4", "torus:dims=8x8x8"} {
		for _, damage := range []string{"", ",missing-links=1", ",missing-switches=1"} {
			t.Run(spec+damage, func(t *testing.T) {
				in := routingtest.Problem(t, spec+damage)
				g, err := shape.FindGrid(in.Topo)
				if err != nil {
					t.Fatal(err)
				}
				s, err := FromGrid(g)
				if err != nil {
					t.Fatal(err)
				}
				tables, err := New(s)(t.Context(), in)
				if damaged := (*Unroutable)(nil); errors.As(err, &damaged) && damage != "" &&
					slices.Contains(s.Mesh[:len(g.Dims)], true) {
					return // a row of a mesh in two parts is not routed
				}
				if err != nil {
					t.Fatal(err)
				}
				if missing := slices.ContainsFunc(tables.Notes, func(note string) bool {
					return strings.Contains(note, "Missing")
				}); missing && damage == "" {
					t.Errorf("nothing is missing: %q", tables.Notes)
				}
				report, err := verify.Check(t.Context(), 0, in.Topo, in.LIDs, tables, nil)
				if err != nil || report.Bad() > 0 {
					t.Fatal(err, report.Count)
				}
				loops, err := creditloop.Find(t.Context(),
					creditloop.In{Topo: in.Topo, LIDs: in.LIDs,
						Forwarding: routing.NewForwarding(in.Topo, in.LIDs, tables), SLs: tables.SLs,
						Maps: tables.SLs.Lanes()})
				if err != nil || loops.Loop != nil || loops.Findings != nil {
					t.Fatal(err, fmt.Sprint(loops))
				}
			})
		}
	}
	if s, err := FromGrid(&shape.Grid{Dims: []int{2, 2, 2, 3}, Ring: make([]bool, 4)}); err == nil {
		t.Errorf("four dimensions: %+v", s)
	}
	if s, err := FromGrid(&shape.Grid{Dims: []int{3}, Ring: []bool{true}, At: [][]int32{{0}, nil, {2}}}); err == nil {
		t.Errorf("a switch without a place: %+v", s)
	}
}
