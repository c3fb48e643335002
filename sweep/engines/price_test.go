package engines

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/routing/routingtest"
)

// TestFarWorse: tables are far worse by their fullest link, by shifts and by unused links alone.
func TestFarWorse(t *testing.T) {
	than := quality.Sample{Links: 100, Unused: 4, Fullest: 50, Shift: 2}
	for _, c := range []struct {
		of   quality.Sample
		want bool
	}{
		{quality.Sample{Links: 100, Unused: 4, Fullest: 100, Shift: 4}, false},
		{quality.Sample{Links: 100, Unused: 4, Fullest: 101, Shift: 1}, true},
		{quality.Sample{Links: 100, Unused: 4, Fullest: 20, Shift: 4.1}, true},
		{quality.Sample{Links: 100, Unused: 14, Fullest: 20, Shift: 1}, false}, // not more than a tenth of the links
		{quality.Sample{Links: 100, Unused: 15, Fullest: 20, Shift: 1}, true},
	} {
		if got := isFarWorse(&c.of, &than); got != c.want {
			t.Errorf("%+v: %t, want %t", c.of, got, c.want)
		}
	}
}

// TestPriceOfAuto: where only a poor engine is free of credit loops, one line says so, with figures, and what would change it. Nobody is asked twice.
func TestPriceOfAuto(t *testing.T) {
	in := routingtest.Problem(t, "torus:dims=8x8x2,hosts=2,missing-links=4%")
	in.Lanes = slices.Repeat([]uint8{1}, len(in.Topo.Ports))
	e, _ := Find(Auto, &Settings{})
	tables, err := e.Route(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	given := 0
	for _, note := range tables.Notes {
		if strings.Contains(note, "with minhop, whose routes have a credit loop, ") && strings.Contains(note, "more lanes on all links, the missing cables, or another engine (-R) can change that") {
			given++
		}
	}
	if given != 1 {
		t.Errorf("%q", tables.Notes)
	}
	chain, _ := Chain{e}.For(in.Topo)
	asked := map[string]int{}
	last := len(chain) - 1
	best, _, err := Price(t.Context(), in, chain, last, tables, func(e *Engine) (*routing.Tables, error) {
		asked[e.Name]++
		return nil, errors.New("no")
	})
	if err != nil || best.Tables != tables || len(asked) != 1 || asked["minhop"] != 1 {
		t.Errorf("%v, asked %v", err, asked)
	}
}
