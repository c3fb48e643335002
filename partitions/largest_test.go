package partitions

import (
	"bytes"
	"fmt"
	"syscall"
	"testing"
	"time"

	"ibsm/topo"
	"ibsm/topo/net"
	"ibsm/topo/netwalk"
)

// BenchmarkLargest is a file of the largest subnet, from its text to the tables of all
// ports: each host in two of the tenants. It reports CPU time, which is not that of the
// clock on a machine that does other things, too.
func BenchmarkLargest(b *testing.B) {
	for _, size := range []struct {
		fabric  string
		tenants int
	}{{"fattree:k=20", 250}, {"fattree:k=36", 1500}, {"fattree:k=54", 5000}} {
		n, err := net.Generate(size.fabric)
		if err != nil {
			b.Fatal(err)
		}
		t, err := netwalk.Topo(n, net.NoEnd)
		if err != nil {
			b.Fatal(err)
		}
		src := tenantFile(t, size.tenants)
		b.Run(fmt.Sprintf("%d ports, %d partitions", len(t.EndPorts), size.tenants), func(b *testing.B) {
			b.ReportAllocs()
			from := cpuTime(b)
			for b.Loop() {
				policy, errors, _ := Parse("p", src).Policy()
				if policy == nil {
					b.Fatal(errors)
				}
				if out := Compile(policy, Settings{}, t, Indexes{}); len(out.Overflows) > 0 {
					b.Fatal(out.Explain(out.Overflows[0], t))
				}
			}
			b.ReportMetric((cpuTime(b)-from).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// tenantFile divides the hosts among tenants of equal size, each of whose members is one
// of the next tenant's, too.
func tenantFile(t *topo.Topo, tenants int) []byte {
	var hosts []topo.PortIdx
	for _, p := range t.EndPorts {
		if t.Ports[p].Num != 0 {
			hosts = append(hosts, p)
		}
	}
	var b bytes.Buffer
	b.WriteString("Default=0x7fff, ipoib : ALL, SELF=full;\n")
	for i := range tenants {
		fmt.Fprintf(&b, "tenant%d=0x%04x, ipoib :\n", i, i+1)
		for j := i * len(hosts) / tenants; j < (i+2)*len(hosts)/tenants; j++ {
			fmt.Fprintf(&b, "    %v=full,\n", t.Ports[hosts[j%len(hosts)]].GUID)
		}
		b.WriteString("    NONE;\n")
	}
	return b.Bytes()
}

// cpuTime is what this process has used.
func cpuTime(b testing.TB) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
