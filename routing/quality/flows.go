package quality

import (
	"math/rand/v2"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/rails"
	"ibsm/topo"
)

// Flows counts what meets on links between switches while each host sends to one other. It belongs to
// one goroutine.
type Flows struct {
	topo    *topo.Topo
	lids    *topo.LIDs
	rows    [][]uint8
	tracer  *routing.Tracer
	load    []uint32 // by SwitchIdx * 256 + port
	touched []int32  // of load
	ways    []int32  // of the packets of one pattern, each ended by endOfWay
}

const endOfWay = -1

// NewFlows is that of forwarding tables.
func NewFlows(t *topo.Topo, l *topo.LIDs, rows [][]uint8) *Flows {
	return &Flows{topo: t, lids: l, rows: rows, tracer: routing.NewTracer(t, l),
		load: make([]uint32, 256*len(t.Switches))}
}

// Shift has each of some end ports send to the one that is so many places after it, and those at the end to those at
// the beginning; of several lists each within its own, all at once. It returns how many flows the fullest link has, 0
// if none is between switches.
func (f *Flows) Shift(by int, lists ...[]topo.PortIdx) (most uint32) {
	for _, ports := range lists {
		for i, from := range ports {
			f.send(from, ports[(i+by)%len(ports)])
		}
	}
	for _, c := range f.touched {
		most = max(most, f.load[c])
	}
	f.reset()
	return most
}

// Bisection draws two halves of some end ports, and has each port of one send to a port of the other, which sends
// to it. It returns the share of a link's bandwidth that flows have on average, where each gets an equal part of
// the fullest link on its way.
func (f *Flows) Bisection(ports []topo.PortIdx, rng *rand.Rand) float64 {
	order, half := rng.Perm(len(ports)), len(ports)/2
	for i := range half {
		a, b := ports[order[i]], ports[order[half+i]]
		f.send(a, b)
		f.send(b, a)
	}
	sum, most := 0.0, uint32(1)
	for _, c := range f.ways {
		if c != endOfWay {
			most = max(most, f.load[c])
			continue
		}
		sum += 1 / float64(most)
		most = 1
	}
	f.reset()
	return sum / float64(max(1, 2*half))
}

// send follows a packet to the first LID of an end port.
func (f *Flows) send(from, to topo.PortIdx) {
	s, lid := f.topo.SwitchOf(from), f.lids.Base[to]
	for range f.topo.Switches {
		if s == topo.None || int(lid) >= len(f.rows[s]) {
			break
		}
		port := f.rows[s][lid]
		next := f.tracer.Next(s, port)
		if next == topo.None {
			break
		}
		c := int32(s)<<8 | int32(port)
		if f.load[c] == 0 {
			f.touched = append(f.touched, c)
		}
		f.load[c]++
		f.ways = append(f.ways, c)
		s = next
	}
	f.ways = append(f.ways, endOfWay)
}

func (f *Flows) reset() {
	for _, c := range f.touched {
		f.load[c] = 0
	}
	f.touched, f.ways = f.touched[:0], f.ways[:0]
}

// Hosts are the end ports that send and receive, in the order of their LIDs; but the ports of one host are side by
// side, as the ranks on a host are, after the one that has the lowest LID. Aggregation nodes are none.
func Hosts(t *topo.Topo, l *topo.LIDs) (hosts []topo.PortIdx) {
	others := map[topo.PortIdx][]topo.PortIdx{} // by port: all of its host; nil once they are in the list
	for _, ports := range rails.Hosts(t) {
		for _, p := range ports {
			others[p] = ports
		}
	}
	isHost := func(lid mad.LID, p topo.PortIdx) bool {
		return p != topo.None && lid != 0 && l.Base[p] == lid && t.SwitchOf(p) != topo.None && t.IsHost(p)
	}
	for lid, p := range l.Owner {
		if !isHost(mad.LID(lid), p) {
			continue
		}
		ports, several := others[p]
		if !several {
			hosts = append(hosts, p)
			continue
		}
		for _, other := range ports {
			if others[other] = nil; isHost(l.Base[other], other) {
				hosts = append(hosts, other)
			}
		}
	}
	return hosts
}
