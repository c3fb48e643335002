package shape

import (
	"fmt"
	"os"
	"testing"
)

func TestDebug(t *testing.T) {
	spec, seed := os.Getenv("SPEC"), uint64(0)
	if spec == "" {
		t.Skip()
	}
	fmt.Sscan(os.Getenv("SEED"), &seed)
	n := shuffled(t, generate(t, fmt.Sprintf("%s,seed=%d", spec, seed+1)), seed)
	name := func(s int) string { return n.Nodes[n.Switches[s]].Desc.String()[6:] }
	f := newFabric(n)
	p, err := newProduct(f)
	fmt.Println(err)
	c := newClasses(f)
	dims := c.dimensions()
	firm := c.firm(dims, 4)
	for d, dim := range dims {
		for _, cl := range dim {
			fmt.Print("dim ", d, " firm ", firm[cl], ": ")
			for _, l := range c.links[cl] {
				fmt.Print(name(int(c.ends[l][0])), "/", name(int(c.ends[l][1])), " ")
			}
			fmt.Println()
		}
	}
	if p == nil {
		return
	}
	for s := range p.at {
		v := []any{}
		for _, d := range p.dims {
			if d.value != nil {
				v = append(v, d.value[s])
			}
		}
		fmt.Println(name(s), p.at[s], v)
	}
	for _, ends := range p.ends {
		a, z := p.at[ends[0]], p.at[ends[1]]
		if a == nil || z == nil {
			continue
		}
		if d, _ := p.along(ends); d < 0 || !p.dims[d].next(int(a[d]), int(z[d])) {
			fmt.Println("foreign", name(int(ends[0])), name(int(ends[1])), a, z)
		}
	}
}
