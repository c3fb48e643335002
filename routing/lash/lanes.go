package lash

import (
	"context"
	"slices"

	"ibsm/routing"
)

// layers are the paths by lane. A pair of switches has one lane for both directions.
type layers struct {
	*network
	channels []channel
	at       [][]int32 // by switch, index of a link: the channel to the switch at its end
	lanes    []*layer
	missing  []dependency // scratch of add
}

// channel is a direction between two switches that are cabled together, however many cables there
// are.
type channel struct{ from, to int32 }

// pairWork is about what it takes to look whether a lane can take a pair, in units of routing.Budget.
const pairWork = 40

// assignLanes gives each pair of switches the lowest lane, out of those from the first on of so many, in
// which its paths form no circle with those before, and evens the lanes out. The result is by
// SwitchIdx, and counts lanes from the first.
func (n *network) assignLanes(ctx context.Context, budget int, s Settings) ([][]uint8, *routing.LaneUse, error) {
	l, start := newLayers(n), int(s.StartVL)
	for i := range n.links {
		for j := i + 1; j < len(n.links); j++ {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			routing.Spend(ctx, pairWork*len(l.lanes))
			if !l.place(ctx, int32(i), int32(j)) {
				if err := ctx.Err(); err != nil {
					return nil, nil, err
				}
				if len(l.lanes) == budget-start {
					return nil, nil, &TooFewLanes{Lanes: budget - start, Start: start}
				}
				next := newLayer(len(n.links), len(l.channels))
				copy(next.place, l.lanes[0].place) // nearer to what paths need than any
				copy(next.order, l.lanes[0].order)
				l.lanes = append(l.lanes, next)
				l.place(ctx, int32(i), int32(j))
			}
		}
	}
	use := &routing.LaneUse{Available: budget - start, Start: start, Switches: len(n.links), Paths: l.paths()}
	if len(l.lanes) > 1 {
		if err := l.balance(ctx, s.Seed); err != nil {
			return nil, nil, err
		}
	}
	use.Even = l.paths()
	lane, err := l.bySwitch(ctx)
	return lane, use, err
}

// bySwitch are the lanes of all pairs, by SwitchIdx. The error is that of ctx.
func (l *layers) bySwitch(ctx context.Context) ([][]uint8, error) {
	n := len(l.order)
	lane := make([][]uint8, n)
	for i, s := range l.order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lane[s] = make([]uint8, n)
		for v, layer := range l.lanes {
			for j, is := range layer.state[i*n:][:n] {
				if is != absent {
					lane[s][l.order[j]] = uint8(v)
				}
			}
		}
	}
	return lane, nil
}

// paths are the numbers of paths by lane.
func (l *layers) paths() (paths []uint64) {
	for _, lane := range l.lanes {
		paths = append(paths, uint64(lane.paths))
	}
	return paths
}

func newLayers(n *network) *layers {
	l := &layers{network: n, at: make([][]int32, len(n.links))}
	known := map[channel]int32{}
	for s := range n.links {
		for _, link := range n.links[s] {
			c := channel{int32(s), link.to}
			if _, ok := known[c]; !ok {
				known[c] = int32(len(l.channels))
				l.channels = append(l.channels, c)
			}
			l.at[s] = append(l.at[s], known[c])
		}
	}
	l.lanes = []*layer{newLayer(len(n.links), len(l.channels))}
	return l
}

// path calls do for each two channels that follow each other from i to j; from is -1 before the
// first.
func (l *layers) path(i, j int32, do func(from, to int32)) {
	from := int32(-1)
	for s := i; s != j; {
		e := l.first[s][j]
		to := l.at[s][e]
		do(from, to)
		from, s = to, l.links[s][e].to
	}
}

// place puts a pair into the first lane that can take it, and reports whether one can. When ctx is done none can.
func (l *layers) place(ctx context.Context, i, j int32) bool {
	for _, layer := range l.lanes {
		if l.add(ctx, layer, i, j) {
			layer.set(i, j, present)
			layer.paths += 2
			return true
		}
	}
	return false
}

// add adds the dependencies of both paths of a pair to a lane, unless a circle would come of
// them. OpenSM counts an attempt that failed as one more use of each dependency that was there. When ctx
// is done it adds nothing.
func (l *layers) add(ctx context.Context, layer *layer, i, j int32) bool {
	missing := l.missing[:0]
	fits := true
	both := func(do func(from, to int32)) {
		l.path(i, j, do)
		l.path(j, i, do)
	}
	both(func(from, to int32) {
		if from < 0 {
			return
		}
		if d := layer.find(from, to); d != nil {
			d.uses++
			return
		}
		missing = append(missing, dependency{from, to})
		fits = fits && !layer.refused(from, to)
	})
	l.missing = missing
	if !fits {
		return false
	}
	for n, d := range missing {
		if layer.insert(ctx, d.from, d.to) {
			continue
		}
		if n == 0 {
			layer.refuse(d.from, d.to)
		}
		for _, d := range missing[:n] {
			layer.drop(d.from, d.to)
		}
		return false
	}
	both(func(_, to int32) { layer.users[to]++ })
	return true
}

// remove takes both paths of a pair out of a lane. What OpenSM counts too often stays there.
func (l *layers) remove(layer *layer, i, j int32) {
	layer.age++
	for _, pair := range [][2]int32{{i, j}, {j, i}} {
		var gone []dependency
		l.path(pair[0], pair[1], func(from, to int32) {
			if from >= 0 {
				gone = append(gone, dependency{from, to})
			}
		})
		l.path(pair[0], pair[1], func(_, to int32) {
			if layer.users[to]--; layer.users[to] == 0 {
				layer.empty(to)
			}
		})
		for _, d := range gone {
			if at := layer.find(d.from, d.to); at != nil {
				if at.uses--; at.uses == 0 {
					layer.drop(d.from, d.to)
				}
			}
		}
	}
}

// dependency says that packets that hold a channel wait for another one.
type dependency struct{ from, to int32 }

// pairState says where a pair is with regard to one lane.
type pairState uint8

const (
	absent  pairState = iota
	present           // its paths use the lane
	stuck             // the same, and it could not be moved
)

// layer is one lane: the dependencies of its paths, with an order of the channels in which each
// leads upwards (Pearce and Kelly, 2006).
type layer struct {
	next    [][]use
	prev    [][]int32
	users   []int32   // by channel: paths that take it
	closing []closing // by channel
	age     int32     // how often dependencies were taken away
	state   []pairState
	stuck   [][2]int32 // pairs in that state
	n       int
	paths   int

	place         []int32 // by channel: in the order
	order         []int32 // channels by place
	mark          []int32 // by channel: the search that came by
	search        int32
	ahead, behind []int32  // what the last search found
	places        []int32  // scratch of reorder
	bits          []uint64 // scratch of sort: by place
}

// closing are channels to which a dependency would close a circle. That stays so until dependencies are
// taken away.
type closing struct {
	age int32 // of the layer, when they were found
	to  []int32
}

// use is a dependency, and how often it is counted.
type use struct {
	to   int32
	uses int32
}

func newLayer(switches, channels int) *layer {
	l := &layer{
		next: make([][]use, channels), prev: make([][]int32, channels), users: make([]int32, channels),
		closing: make([]closing, channels),
		state:   make([]pairState, switches*switches), n: switches,
		place: make([]int32, channels), order: make([]int32, channels), mark: make([]int32, channels),
		bits: make([]uint64, channels/64+1),
	}
	for c := range l.place {
		l.put(int32(c), int32(c))
	}
	return l
}

func (l *layer) set(i, j int32, to pairState) {
	l.state[int(i)*l.n+int(j)], l.state[int(j)*l.n+int(i)] = to, to
}

// stick notes that a pair could not be moved.
func (l *layer) stick(i, j int32) {
	l.set(i, j, stuck)
	l.stuck = append(l.stuck, [2]int32{i, j})
}

// free lets pairs that were stuck be tried again.
func (l *layer) free() {
	for _, pair := range l.stuck {
		l.set(pair[0], pair[1], present)
	}
	l.stuck = l.stuck[:0]
}

// refuse notes that a dependency closes a circle.
func (l *layer) refuse(from, to int32) {
	c := &l.closing[from]
	if c.age != l.age {
		c.age, c.to = l.age, c.to[:0]
	}
	c.to = append(c.to, to)
}

// refused reports whether a dependency is known to close a circle.
func (l *layer) refused(from, to int32) bool {
	c := &l.closing[from]
	return c.age == l.age && slices.Contains(c.to, to)
}

func (l *layer) find(from, to int32) *use {
	for i := range l.next[from] {
		if l.next[from][i].to == to {
			return &l.next[from][i]
		}
	}
	return nil
}
