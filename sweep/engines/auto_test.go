package engines

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ibsm/routing/creditloop"
	"ibsm/routing/routingtest"
	"ibsm/routing/routingtest/certificate"
	"ibsm/routing/verify"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// TestAuto: auto routes every kind of fabric, whole and with up to 10 % of its cables missing, by the engine that suits
// it. Every LID is reached from everywhere, and the checker finds that the proof of no credit loop is one.
func TestAuto(t *testing.T) {
	for spec, want := range map[string]string{
		"fattree:k=4": "tree", "fattree:k=8,levels=2": "tree", "tree": "tree", "pods": "tree",
		"pods:corners=3,cables=2": "tree", "torus:dims=5x5": "torus-2QoS", "torus:dims=5x4x4": "torus-2QoS",
		"mesh:dims=4x5":   "torus-2QoS",
		"hypercube:dim=5": "hyperx", "hyperx:dims=4x5": "hyperx", "dragonfly": "dragonfly", "dragonfly+": "dragonfly",
		"random:switches=20,degree=4": "dfsssp",
	} {
		shares := []int{0, 3, 3, 3, 10, 10, 10}
		if os.Getenv("IBSM_PROOF") != "" {
			shares = nil
			for seed := range 500 {
				shares = append(shares, seed%11)
			}
		}
		if spec == "tree" { // which falls apart without any cable
			shares = shares[:1]
		}
		used, others := map[string]int{}, 0
		for seed, percent := range shares {
			in := routingtest.Problem(t,
				fmt.Sprintf("%s%sseed=%d,missing-links=%d%%", spec,
					map[bool]string{true: ",", false: ":"}[strings.Contains(spec, ":")], seed+1, percent))
			in.Lanes = slices.Repeat([]uint8{8}, len(in.Topo.Ports))
			chain, seen := Chain{must(Find(Auto, &Settings{}))}.For(in.Topo)
			if percent <= 3 && (chain[0].Name != want || seen == "") {
				t.Logf("%s, %d %% missing, seed %d: %v, seen %q", spec, percent, seed+1, chain, seen)
				others++
			}
			e, _ := Find(Auto, &Settings{})
			tables, err := e.Route(t.Context(), in)
			if err != nil {
				t.Errorf("%s, %d %% missing, seed %d: %v", spec, percent, seed+1, err)
				continue
			}
			used[chain[0].Name]++
			report, err := verify.Check(t.Context(), 0, in.Topo, in.LIDs, tables, nil)
			if err != nil || report.Bad() > 0 {
				t.Fatalf("%s, %d %% missing, seed %d: %v, %v", spec, percent, seed+1, report.Count, err)
			}
			credit, err := creditloop.Find(t.Context(),
				creditloop.In{Topo: in.Topo, LIDs: in.LIDs, Forwarding: report.Forwarding(), SLs: tables.SLs,
					Maps: tables.SLs.Lanes(), Lanes: in.Lanes, Traffic: creditloop.BetweenHosts})
			if err != nil || credit.Loop != nil || len(credit.Findings) > 0 {
				t.Fatalf("%s, %d %% missing, seed %d: %v, %v, %v", spec, percent, seed+1, credit.Loop, credit.Findings,
					err)
			}
			err = certificate.Check(t.Context(), certificate.In{Topo: in.Topo, LIDs: in.LIDs, Tables: tables,
				Maps: tables.SLs.Lanes(), Hosts: true, Lanes: in.Lanes, Number: credit.Number})
			if err != nil {
				t.Errorf("%s, %d %% missing, seed %d: %v", spec, percent, seed+1, err)
			}
		}
		if others*100 > len(shares) { // a graph at random may look like something
			t.Errorf("%s: %d of %d begin with another engine than %s", spec, others, len(shares), want)
		}
		t.Logf("%s: %d routed, first in the chain: %v", spec, len(shares), used)
	}
}

func must(e Engine, ok bool) Engine {
	if !ok {
		panic("no such engine")
	}
	return e
}

// TestAutoInChain: auto is one of several engines of a list, and all others stay where they are.
func TestAutoInChain(t *testing.T) {
	c, err := New([]string{"updn", Auto, noFallback}, &Settings{})
	if err != nil {
		t.Fatal(err)
	}
	in := routingtest.Problem(t, "fattree:k=4")
	fitted, seen := c.For(in.Topo)
	if got := fitted.String(); got != "updn,tree,dfsssp,nue" || !strings.HasPrefix(seen, "fat tree") {
		t.Errorf("%s, %q", got, seen)
	}
	if plain, seen := (Chain{MinHop}).For(in.Topo); len(plain) != 1 || seen != "" {
		t.Errorf("%v, %q", plain, seen)
	}
	withRails, err := netwalk.Topo(routingtest.RailFabric(2), net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	if fitted, seen := c.For(withRails); fitted.String() != "updn,tree,dfsssp,nue" ||
		seen != "fat tree of 2 levels: 16 leaves, 16 roots; 8 rails of 64 ports in 2 units" {
		t.Errorf("%v, %q", fitted, seen)
	}
	if !slices.Contains(Names(), Auto) {
		t.Error("auto has no name")
	}
}

// TestDefault: the chain for which nobody chose an engine. With groups that have members it stays one; it is not the
// same as one that somebody chose.
func TestDefault(t *testing.T) {
	c := Default(&Settings{})
	if c.String() != "auto,minhop" || !c[0].Unchosen || c[1].Unchosen || c.Chosen().String() != "minhop" {
		t.Errorf("%v", c)
	}
	grouped := Default(&Settings{Lists: Lists{Compute: listOf(t, "port-regexp: .")}})
	if with, members := grouped.WithMembers(walked(t, func(*net.Net) {}), nil, nil); !grouped.Grouped() ||
		members == nil || !with[0].Unchosen || with.Chosen().String() != "minhop" {
		t.Errorf("%v, %+v", with, members)
	}
	chosen, err := New([]string{Auto}, &Settings{})
	if err != nil || chosen.Equal(c) || !Default(&Settings{}).Equal(c) || chosen.Chosen().String() != "auto,minhop" {
		t.Errorf("%v, %v", chosen, err)
	}
}
