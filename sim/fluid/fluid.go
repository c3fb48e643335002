// Package fluid is traffic on a lossless network, as a fluid: flows along routes, links of limited rate, receive
// buffers of limited size, and senders that wait until there is room. So what cannot leave by one port holds up flows
// that go elsewhere, link by link back to their sources, as with the credits of InfiniBand on one lane.
//
// A receive buffer is taken as well mixed and is left in order: when the part of it that goes to one port cannot leave,
// no other can. A port serves the buffers and sources that want it in equal shares. It is a model: there are no packets
// and no arbitration tables, and all lanes are one.
package fluid

// Link is one direction of a cable.
type Link struct {
	Rate float64 // octets a second, above 0
	// Drain is how many octets a second the adapter at the end takes out of its buffer; 0 for all that arrive.
	Drain float64
}

// Flow is traffic between two adapters.
type Flow struct {
	Path []int32 // links in order, by index; at least one, none twice
	Rate float64 // octets a second that the source would send
}

// Use is what became of a link.
type Use struct {
	Rate float64 // octets a second
	// Waited is the part of the time in which there was data to send and no room for it at the other end, 0 to 1.
	Waited float64
}

const (
	// bufferSteps is the size of a receive buffer: what its link carries in so many steps.
	bufferSteps = 8
	// settling steps pass before measured ones: waiting spreads by one link in some tens of steps.
	settling, measured = 1200, 400
)

// part is what one flow has in the buffer at the end of one link of its path. The parts of a flow follow each other.
type part struct {
	link int32
	turn int32 // how it goes on; ends where the flow ends
	size float64
}

const ends, none = -1, -1

// turn is from the buffer at the end of a link to another link.
type turn struct {
	from, to int32
	size     float64 // of the parts that take it
}

type network struct {
	links []Link
	flows []Flow
	parts []part
	turns []turn
	into  [][]int32 // by link: turns to it
	own   [][]int32 // by link: flows that start there

	held   []float64 // by link: what its buffer holds
	ending []float64 // by link: of that, what goes no farther
	leaves []float64 // by link: the share of its buffer that leaves it in this step
	first  []int32   // by link: the turn of what is first in its buffer and holds up the rest; none if that is none
	owed   []float64 // by flow: what the source has ready
	enters []float64 // by flow: what of it is sent in this step
	sent   []float64 // by link, in this step
	wants  []want    // scratch
	short  []int32   // links without room for what is ready, in this step
}

// want is how much a turn, or the source of a flow, has for a link.
type want struct{ size, grant float64 }

// Run is the use of each link once the flows have settled.
func Run(links []Link, flows []Flow) []Use {
	n := newNetwork(links, flows)
	uses := make([]Use, len(links))
	for range settling {
		n.step(nil)
	}
	for range measured {
		n.step(uses)
	}
	for l := range uses {
		uses[l].Rate /= measured
		uses[l].Waited = max(0, uses[l].Waited/measured) // what was sent may have come through while less was ready
	}
	return uses
}

func newNetwork(links []Link, flows []Flow) *network {
	amounts := func(n int) []float64 { return make([]float64, n) }
	n := &network{
		links: links, flows: flows, into: make([][]int32, len(links)), own: make([][]int32, len(links)),
		held: amounts(len(links)), ending: amounts(len(links)), leaves: amounts(len(links)),
		first: make([]int32, len(links)), sent: amounts(len(links)),
		owed: amounts(len(flows)), enters: amounts(len(flows)),
	}
	known := map[[2]int32]int32{}
	for f := range flows {
		path := flows[f].Path
		n.own[path[0]] = append(n.own[path[0]], int32(f))
		for h, l := range path {
			p := part{link: l, turn: ends}
			if h+1 < len(path) {
				pair := [2]int32{l, path[h+1]}
				i, is := known[pair]
				if !is {
					i = int32(len(n.turns))
					known[pair] = i
					n.turns = append(n.turns, turn{from: pair[0], to: pair[1]})
					n.into[pair[1]] = append(n.into[pair[1]], i)
				}
				p.turn = i
			}
			n.parts = append(n.parts, p)
		}
	}
	return n
}

// step lets a time pass in which a link carries its Rate. It decides by what buffers hold at first, and adds to uses
// unless that is nil.
func (n *network) step(uses []Use) {
	n.look()
	for l := range n.links {
		n.leaves[l], n.first[l] = 1, none
		if n.held[l] > n.links[l].Rate {
			n.leaves[l] = n.links[l].Rate / n.held[l]
		}
		if drain := n.links[l].Drain; drain > 0 && n.ending[l] > drain {
			n.leaves[l] = min(n.leaves[l], drain/n.ending[l])
		}
	}
	for l := range n.links {
		n.share(int32(l))
	}
	for l := range uses {
		rate := n.links[l].Rate
		if ready := min(n.ready(int32(l)), rate); n.room(int32(l)) < ready {
			uses[l].Waited += ready / rate
			n.short = append(n.short, int32(l))
		}
	}
	n.move()
	for _, l := range n.short {
		uses[l].Waited -= n.sent[l] / n.links[l].Rate
	}
	for l := range uses {
		uses[l].Rate += n.sent[l]
	}
	n.short = n.short[:0]
}

// look finds what is where.
func (n *network) look() {
	clear(n.held)
	clear(n.ending)
	for i := range n.turns {
		n.turns[i].size = 0
	}
	for i := range n.parts {
		p := &n.parts[i]
		if n.held[p.link] += p.size; p.turn == ends {
			n.ending[p.link] += p.size
		} else {
			n.turns[p.turn].size += p.size
		}
	}
	for f := range n.flows {
		n.owed[f] = min(n.owed[f]+n.flows[f].Rate, bufferSteps*n.flows[f].Rate)
	}
}

// room is how much more the buffer at the end of a link can take.
func (n *network) room(l int32) float64 { return max(0, bufferSteps*n.links[l].Rate-n.held[l]) }

// ready is how much there is for a link at the heads of buffers and at sources.
func (n *network) ready(l int32) (size float64) {
	for _, i := range n.into[l] {
		t := &n.turns[i]
		if n.first[t.from] == i {
			size += min(t.size, n.links[t.from].Rate)
		} else {
			size += t.size * n.leaves[t.from]
		}
	}
	for _, f := range n.own[l] {
		size += n.owed[f]
	}
	return size
}

// share divides a link among those that want it. A buffer lets no more out than its parts may go, and so no more of the
// others either.
func (n *network) share(l int32) {
	n.wants = n.wants[:0]
	for _, i := range n.into[l] {
		n.wants = append(n.wants, want{size: n.turns[i].size})
	}
	for _, f := range n.own[l] {
		n.wants = append(n.wants, want{size: n.owed[f]})
	}
	divide(n.wants, min(n.room(l), n.links[l].Rate))
	turns := n.into[l]
	for k, i := range turns {
		w, from := n.wants[k], n.turns[i].from
		if w.grant < w.size*n.leaves[from] {
			n.leaves[from], n.first[from] = w.grant/w.size, i
		}
	}
	for k, f := range n.own[l] {
		n.enters[f] = n.wants[len(turns)+k].grant
	}
}

// divide grants what is wanted, or equal shares of what there is to those that want more than that.
func divide(wants []want, rest float64) {
	open := 0
	for i := range wants {
		if wants[i].size > 0 {
			open++
		}
	}
	for open > 0 {
		fair, before := rest/float64(open), open
		for i := range wants {
			if w := &wants[i]; w.grant < w.size && w.size <= fair {
				w.grant = w.size
				rest -= w.size
				open--
			}
		}
		if open == before || rest <= 0 {
			for i := range wants {
				if w := &wants[i]; w.grant < w.size {
					w.grant = min(fair, w.size)
				}
			}
			return
		}
	}
}

// move lets what may leave buffers and sources do so.
func (n *network) move() {
	clear(n.sent)
	for i := len(n.parts) - 1; i >= 0; i-- { // against the flow, so that nothing moves twice
		p := &n.parts[i]
		out := p.size * n.leaves[p.link]
		if p.size -= out; p.turn != ends {
			n.parts[i+1].size += out
			n.sent[n.parts[i+1].link] += out
		}
	}
	first := 0
	for f := range n.flows {
		n.parts[first].size += n.enters[f]
		n.sent[n.parts[first].link] += n.enters[f]
		n.owed[f] -= n.enters[f]
		first += len(n.flows[f].Path)
	}
}
