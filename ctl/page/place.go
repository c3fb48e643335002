package page

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"ibsm/ctl/shape"
)

// Measures of the map, in its own units: a pixel where it is not zoomed.
const (
	cellPitch   = 48 // of switches side by side
	boxHeight   = 16 // of a switch
	boxWidth    = 42
	hostColumns = 6 // of the squares for hosts below a switch
	hostPitch   = 7
	rowGap      = 26 // below the hosts of a row
	levelGap    = 110
	blockGap    = 40
	widest      = 64  // switches in a row without pods
	aspect      = 1.8 // of the whole map, about
	screen      = 2.2 // width by height of the room that a wide screen has for the map, about
)

// Point is a place on the map: the upper left corner of a switch.
type Point struct{ X, Y float64 }

// Block is a group of switches that is drawn as one where they are too small.
type Block struct {
	Name string  `json:"name"`
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	W    float64 `json:"w"`
	H    float64 `json:"h"`
}

// Places are where switches stand.
type Places struct {
	At     []Point // by index of shape.Fabric.Switches
	Block  []int   // index into Blocks; -1 for a switch that stands alone
	Blocks []Block
	W, H   float64
	rows   int // of hosts below a switch
}

// Place gives the switches of a fabric their places, by their names and the shape alone: equal fabrics have equal maps.
// A switch whose name has a number stands where its number leads, and each row has room for further ones. So a new
// switch moves no other, unless its row, or a number of pods, is full: then rows get wider by a fourth or more.
func Place(f *shape.Fabric) *Places {
	p := &Places{At: make([]Point, len(f.Switches)), Block: make([]int, len(f.Switches))}
	for s := range p.Block {
		p.Block[s] = -1
	}
	for s := range f.Switches {
		if _, most := portsOf(f, s); most > 0 {
			p.rows = max(p.rows, (most+hostColumns-1)/hostColumns)
		}
	}
	switch grid := f.Grid(); {
	case f.Levels > 0:
		p.tree(f)
	case grid != nil:
		p.grid(grid)
	default:
		p.groups(f)
	}
	p.size()
	return p
}

// portsOf is the port before the first square for a host of a switch, and how many squares there are. Squares stand by
// the number of the port, so that a new host moves no other.
func portsOf(f *shape.Fabric, s int) (base, most int) {
	hosts := f.Switches[s].Hosts
	if len(hosts) == 0 {
		return 0, 0
	}
	least := 255
	for _, a := range hosts {
		num := int(switchPort(f, s, a))
		least, most = min(least, num), max(most, num)
	}
	base = max(least-1, 0) / hostColumns * hostColumns
	return base, most - base
}

// switchPort is the port of a switch that a host is at.
func switchPort(f *shape.Fabric, s int, a shape.Attached) uint8 {
	if a.Link.From.Node == f.Switches[s].GUID {
		return a.Link.From.Port
	}
	return a.Link.To.Port
}

// cellHeight is a switch with the hosts below it.
func (p *Places) cellHeight() float64 { return boxHeight + 3 + float64(p.rows)*hostPitch }

// size measures the map.
func (p *Places) size() {
	for s, at := range p.At {
		p.W = max(p.W, at.X+cellPitch)
		p.H = max(p.H, at.Y+p.cellHeight()+rowGap)
		if b := p.Block[s]; b >= 0 {
			k := &p.Blocks[b]
			if k.W == 0 {
				k.X, k.Y = at.X, at.Y
			}
			right, bottom := max(k.X+k.W, at.X+boxWidth), max(k.Y+k.H, at.Y+p.cellHeight())
			k.X, k.Y = min(k.X, at.X), min(k.Y, at.Y)
			k.W, k.H = right-k.X, bottom-k.Y
		}
	}
}

// step is the first of 2, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32 and so on that is greater than n: room for n and more.
func step(n int) int {
	for base := 4; ; base *= 2 {
		for _, s := range []int{base, base * 5 / 4, base * 3 / 2} {
			if s > n {
				return s
			}
		}
	}
}

// numbered is a switch with the numbers of its name.
type numbered struct {
	index   int
	name    string
	group   string // the name without its last number
	last    int    // the last number; -1 for none
	numbers int
}

// numberedOf are some switches, in the order of their names.
func numberedOf(f *shape.Fabric, switches []int) []numbered {
	all := make([]numbered, 0, len(switches))
	for _, s := range switches {
		n := numbered{index: s, name: f.Switches[s].Name, last: -1}
		end := strings.LastIndexAny(n.name, "0123456789") + 1
		begin := end
		for begin > 0 && n.name[begin-1] >= '0' && n.name[begin-1] <= '9' {
			begin--
		}
		n.group = n.name[:begin] + "#" + n.name[end:]
		n.numbers = strings.Count(shape.Kind(n.name), "#")
		if begin < end && end-begin < 9 {
			n.last = 0
			for _, c := range n.name[begin:end] {
				n.last = 10*n.last + int(c-'0')
			}
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b numbered) int {
		return cmp.Or(shape.Natural(a.name, b.name), cmp.Compare(f.Switches[a.index].GUID, f.Switches[b.index].GUID))
	})
	return all
}

// slots are places in a row for switches in the order of their names: by the last number of the name, group after
// group. turn is after how many numbers a row of others begins again, 0 for never.
func slots(all []numbered, turn int) (at []int, used int) {
	type span struct{ first, last, count, base int }
	spans, order := map[string]*span{}, []string{}
	for _, n := range all {
		s := spans[n.group]
		if s == nil {
			s = &span{first: n.last, last: n.last}
			spans[n.group] = s
			order = append(order, n.group)
		}
		s.first, s.last, s.count = min(s.first, n.last), max(s.last, n.last), s.count+1
	}
	room := 1
	for _, s := range spans {
		s.base = s.first
		switch begin := 1; {
		case s.first < 1:
		case turn > 0:
			begin = (s.first-1)/turn*turn + 1
			fallthrough
		default:
			if s.last-begin < step(max(s.count, turn)) {
				s.base = begin
			}
		}
		room = max(room, step(s.count))
	}
	offset := map[string]int{}
	for i, group := range order {
		offset[group] = i * room
	}
	taken := map[int]bool{}
	at = make([]int, len(all))
	var late []int
	for i, n := range all {
		at[i] = offset[n.group] + n.last - spans[n.group].base
		if n.last < 0 || n.last-spans[n.group].base >= room || taken[at[i]] {
			late = append(late, i)
			continue
		}
		taken[at[i]] = true
		used = max(used, at[i]+1)
	}
	for _, i := range late {
		at[i] = used
		used++
	}
	return at, used
}

// row places switches in rows of so many columns, as far apart as there is room, and returns the height.
func (p *Places) row(all []numbered, turn, columns int, x, y, height float64) float64 {
	at, used := slots(all, turn)
	apart := apartBy(used, columns)
	rows := 1
	for i, n := range all {
		slot := at[i] * apart
		p.At[n.index] = Point{x + float64(slot%columns)*cellPitch, y + float64(slot/columns)*height}
		rows = max(rows, slot/columns+1)
	}
	return float64(rows) * height
}

// apartBy is how many columns apart so many switches stand.
func apartBy(used, columns int) int {
	apart := 1
	for 2*apart*step(used) <= columns {
		apart *= 2
	}
	return apart
}

// middle is where a row begins that is in the middle of so many columns.
func middle(all []numbered, columns int) float64 {
	_, used := slots(all, 0)
	return float64(max(0, columns-apartBy(used, columns)*step(used))/2) * cellPitch
}

// levelsOf are the switches by level, the leafs first. Switches whose names differ in numbers alone are on one level,
// if nine in ten of them are: a wrong cable does not move a switch.
func levelsOf(f *shape.Fabric) [][]int {
	count := map[string][]int{}
	for s := range f.Switches {
		k := shape.Kind(f.Switches[s].Name)
		if count[k] == nil {
			count[k] = make([]int, f.Levels+1)
		}
		count[k][f.Switches[s].Level]++
	}
	levels := make([][]int, f.Levels)
	for s := range f.Switches {
		level, sum := f.Switches[s].Level, 0
		of := count[shape.Kind(f.Switches[s].Name)]
		for _, n := range of {
			sum += n
		}
		if most := slices.Index(of, slices.Max(of)); 10*of[most] >= 9*sum {
			level = most
		}
		levels[level-1] = append(levels[level-1], s)
	}
	return levels
}

// tree places leafs at the bottom. With three levels or more, leafs and the switches above them are pods.
func (p *Places) tree(f *shape.Fabric) {
	levels := levelsOf(f)
	height, columns, y := p.cellHeight()+rowGap, 0, 0.0
	var pods [][2][]numbered
	if len(levels) > 2 && len(levels[0]) > 0 && len(levels[1]) > 0 {
		pods = podsOf(f, levels)
	}
	podColumns, podWidth, podHeight := 0, 0, boxHeight+rowGap+38+height
	if len(pods) > 1 {
		for _, pod := range pods {
			podWidth = max(podWidth, step(len(pod[0])), step(len(pod[1])))
		}
		podColumns = max(1, int(math.Round(math.Sqrt(aspect*float64(step(len(pods)))*podHeight/
			float64(podWidth*cellPitch+blockGap)))))
		columns = podColumns*podWidth + (podColumns-1)*blockGap/cellPitch
	} else {
		for _, level := range levels {
			_, used := slots(numberedOf(f, level), 0)
			columns = max(columns, step(used-1))
		}
		if columns > widest {
			columns = max(widest, int(math.Sqrt(aspect*float64(columns)*height/cellPitch)))
		}
	}
	gap := min(max(levelGap, float64(columns)*cellPitch/8), 3*levelGap)
	if len(pods) <= 1 && columns <= widest && len(levels) > 1 { // as high as a screen where the rows are as wide
		gap = max(levelGap, (float64(columns)*cellPitch/screen-2*height)/float64(len(levels)-1))
	}
	lowest := 0
	if len(pods) > 1 {
		lowest = 2
	}
	for l := len(levels) - 1; l >= lowest; l-- {
		rowHeight := height
		if l > 0 {
			rowHeight = boxHeight + rowGap
		}
		all := numberedOf(f, levels[l])
		if len(all) == 0 {
			continue
		}
		if lowest == 2 {
			p.block(all)
		}
		y += p.row(all, 0, columns, middle(all, columns), y, rowHeight) + gap
	}
	if lowest == 2 {
		p.pods(pods, podColumns, podWidth, y, podHeight)
	}
}

// pods places pods side by side.
func (p *Places) pods(pods [][2][]numbered, columns, width int, y, height float64) {
	var turn [2]int
	for level := range turn {
		sizes := map[int]int{}
		for _, pod := range pods {
			sizes[len(pod[level])]++
		}
		most := 0
		for size, n := range sizes {
			if n > most || n == most && size > turn[level] {
				most, turn[level] = n, size
			}
		}
	}
	taken, next := map[int]bool{}, 0
	for i, pod := range pods {
		slot := i
		if first := pod[0][0]; first.numbers == 1 && first.last > 0 {
			slot = (first.last - 1) / max(turn[0], 1)
		}
		if taken[slot] || slot > 2*len(pods)+8 {
			slot = next
		}
		taken[slot], next = true, max(next, slot+1)
		x := float64(slot%columns) * float64(width*cellPitch+blockGap)
		top := y + float64(slot/columns)*height
		p.block(slices.Concat(pod[0], pod[1]))
		p.row(pod[1], turn[1], width, x, top, boxHeight+rowGap)
		p.row(pod[0], turn[0], width, x, top+boxHeight+38, p.cellHeight()+rowGap)
	}
}

// block makes a block of switches.
func (p *Places) block(all []numbered) {
	for _, n := range all {
		p.Block[n.index] = len(p.Blocks)
	}
	name := all[0].name
	if last := all[len(all)-1].name; last != name {
		name += " … " + last
	}
	p.Blocks = append(p.Blocks, Block{Name: name})
}
