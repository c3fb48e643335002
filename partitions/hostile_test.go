package partitions

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
	"ibsm/topo/netwalk"
)

// numberedLines is a text with so many lines, whose numbers are put in for %[1]x.
func numberedLines(head, line string, lines int, tail string) []byte {
	b := bytes.NewBufferString(head)
	for i := range lines {
		if strings.Contains(line, "%") {
			fmt.Fprintf(b, line, i+1)
		} else {
			b.WriteString(line)
		}
	}
	b.WriteString(tail)
	return b.Bytes()
}

// hostileFiles are files that say much about all ports.
var hostileFiles = []struct {
	name string
	text []byte
}{
	{"ALL in one partition", numberedLines("a=1:\n", "ALL=full,\n", 200_000, "ALL;\n")},
	{"sets with indx0", numberedLines("a=1, indx0:\n", "ALL=full,\nALL_CAS,\n", 100_000, ";\n")},
	{"definitions of one partition", numberedLines("", "a=1: ALL=full;\n", 200_000, "")},
	{"partitions with all ports", numberedLines("", "a%[1]x=0x%[1]x: ALL;\n", 32_000, "")},
	{"groups of all ports", numberedLines("", "a%[1]x=0x%[1]x, ipoib, rate=26: ALL=full;\n", 32_000, "")},
	{"groups of one partition", numberedLines("a=1, ipoib, rate=26: ALL=full;\na=1:\n",
		"mgid=ff12::%[1]x,rate=26\n", 120_000, ";\n")},
	{"one group again", numberedLines("a=1, ipoib: ALL=full;\na=1:\n", "mgid=ff12::1\n", 200_000, ";\n")},
	{"a name again", append(numberedLines("", "a%[1]x=0x%[1]x: ALL;\n", 10_000, ""),
		numberedLines("", "a2710: SELF;\n", 100_000, "")...)},
	{"patterns", numberedLines("a=1:\n", "*%[1]x*,\n", maxPatterns, ";\n")},
	{"ranges", numberedLines("a=1:\n", "0x1%[1]x-0xffffffffffffffff,\n", maxPatterns, ";\n")},
}

// BenchmarkHostile reports the CPU time of a file that is hostile, in a subnet of 11,664 hosts.
func BenchmarkHostile(b *testing.B) {
	n, err := net.Generate("fattree:k=36")
	if err != nil {
		b.Fatal(err)
	}
	t, err := netwalk.Topo(n, net.NoEnd)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range hostileFiles {
		b.Run(f.name, func(b *testing.B) {
			var parse, compile, conflicts time.Duration
			for b.Loop() {
				from := cpuTime(b)
				policy, errors, _ := Parse("p", f.text).Policy()
				if policy == nil {
					b.Fatal(errors)
				}
				parsed := cpuTime(b)
				Compile(policy, Settings{}, t, nil)
				compiled := cpuTime(b)
				policy.Conflicts(t)
				parse, compile, conflicts = parse+parsed-from, compile+compiled-parsed, conflicts+cpuTime(b)-compiled
			}
			for unit, d := range map[string]time.Duration{"parse": parse, "compile": compile, "conflicts": conflicts} {
				b.ReportMetric(d.Seconds()*1000/float64(b.N), unit+"-ms/op")
			}
		})
	}
}

// TestRepeatedSets: what a file says of all ports again and again costs no more than reading it.
func TestRepeatedSets(t *testing.T) {
	sub, err := netwalk.Topo(nettest.Generate(t, "fattree:k=36"), net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range hostileFiles[:3] {
		from := cpuTime(t)
		policy, errors, _ := Parse("p", f.text).Policy()
		if policy == nil {
			t.Fatal(errors)
		}
		parsed := cpuTime(t)
		out := Compile(policy, Settings{}, sub, nil)
		policy.Conflicts(sub)
		if read, rest := parsed-from, cpuTime(t)-parsed; rest > read {
			t.Errorf("%s: reading takes %v, the rest %v", f.name, read, rest)
		}
		if table := out.Want[sub.EndPorts[0]]; !table.Has(0x8001) && !table.Has(1) {
			t.Errorf("%s: the first port has %v", f.name, table.Keys())
		}
	}
}

// TestTooManyPatterns: each is looked up in the whole subnet, so their number is bounded.
func TestTooManyPatterns(t *testing.T) {
	for _, line := range []string{"h[%[1]d],\n", "0x%[1]x-0xff00000,\n"} {
		for lines, want := range map[int]string{maxPatterns: "",
			maxPatterns + 1: "more than 8192 ranges, patterns and port groups: "} {
			policy, errors, _ := Parse("p", numberedLines("a=1:\n", line, lines, "0x10=full;\n")).Policy()
			if (policy != nil) != (want == "") || len(errors) > 0 && (want == "" || len(errors) > 1 ||
				!strings.HasPrefix(errors[0].Text, want) || errors[0].Line != maxPatterns+2) {
				t.Errorf("%d lines: %v", lines, errors)
			}
		}
	}
}

// TestExplainMany: a port that finds no room for many keys is described by the first, and their number.
func TestExplainMany(t *testing.T) {
	sub, err := netwalk.Topo(nettest.Generate(t, "fattree:k=2,levels=2"), net.NoEnd)
	if err != nil {
		t.Fatal(err)
	}
	policy, errors, _ := Parse("p", numberedLines("", "a%[1]x=0x%[1]x: ALL;\n", 2000, "")).Policy()
	if policy == nil {
		t.Fatal(errors)
	}
	out := Compile(policy, Settings{}, sub, nil)
	if len(out.Overflows) == 0 {
		t.Fatal("there is room")
	}
	o := out.Overflows[0]
	text := out.Explain(o, sub)
	want := fmt.Sprintf("%s, %d more: take it out of a partition", policy.Name(o.Left[7]), len(o.Left)-8)
	if len(o.Left)+o.Size != MaxKeys || !strings.HasSuffix(text, want) || !strings.Contains(text, " (a") {
		t.Errorf("%d keys are left: %s, want %s", len(o.Left), text, want)
	}
}
