package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rails writes a topology of units of hosts with eight adapters, each of which is on a leaf of its own: a tree of two
// levels, whose spines have one cable to each leaf.
func rails(t *testing.T, units, hosts, spines int) (file string) {
	t.Helper()
	const adapters = 8
	var b strings.Builder
	leaf := func(unit, adapter int) uint64 { return 0xb83fd20300400000 + uint64(unit*adapters+adapter)<<6 }
	spine := func(n int) uint64 { return 0xb83fd20300500000 + uint64(n)<<6 }
	host := func(unit, h, adapter int) uint64 {
		return 0xb83fd20300a00000 + uint64((unit*hosts+h)*adapters+adapter)<<4
	}
	device := func(kind string, id, ports int, guid uint64, name string) {
		fmt.Fprintf(&b, "vendid=0x2c9\ndevid=0x%x\nsysimgguid=0x%016x\n%sguid=0x%016x\n", id, guid,
			strings.ToLower(kind), guid)
		fmt.Fprintf(&b, "%s\t%d \"%s-%016x\"\t\t# %q", kind, ports, map[string]string{"Switch": "S", "Ca": "H"}[kind], guid, name)
		if kind == "Switch" {
			b.WriteString(" enhanced port 0 lid 0 lmc 0")
		}
		b.WriteString("\n")
	}
	cable := func(port int, kind string, guid uint64, peer int, name string) {
		fmt.Fprintf(&b, "[%d]\t\"%s-%016x\"[%d]\t\t# %q lid 0 4xNDR\n", port, kind, guid, peer, name)
	}
	leafName := func(unit, adapter int) string { return fmt.Sprintf("unit%d-leaf%d", unit+1, adapter+1) }
	hostName := func(unit, h, adapter int) string { return fmt.Sprintf("gpu%03d mlx5_%d", unit*hosts+h+1, adapter) }
	for unit := range units {
		for a := range adapters {
			device("Switch", 0xd2f2, 64, leaf(unit, a), leafName(unit, a))
			for h := range hosts {
				cable(h+1, "H", host(unit, h, a), 1, hostName(unit, h, a))
			}
			for n := range spines {
				cable(hosts+n+1, "S", spine(n), unit*adapters+a+1, fmt.Sprintf("spine%02d", n+1))
			}
			b.WriteString("\n")
		}
	}
	for n := range spines {
		device("Switch", 0xd2f2, 64, spine(n), fmt.Sprintf("spine%02d", n+1))
		for unit := range units {
			for a := range adapters {
				cable(unit*adapters+a+1, "S", leaf(unit, a), hosts+n+1, leafName(unit, a))
			}
		}
		b.WriteString("\n")
	}
	for unit := range units {
		for h := range hosts {
			for a := range adapters {
				device("Ca", 0x1021, 1, host(unit, h, a), hostName(unit, h, a))
				cable(1, "S", leaf(unit, a), h+1, leafName(unit, a))
				b.WriteString("\n")
			}
		}
	}
	file = filepath.Join(t.TempDir(), "rails.topo")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
