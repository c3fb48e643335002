package server

import (
	"context"
	"maps"
	"slices"

	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/partitions"
	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/topo"
)

const (
	bisections = 50
	// maxPartitions is how many partitions are measured: those with the lowest P_Keys.
	maxPartitions = 64
)

// Quality is how good the routes in force are.
func (s *subnet) Quality(ctx context.Context) (*ctl.Quality, error) {
	v := s.view
	in := problem(v.Topo, v.LIDs, v.Partitions)
	hosts := quality.Hosts(v.Topo, v.LIDs)
	f, err := quality.Measure(ctx, in, v.Tables.LFT, hosts, bisections)
	if err != nil {
		return nil, err
	}
	out := &ctl.Quality{Links: f.Links, Unused: f.Unused, Mean: f.Mean, Fullest: f.Fullest, Several: f.Several,
		Cut: f.Cut, All: pattern(hosts, &f), Partitions: []ctl.PartitionQuality{}}
	if r := s.railsOf(); len(r.Rails) > 0 {
		f, err := quality.WithinRails(ctx, in, v.Tables.LFT, r)
		if err != nil {
			return nil, err
		}
		out.Rails = &ctl.RailShifts{Rails: len(r.Rails), Hosts: len(r.Of), Shifts: f.Shifts, Shift: f.Shift,
			Worst: f.Worst}
	}
	members := map[mad.PKey][]topo.PortIdx{} // by base
	for _, p := range hosts {
		for _, key := range v.Topo.Ports[p].PKeys.Keys() {
			of := members[key.Base()]
			if key.Valid() && (len(of) == 0 || of[len(of)-1] != p) { // a table can have two entries of a partition
				members[key.Base()] = append(of, p)
			}
		}
	}
	keys := slices.Sorted(maps.Keys(members))
	for _, key := range keys[:min(len(keys), maxPartitions)] {
		if len(members[key]) < 2 {
			continue
		}
		f, err := quality.Patterns(ctx, in, v.Tables.LFT, members[key], bisections)
		if err != nil {
			return nil, err
		}
		row := ctl.PartitionQuality{PKey: key.String(), Pattern: pattern(members[key], &f)}
		if v.Partitions != nil && v.Partitions.Policy != nil {
			if part := v.Partitions.Policy.Find(key); part != nil {
				row.Name = part.Name
			}
		}
		out.Partitions = append(out.Partitions, row)
	}
	return out, nil
}

// problem is that of routing a subnet, as far as it matters to what routes carry.
func problem(t *topo.Topo, l *topo.LIDs, parts *partitions.Tables) routing.In {
	return routing.In{Topo: t, LIDs: l, Tenants: routing.NewTenants(t, func(p topo.PortIdx) *topo.PKeyTable {
		return parts.Table(t, p)
	})}
}

func pattern(hosts []topo.PortIdx, f *quality.Figures) ctl.Pattern {
	return ctl.Pattern{Hosts: len(hosts), Shifts: f.Shifts, Shift: f.Shift, Worst: f.Worst, Bisection: f.Bisection}
}
