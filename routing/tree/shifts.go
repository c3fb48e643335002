package tree

import (
	"context"
	"slices"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/quality"
	"ibsm/topo"
)

// shifts is the flows of all shifts among the compute nodes of a tree of two levels, in the order of quality.Hosts.
type shifts struct {
	*placer
	count   int             // of hosts, and of shifts, the first of which has no flows
	place   map[mad.LID]int // of hosts, by base LID
	senders [][]int         // by switch: places of its hosts
	links   []int32         // by switch * 256 + port: which of the links between switches it is, None for others
	flows   []uint16        // by link, then by shift
	bound   []uint16        // by shift: flows that meet on some link, whatever the routes are
}

// mostCounts is how many counts of flows there can be. In larger trees routes are not moved for shifts.
const mostCounts = 1 << 24

// mostMoves is how often all routes are looked at.
const mostMoves = 4

// relieveShifts moves routes that have no port of the digit as long as fewer flows of shifts among all hosts meet
// beyond what must. Those of digits stay: by them few destinations come down each cable, which is best for traffic at
// random. So do routes within rails. No link gets more routes than the fullest one has, and packets to a host leave a
// leaf for no fewer switches.
func (p *placer) relieveShifts(ctx context.Context, all []destinations) error {
	s := p.newShifts()
	if s == nil {
		return nil
	}
	if err := s.countAll(ctx); err != nil {
		return err
	}
	limit := slices.Max(p.load)
	for range mostMoves {
		moved := false
		for i := range all {
			if err := ctx.Err(); err != nil {
				return err
			}
			moved = s.moveAt(&all[i], limit) || moved
			routing.Spend(ctx, s.count)
		}
		if !moved {
			break
		}
	}
	return nil
}

// newShifts is nil where shifts are not looked at.
func (p *placer) newShifts() *shifts {
	if len(p.tiers) != 2 || p.Tenants != nil {
		return nil
	}
	s := &shifts{placer: p, place: map[mad.LID]int{}, senders: make([][]int, len(p.rows)),
		links: slices.Repeat([]int32{topo.None}, len(p.load))}
	for _, port := range quality.Hosts(p.Topo, p.LIDs) {
		if p.typeOf(p.Topo, port) == compute {
			at := p.Topo.SwitchOf(port)
			s.place[p.LIDs.Base[port]] = s.count
			s.senders[at] = append(s.senders[at], s.count)
			s.count++
		}
	}
	links := 0
	for at := range p.rows {
		for _, groups := range [][]group{p.up[at], p.down[at]} {
			for _, g := range groups {
				for _, port := range g.ports {
					s.links[at<<8|int(port)] = int32(links)
					links++
				}
			}
		}
	}
	if links*s.count > mostCounts {
		return nil
	}
	if p.tracer == nil {
		p.tracer = routing.NewTracer(p.Topo, p.LIDs)
	}
	s.flows, s.bound = make([]uint16, links*s.count), slices.Repeat([]uint16{1}, s.count)
	return s
}

// countAll counts the flows of all shifts, and what must meet: where more leave a leaf, or come to it, than it has
// cables.
func (s *shifts) countAll(ctx context.Context) error {
	leave, come := make([]uint16, len(s.rows)*s.count), make([]uint16, len(s.rows)*s.count)
	for lid, at := range s.place {
		routing.Spend(ctx, 4*s.count)
		if err := ctx.Err(); err != nil {
			return err
		}
		home := s.Topo.SwitchOf(s.LIDs.PortOf(lid))
		for from, places := range s.senders {
			if topo.SwitchIdx(from) == home {
				continue
			}
			for _, place := range places {
				by := s.shift(place, at)
				leave[from*s.count+by]++
				come[int(home)*s.count+by]++
			}
			for on, hops := topo.SwitchIdx(from), 0; on != home && on != topo.None && hops < len(s.rows); hops++ {
				port := s.rows[on][lid]
				s.add(s.links[int(on)<<8|int(port)], places, at, onto)
				on = s.tracer.Next(on, port)
			}
		}
	}
	for at := range s.rows {
		cables := 0
		for _, g := range s.up[at] {
			cables += len(g.ports)
		}
		for by := 0; by < s.count && cables > 0; by++ {
			most := int(max(leave[at*s.count+by], come[at*s.count+by]))
			s.bound[by] = max(s.bound[by], uint16((most+cables-1)/cables))
		}
	}
	return nil
}

// shift is that in which a host sends to another.
func (s *shifts) shift(from, to int) int {
	return (to - from + s.count) % s.count
}

// add adds a number to the flows on a link that come from some hosts to one.
func (s *shifts) add(link int32, from []int, to int, number uint16) {
	if link == topo.None {
		return
	}
	flows := s.flows[int(link)*s.count:][:s.count]
	for _, place := range from {
		flows[s.shift(place, to)] += number
	}
}

// more is the cost of adding flows from some hosts to one host to a link: high for each shift in which more flows meet
// than must, low for other flows that meet.
func (s *shifts) more(link int32, from []int, to int) (cost int) {
	flows := s.flows[int(link)*s.count:][:s.count]
	for _, place := range from {
		by := s.shift(place, to)
		n := flows[by]
		if n > 0 {
			cost++
		}
		if over := int(n) + 1 - int(s.bound[by]); over > 0 {
			cost += 1000 * (2*over - 1)
		}
	}
	return cost
}

// moveAt moves routes to the destinations at one switch. It reports whether it has moved some.
func (s *shifts) moveAt(at *destinations, limit uint32) (moved bool) {
	measured := false
	for from, places := range s.senders {
		from := topo.SwitchIdx(from)
		if len(places) == 0 || from == at.at {
			continue
		}
		for i := range at.ports {
			if !s.movable(from, &at.ports[i]) {
				continue
			}
			if !measured {
				s.measureWays(at.at)
				measured = true
			}
			if s.cost[from] == 2 && !s.falls[from] {
				moved = s.move(from, &at.ports[i], limit) || moved
			}
		}
	}
	return moved
}

// movable reports whether flows from a leaf to a destination count, and can go another way: they have no port of the
// digit, and leave a rail.
func (s *shifts) movable(from topo.SwitchIdx, d *destination) bool {
	_, is := s.place[d.lid]
	t := &s.tiers[s.level[from]]
	digit := s.ups[from][d.number/t.divider%(t.parents*t.cables)]
	return is && !d.within(from) && (digit.next == topo.None || digit.port != s.rows[from][d.lid])
}

// path is the links of a way from a leaf over one switch, by switch * 256 + port.
type path struct{ up, down int }

// pathBy is the way by a port of a leaf.
func (s *shifts) pathBy(from topo.SwitchIdx, by uint8, lid mad.LID) path {
	over := s.tracer.Next(from, by)
	return path{int(from)<<8 | int(by), int(over)<<8 | int(s.rows[over][lid])}
}

// put adds the flows from a leaf to a destination to a way, or takes them away.
func (s *shifts) put(from topo.SwitchIdx, d *destination, p path, number uint16) {
	for _, at := range [...]int{p.up, p.down} {
		s.add(s.links[at], s.senders[from], s.place[d.lid], number)
		s.load[at] += uint32(int16(number)) * s.sources[d.class][from]
	}
}

// one flow more, and one less.
const (
	onto uint16 = 1
	off         = ^uint16(0)
)

// costBy is what a way from a leaf to a destination costs, and whether it gives no link more routes than a limit.
func (s *shifts) costBy(from topo.SwitchIdx, d *destination, p path, limit uint32) (cost int, fits bool) {
	routes := s.sources[d.class][from]
	if max(s.load[p.up], s.load[p.down])+routes > limit {
		return 0, false
	}
	return s.more(s.links[p.up], s.senders[from], s.place[d.lid]) + s.more(s.links[p.down], s.senders[from],
		s.place[d.lid]), true
}

// move gives packets from a leaf to a destination a way on which fewer flows meet, and reports whether there is one.
func (s *shifts) move(from topo.SwitchIdx, d *destination, limit uint32) bool {
	by := s.rows[from][d.lid]
	was := s.pathBy(from, by, d.lid)
	s.put(from, d, was, off)
	least, _ := s.costBy(from, d, was, limit)
	if least < 1000 {
		s.put(from, d, was, onto)
		return false
	}
	near := s.companions(from, by, d)
	best := by
	for g := range s.up[from] {
		if g := &s.up[from][g]; s.isWay(from, g) {
			for _, port := range g.ports {
				if cost, fits := s.costBy(from, d, s.pathBy(from, port, d.lid), limit); fits && cost < least &&
					s.companions(from, port, d) <= near {
					best, least = port, cost
				}
			}
		}
	}
	s.rows[from][d.lid] = best
	s.put(from, d, s.pathBy(from, best, d.lid), onto)
	return best != by
}

// companions is the number of other LIDs of a host that packets from a leaf reach over the switch behind a port; those
// over the port itself count twice.
func (s *shifts) companions(from topo.SwitchIdx, by uint8, d *destination) (count int) {
	if d.owner == topo.None {
		return 0
	}
	over := s.tracer.Next(from, by)
	for _, lid := range s.owners.lids[d.owner] {
		if port := s.rows[from][lid]; lid != d.lid && s.tracer.Next(from, port) == over {
			if count++; port == by {
				count++
			}
		}
	}
	return count
}
