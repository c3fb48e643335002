package torus

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ibsm/conf/diag"
)

// fabric is a torus for a test, with its cables at random ports and random GUIDs.
type fabric struct {
	dims     [3]int
	open     [3]bool
	cables   int      // of each link
	hosts    int      // at each switch
	gone     [][3]int // switches that are missing
	lost     int      // links that are missing, with all their cables
	less     int      // cables that are missing
	extra    int      // cables between random switches
	lmc      int
	shift    int    // coordinates of the seed's switch, from 0,0,0
	seeds    int    // in the configuration; 0 is 1
	options  string // lines of the configuration
	settings string // "torus 4 4 1" for another topology than that of the fabric
	seed     uint64
}

func (f fabric) String() string {
	text := fmt.Sprintf("%dx%dx%d", f.dims[0], f.dims[1], f.dims[2])
	for dim, open := range f.open {
		if open {
			text += " open " + axes[dim:dim+1]
		}
	}
	return text + fmt.Sprintf(
		" cables %d hosts %d gone %v lost %d less %d extra %d lmc %d shift %d seeds %d %q %s seed %d", f.cables,
		f.hosts, f.gone, f.lost, f.less, f.extra, f.lmc, f.shift, f.seeds, f.options, f.settings, f.seed)
}

// built is a fabric as files for ibsim and OpenSM.
type built struct {
	net, conf string
}

// node is a switch or host of a fabric that is built.
type node struct {
	guid  uint64
	name  string
	ports []string // what each port is cabled to, from port 1 on; "" for nothing
}

// free is a free port of a node.
func (n *node) free(rng *rand.Rand) int {
	for {
		if p := rng.IntN(len(n.ports)); n.ports[p] == "" {
			return p
		}
	}
}

func join(rng *rand.Rand, a, b *node) {
	p := a.free(rng)
	a.ports[p] = "-"
	q := b.free(rng)
	a.ports[p], b.ports[q] = fmt.Sprintf("%q[%d]", b.name, q+1), fmt.Sprintf("%q[%d]", a.name, p+1)
}

func (f *fabric) build(t testing.TB) built {
	t.Helper()
	rng := rand.New(rand.NewPCG(f.seed, 7))
	switches := map[[3]int]*node{}
	var all, hosts []*node
	var places [][3]int
	add := func(list *[]*node, name string, ports int) *node {
		n := &node{guid: rng.Uint64()>>8 | 1<<40, name: name, ports: make([]string, ports)}
		*list = append(*list, n)
		return n
	}
	for x := range f.dims[0] {
		for y := range f.dims[1] {
			for z := range f.dims[2] {
				at := [3]int{x, y, z}
				places = append(places, at)
				if !slices.Contains(f.gone, at) {
					switches[at] = add(&all, fmt.Sprintf("s-%d-%d-%d", x, y, z), 6*f.cables+f.hosts+4)
				}
			}
		}
	}
	type link struct{ a, b *node }
	var links []link
	for _, at := range places {
		for dim, n := range f.dims {
			to := at
			to[dim] = (at[dim] + 1) % n
			if n > 1 && switches[at] != nil && switches[to] != nil && !(f.open[dim] && to[dim] == 0) &&
				!(n == 2 && to[dim] == 0) {
				links = append(links, link{switches[at], switches[to]})
			}
		}
	}
	rng.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
	less := f.less
	for _, l := range links[f.lost:] {
		for c := range f.cables {
			if c > 0 && less > 0 {
				less--
			} else {
				join(rng, l.a, l.b)
			}
		}
	}
	for range f.extra {
		join(rng, all[rng.IntN(len(all))], all[rng.IntN(len(all))])
	}
	for _, s := range slices.Clone(all) {
		for h := range f.hosts {
			join(rng, s, add(&hosts, fmt.Sprintf("h%s-%d", s.name[1:], h), 1))
		}
	}
	dir := t.TempDir()
	b := built{filepath.Join(dir, "fabric.net"), filepath.Join(dir, "torus-2QoS.conf")}
	var text strings.Builder
	for _, n := range append(all, hosts...) {
		kind, key := "Switch", "switchguid"
		if n.name[0] == 'h' {
			kind, key = "Hca", "caguid"
		}
		fmt.Fprintf(&text, "%s=%#x\n%s %d %q\n", key, n.guid, kind, len(n.ports), n.name)
		for p, to := range n.ports {
			if to != "" {
				fmt.Fprintf(&text, "[%d] %s\n", p+1, to)
			}
		}
		text.WriteString("\n")
	}
	for name, content := range map[string]string{b.net: text.String(), b.conf: f.config(switches)} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// config is the configuration of the torus. Each seed is a switch further along all dimensions, of which
// none is missing, nor any next to it.
func (f *fabric) config(switches map[[3]int]*node) string {
	var b strings.Builder
	if f.settings != "" {
		b.WriteString(f.settings + "\n")
	} else {
		b.WriteString("torus")
		for dim, n := range f.dims {
			fmt.Fprintf(&b, " %d%s", n, map[bool]string{true: "M", false: "t"}[f.open[dim]])
		}
		b.WriteString("\n")
	}
	b.WriteString(f.options + "\n")
	for n := range max(f.seeds, 1) {
		at := [3]int{f.shift + n, f.shift + n, f.shift + n}
		if n > 0 {
			b.WriteString("next_seed\n")
		}
		for dim, radix := range f.dims {
			at[dim] %= radix
		}
		for dim, radix := range f.dims {
			for side, sign := range []int{-1, 1} {
				to := at
				to[dim] = (at[dim] + sign + radix) % radix
				if radix == 1 || f.open[dim] && (to[dim]-at[dim]) != sign || radix == 2 && (to[dim]-at[dim]) != sign {
					continue
				}
				var guids [2]uint64
				for i, p := range [][3]int{at, to} {
					if s := switches[p]; s != nil {
						guids[i] = s.guid
					} else {
						guids[i] = 0xdead
					}
				}
				fmt.Fprintf(&b, "%c%c_link %#x %#x # from %v\n", axes[dim], "mp"[side], guids[0], guids[1], at)
			}
		}
		if n > 0 {
			for dim, radix := range f.dims {
				if radix > 1 {
					fmt.Fprintf(&b, "%c_dateline %d\n", axes[dim], -(at[dim]-f.shift%radix)%radix)
				}
			}
		}
	}
	return b.String()
}

// settingsOf reads a configuration.
func settingsOf(t testing.TB, file string) (*Settings, diag.List) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, _, errors := Parse(file, text)
	return s, errors
}
