package quality

import (
	"context"

	"ibsm/routing"
	"ibsm/topo"
)

// Sample are figures of tables for a decision between tables. They take about half as long as min-hop.
type Sample struct {
	Links, Unused int     // directions of links between switches; those without routes between hosts
	Fullest       uint32  // routes between hosts on the link that has most
	Shift         float64 // flows on the fullest link, on average over some shifts among all hosts; 0 with tenants
}

// sampledShifts is how many shifts a Sample has.
const sampledShifts = 16

// NewSample finds the figures of forwarding tables. The error is that of ctx.
func NewSample(ctx context.Context, in routing.In, rows [][]uint8) (*Sample, error) {
	loads, err := Loads(ctx, in, rows)
	if err != nil {
		return nil, err
	}
	s := &Sample{}
	for p, n := range loads {
		if !in.Topo.BetweenSwitches(topo.PortIdx(p)) {
			continue
		}
		s.Links++
		s.Fullest = max(s.Fullest, n)
		if n == 0 {
			s.Unused++
		}
	}
	if in.Tenants != nil {
		return s, nil
	}
	hosts, flows := Hosts(in.Topo, in.LIDs), NewFlows(in.Topo, in.LIDs, rows)
	s.Shift = overShifts(len(hosts), func(by int) float64 {
		if ctx.Err() != nil {
			return 0
		}
		return float64(flows.Shift(by, hosts))
	})
	return s, ctx.Err()
}

// overShifts is the mean of a figure over the shifts of a Sample.
func overShifts(hosts int, of func(by int) float64) (mean float64) {
	tried := 0
	for i := 1; i <= sampledShifts; i++ {
		if by := i * hosts / (sampledShifts + 1); by > 0 {
			mean += of(by)
			tried++
		}
	}
	return mean / float64(max(1, tried))
}
