// Package certificate checks the proof that tables have no credit loop: a number for each channel,
// which is one direction of a link on one lane. Where every packet that leaves a channel goes on by
// one with a higher number, packets cannot wait for each other in a circle (Dally and Seitz, 1987).
// The check follows each route once and searches nothing. It shares no code with the engines, with
// what assigns lanes, and with what finds the numbers, so that an error of theirs is found here.
package certificate

import (
	"context"
	"fmt"
	"sync"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/mcast"
	"ibsm/topo"
)

// In is a certificate, and what it is about.
type In struct {
	Topo   *topo.Topo
	LIDs   *topo.LIDs
	Tables *routing.Tables
	Maps   *routing.Maps // from SLs to lanes
	Groups []mcast.Group
	// Hosts leaves out packets from and to port 0 of switches, and from aggregation nodes.
	Hosts bool
	// Lanes is, by PortIdx of ports of switches, the number of lanes of the link; packets on higher
	// ones are dropped, and so are those on VL15. Nil, and 0, mean 15.
	Lanes []uint8
	// Number is the number of the channel that leaves a switch by a port, on a lane. It is called by
	// several goroutines at a time.
	Number  func(s topo.SwitchIdx, port, lane uint8) int32
	Workers routing.Workers
}

// Step is a channel that packets take.
type Step struct {
	Switch     topo.SwitchIdx
	Port, Lane uint8
	Number     int32
}

// Violation is the error of packets that go on by a channel without a higher number.
type Violation struct {
	From, To Step
	Dest     mad.LID // of the packets
	SL       uint8
}

func (v *Violation) Error() string {
	return fmt.Sprintf(
		"packets of SL %d to LID %v go from switch %d port %d lane %d, number %d, to switch %d port %d lane %d, number %d, which is not higher",
		v.SL, v.Dest, v.From.Switch, v.From.Port, v.From.Lane, v.From.Number, v.To.Switch, v.To.Port, v.To.Lane,
		v.To.Number)
}

// Check returns a Violation if there is one, that of the lowest LID, and otherwise the error of ctx.
func Check(ctx context.Context, in In) error {
	c := newChecker(&in)
	var mutex sync.Mutex
	var first *Violation
	note := func(v *Violation) {
		mutex.Lock()
		defer mutex.Unlock()
		if v != nil && (first == nil || v.Dest < first.Dest) {
			first = v
		}
	}
	blocks := (len(in.LIDs.Owner) + routing.BlockSize - 1) / routing.BlockSize
	err := routing.Parallel(ctx, in.Workers, blocks, func() func(int) {
		w := &walk{checker: c, seen: make([]uint16, len(c.next))}
		return func(block int) {
			for lid := block * routing.BlockSize; lid < min((block+1)*routing.BlockSize, len(in.LIDs.Owner)); lid++ {
				if w.violation == nil && c.counts(in.LIDs.Owner[lid]) {
					w.route(mad.LID(lid))
				}
			}
			note(w.violation)
			w.violation = nil
		}
	})
	w := &walk{checker: c, seen: make([]uint16, len(c.next))}
	for _, g := range in.Groups {
		w.spread(g)
	}
	note(w.violation)
	if first != nil {
		return first
	}
	return err
}

// checker is what is the same for all LIDs. A port of a switch has the number switch * width + port.
type checker struct {
	*In
	width  int
	next   []int32 // by port of a switch: the port of a switch at the other end of the link; -1 for none
	starts []start
}

// start is where packets enter the switches.
type start struct {
	at    topo.SwitchIdx
	port  uint8   // by which they come in; 0 for those of the switch itself
	froms []int32 // rows of the SLs of their packets; negative for SL 0
}

func newChecker(in *In) *checker {
	c := &checker{In: in}
	t := in.Topo
	for _, n := range t.Switches {
		c.width = max(c.width, int(t.Nodes[n].NumPorts)+1)
	}
	c.next = make([]int32, c.width*len(t.Switches))
	for i := range c.next {
		c.next[i] = -1
	}
	for s, n := range t.Switches {
		for num := 1; num <= int(t.Nodes[n].NumPorts); num++ {
			peer := t.Ports[t.Port(n, uint8(num))].Peer
			if peer == topo.None {
				continue
			}
			if to := &t.Ports[peer]; t.Nodes[to.Node].Type == mad.Switch {
				c.next[s*c.width+num] = int32(t.Nodes[to.Node].Switch)*int32(c.width) + int32(to.Num)
			}
		}
	}
	c.findStarts()
	return c
}

// counts reports whether packets from and to an end port are checked.
func (c *checker) counts(p topo.PortIdx) bool {
	return p != topo.None && !(c.Hosts && c.Topo.Nodes[c.Topo.Ports[p].Node].Type == mad.Switch)
}

// findStarts finds where packets enter the switches: for each switch once, unless its mapping tables
// depend on the port by which they come in.
func (c *checker) findStarts() {
	at := map[[2]int]int{}
	for lid, p := range c.LIDs.Owner {
		if !c.counts(p) || c.Hosts && c.Topo.Nodes[c.Topo.Ports[p].Node].Aggregation {
			continue
		}
		s, port := c.entry(p)
		if s == topo.None {
			continue
		}
		key := [2]int{int(s), 0}
		if c.mapsByInput(s) {
			key[1] = int(port)
		}
		i, known := at[key]
		if !known {
			i = len(c.starts)
			at[key] = i
			c.starts = append(c.starts, start{at: s, port: port})
		}
		from := int32(-1)
		if sls := c.Tables.SLs; sls != nil && lid < len(sls.From) {
			from = sls.From[lid]
		}
		c.starts[i].add(from)
	}
}

// entry is the port of a switch by which packets from an end port come in; the switch is None if
// they come to none.
func (c *checker) entry(p topo.PortIdx) (s topo.SwitchIdx, port uint8) {
	if n := &c.Topo.Nodes[c.Topo.Ports[p].Node]; n.Type == mad.Switch {
		return n.Switch, 0
	}
	peer := c.Topo.Ports[p].Peer
	if peer == topo.None || c.Topo.Nodes[c.Topo.Ports[peer].Node].Type != mad.Switch {
		return topo.None, 0
	}
	return c.Topo.Nodes[c.Topo.Ports[peer].Node].Switch, c.Topo.Ports[peer].Num
}

func (s *start) add(from int32) {
	for _, f := range s.froms {
		if f == from {
			return
		}
	}
	s.froms = append(s.froms, from)
}

// mapsByInput reports whether any mapping table of a switch is for packets from one port only.
func (c *checker) mapsByInput(s topo.SwitchIdx) bool {
	if c.Maps == nil {
		return false
	}
	n := c.Topo.Switches[s]
	for num := 1; num <= int(c.Topo.Nodes[n].NumPorts); num++ {
		if len(c.Maps.Of[c.Topo.Port(n, uint8(num))]) > 1 {
			return true
		}
	}
	return false
}

// sls are those of packets from a start to a LID, a bit for each.
func (c *checker) sls(s *start, to mad.LID) (sls uint16) {
	all := c.Tables.SLs
	if all == nil {
		return 1
	}
	for _, from := range s.froms {
		if from < 0 || int(to) >= len(all.To) || all.To[to] < 0 {
			sls |= 1
		} else {
			sls |= 1 << all.Rows[from][all.To[to]]
		}
	}
	return sls
}
