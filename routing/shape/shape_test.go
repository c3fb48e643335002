package shape

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"ibsm/mad"
	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// shuffled is the subnet of a fabric whose GUIDs are in no order.
func shuffled(t testing.TB, fabric *net.Net, seed uint64) *topo.Topo {
	t.Helper()
	for i, guid := range rand.New(rand.NewPCG(seed, 1)).Perm(len(fabric.Nodes)) {
		n := &fabric.Nodes[i]
		n.GUID = mad.GUID(guid+1) << 16
		for p := range n.Ports {
			n.Ports[p].GUID = n.GUID + mad.GUID(p)
		}
	}
	found, err := netwalk.Topo(fabric, net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func generate(t testing.TB, spec string) *net.Net {
	t.Helper()
	fabric, err := net.Generate(spec)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return fabric
}

var generated = []struct {
	spec string
	want Kind
}{
	{"fattree:k=4", KindFatTree}, {"fattree:k=8", KindFatTree}, {"fattree:k=8,levels=2", KindFatTree}, {"fattree:k=16", KindFatTree},
	{"fattree:k=4,levels=4", KindFatTree}, {"fattree:k=12,taper=2", KindFatTree}, {"fattree:k=8,pods=3", KindFatTree}, {"fattree:k=36,levels=2", KindFatTree},
	{"torus:dims=5x5", KindTorus}, {"torus:dims=8x8", KindTorus}, {"torus:dims=6x7", KindTorus}, {"torus:dims=20x20", KindTorus},
	{"torus:dims=3x3", KindTorus}, {"torus:dims=3x4x5", KindTorus}, {"torus:dims=2x8", KindTorus}, {"torus:dims=2x8x8", KindTorus},
	{"torus:dims=5x5x5", KindTorus}, {"torus:dims=4x4x8", KindTorus}, {"torus:dims=3x3x3", KindTorus}, {"torus:dims=4x6", KindTorus}, {"torus:dims=3x10", KindTorus},
	{"torus:dims=4x5", KindTorus}, {"torus:dims=5x5x5x5", KindTorus},
	{"torus:dims=4x4", KindHypercube}, {"torus:dims=4x4x4", KindHypercube}, {"hypercube:dim=4", KindHypercube}, {"hypercube:dim=3", KindHypercube}, {"hypercube:dim=7", KindHypercube},
	{"mesh:dims=4x4", KindMesh}, {"mesh:dims=8x8", KindMesh}, {"mesh:dims=3x4x5", KindMesh}, {"mesh:dims=2x6", KindMesh}, {"mesh:dims=5x5x5", KindMesh}, {"mesh:dims=20x20", KindMesh}, {"mesh:dims=3x3x3", KindMesh},
	{"hyperx:dims=4x4", KindHyperX}, {"hyperx:dims=3x5x4", KindHyperX}, {"hyperx:dims=8x8", KindHyperX}, {"hyperx:dims=6", KindHyperX}, {"hyperx:dims=20", KindHyperX}, {"hyperx:dims=2x5", KindHyperX}, {"hyperx:dims=5x5x5", KindHyperX}, {"hyperx:dims=16x16", KindHyperX},
	{"dragonfly:a=4,h=2", KindDragonfly}, {"dragonfly:a=6,h=3", KindDragonfly}, {"dragonfly:a=8,h=4", KindDragonfly}, {"dragonfly:a=8,h=4,groups=10", KindDragonfly},
	{"dragonfly+:h=2", KindDragonflyPlus}, {"dragonfly+:l=4,s=4,p=4,h=1", KindDragonflyPlus}, {"dragonfly+:l=3,s=2,p=2,h=2,groups=3", KindDragonflyPlus}, {"dragonfly+:l=8,s=8,p=8,h=2", KindDragonflyPlus},
	{"dragonfly:a=4,h=1", KindDragonfly}, {"dragonfly:a=4,h=4", KindDragonfly}, {"dragonfly:a=3,h=2", KindDragonfly}, {"dragonfly:a=3,h=3", KindDragonfly},
}

func TestFind(t *testing.T) {
	seeds := 20
	if os.Getenv("IBSM_PROOF") != "" {
		seeds = 200
	}
	for _, c := range generated {
		t.Run(c.spec, func(t *testing.T) {
			s := Find(shuffled(t, generate(t, c.spec), 1))
			t.Logf("%v", s.Seen)
			if s.Kind != c.want {
				t.Errorf("whole: %v", s.Seen)
			}
			for _, damage := range []string{"missing-links=3%", "missing-switches=1", "missing-links=3%,missing-switches=1"} {
				bad := 0
				text := ""
				for seed := range seeds {
					s := Find(shuffled(t, generate(t, fmt.Sprintf("%s,%s,seed=%d", c.spec, damage, seed+1)), uint64(seed)))
					if s.Kind != c.want {
						bad++
						text = fmt.Sprint(seed, s.Kind, s.Seen)
					}
				}
				if bad > 0 {
					t.Errorf("%s: %d of %d: %v", damage, bad, seeds, text)
				}
			}
		})
	}
}
