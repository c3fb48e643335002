package partitions

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// Errors say where, what, and what to do.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"", `p:1: the file defines no partition; for OpenSM's behaviour without a file write Default=0x7fff, ipoib : ALL=full;`},
		{"Z=0x20 ALL=full; A=1:ALL;\n", `p:1:1: "Z=0x20 ALL=full;": no ':' in it`},
		{"A=1:ALL;\nZ=0x20 ALL=full,\n0x1,\n0x2;\nB=2x:ALL;\n",
			"p:2:1: \"Z=0x20 ALL=full,\": no ':' in it|p:5:3: P_Key \"2x\": expected a number of 0x1 to 0x7fff"},
		{"A=1:ALL\nB=2 : ALL;\n",
			`p:2:1: "B=2 ": a definition begins here, but that of line 1 does not end; write ';'`},
		{"A=1:ALL\n, B=2 : ALL;\n", `p:2:3: "B=2 ": a definition begins here, but that of line 1 does not end`},
		{"A=ffff:ALL;", `P_Key "ffff": expected a number of 0x1 to 0x7fff; did you mean 0xffff?`},
		{"A=1:ALL_HCAS;",
			`p:1:5: "ALL_HCAS" is neither a port GUID nor a set of ports; expected 0x and up to 16 hexadecimal digits, or ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, ALL_VCAS, SELF or NONE, or a range of GUIDs, the name of a host or @ and a port group; did you mean ALL_CAS?`},
		{"A=1:self=full;", "did you mean SELF?"},
		{"A=1:b83fd20300a00020;", "did you mean 0xb83fd20300a00020?"},
		{"A=1:\nb8:3f:d2:03:00:a0:00:20=full;", "did you mean 0xb83fd20300a00020?"},
		{"A=1:0;", `"0" is neither a port GUID`},
		{"A=1:mgid;", "mgid without an address"},
		{"A=1:ALL;\n\x00", "p:2:1: a byte 0: this is not a text file"},
		{"A=1:ALL;\n" + strings.Repeat("x", MaxLine+1), "p:2: line of 1048577 bytes: at most 1048576 are read"},
		{strings.Repeat("x;\n", 5000), "too many errors"},
		{strings.Repeat("A=1:x!;\n", 5000), `p:200:5: "x!" is neither`},
	} {
		_, errors, _ := Parse("p", []byte(c.file)).Policy()
		text := errors.Error()
		for want := range strings.SplitSeq(c.want, "|") {
			if !strings.Contains(text, want) {
				t.Errorf("%.80q: %.300s\nwant %s", c.file, text, want)
			}
		}
		if len(errors) > maxFindings+1 {
			t.Errorf("%.80q: %d errors", c.file, len(errors))
		}
	}
	for name, src := range map[string][]byte{"large": make([]byte, MaxFile+1),
		"wide": slices.Concat(bytes.Repeat([]byte("x"), MaxLine+1), []byte("\ny;\n"))} {
		if f := Parse("p", src); len(f.Errors) != 1 {
			t.Errorf("a %s file: %v", name, f.Errors)
		}
	}
}

// TestHostileTexts: texts that are nothing but marks are refused where they are too long, with the limit, and below it
// take a bounded amount of memory: 24 MB of line ends took 4 GB.
func TestHostileTexts(t *testing.T) {
	const tooMany = "more than 1048576 line ends, equals signs, commas, colons and semicolons: no more are read"
	for _, c := range []struct{ head, part, tail string }{
		{"", "\n", ""}, {"", "#\n", ""}, {"a=1:", "ALL,\n", ";"}, {"a=1,", "b,", ":;"}, {"", "a=1:;", ""},
		{"a=1:\n", "mgid=ff12::1,rate=3\n", ";"},
	} {
		marks := 0
		for _, mark := range "\n=,:;" {
			marks += strings.Count(c.part, string(mark))
		}
		n := MaxMarks/marks - 8
		if !strings.Contains(c.part, "\n") { // one line
			n = min(n, (MaxLine-8)/len(c.part))
		}
		text := []byte(c.head + strings.Repeat(c.part, n) + c.tail)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, errors, _ := Parse("p", text).Policy()
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
			t.Errorf("%d times %q: %d bytes are allocated", n, c.part, used)
		}
		t.Logf("%d times %q: %d MiB, %.100v", n, c.part, (after.TotalAlloc-before.TotalAlloc)>>20, errors.Err())
		if _, errors, _ := Parse("p", append(text, bytes.Repeat([]byte("\n"), MaxMarks)...)).Policy(); len(errors) != 1 ||
			!strings.Contains(errors.Error(), tooMany) {
			t.Errorf("more than %d times %q: %.200v", n, c.part, errors)
		}
	}
	if _, errors, _ := Parse("p", bytes.Repeat([]byte("\n"), 24<<20)).Policy(); !strings.Contains(errors.Error(),
		"file of 25165824 bytes: at most 16777216 are read") {
		t.Errorf("24 MiB of line ends: %v", errors)
	}
}

// Warnings are about what is legal and hardly meant.
func TestWarnings(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"A=1:ALL;", `p:1:1: "A" has no full member`},
		{"A=1:;", `p:1:1: "A" has no member`},
		{"A=1:ALL=full;B=1:SELF=full;", `p:1:14: "B" has the P_Key 0x0001 of "A"; both are one partition, named "A"`},
		{"A=0x7fff:SELF;", `p:1:10: the manager's port is a limited member of the default partition`},
		{"A=1:ALL=ful1;",
			`p:1:9: "ful1" is not a membership; using limited; expected full, limited or both; did you mean full?`},
		{"A=1:10=full;", `"10" is read as a decimal number, port 0x000000000000000a; write 0x`},
		{"A=1,ipioib:ALL=full;", `p:1:5: unknown flag "ipioib" is ignored; did you mean ipoib?`},
		{"A=1,rate=200:ALL=full;", "did you mean 17, 200 Gb/s?"},
		{"A=1,mtu=4096:ALL=full;", "did you mean 5?"},
		{"A=1,rate=23:ALL=full;", `rate "23": OpenSM 3.3.23 does not support it and creates no group`},
		{"A=1,ipoib,rate=0:ALL=full;", "no broadcast group"},
		{"A=1:\nmgid=ff12::5,rate=0\nALL=full;", "no group ff12::5: its rate or MTU is not valid"},
		{"A=1:\nmgid=ff12::5,mtu=0\nALL=full;", "no group ff12::5: its rate or MTU is not valid"},
		{"A=1,rate=400Gbps:ALL=full;", `p:1:10: "400Gbps": OpenSM ignores the unit; write 21 for both programs`},
		{"A=1,rate=2400Gbps:ALL=full;", `p:1:10: "2400Gbps": OpenSM ignores the unit; write 26 for both programs`},
		{"A=1,mtu=4096bytes:ALL=full;", `"4096bytes": OpenSM ignores the unit; write 5 for both programs`},
		{"A=1:ALL=full;\n" + strings.Repeat(" ", lineOfOpenSM+1), "p:2: line of 4095 bytes: OpenSM cuts it after 4094"},
	} {
		policy, errors, warnings := Parse("p", []byte(c.file)).Policy()
		if policy == nil || !strings.Contains(warnings.Error(), c.want) {
			t.Errorf("%.80q: %v, %v\nwant %s", c.file, errors, warnings, c.want)
		}
	}
	for _, quiet := range []string{"A=1:\nmgid=ff12::5\nALL=full;"} {
		if _, errors, warnings := Parse("p", []byte(quiet)).Policy(); len(errors)+len(warnings) > 0 {
			t.Errorf("%s: %v, %v", quiet, errors, warnings)
		}
	}
	if _, errors, _ := Parse("p", []byte("A=1:"+strings.Repeat("x", 5000)+";")).Policy(); len(errors) != 1 ||
		len(errors.Error()) > 500 {
		t.Errorf("a long word: %d errors of %d bytes", len(errors), len(errors.Error()))
	}
	if _, errors, warnings := Parse("p", []byte(redHat)).Policy(); len(errors)+len(warnings) > 0 {
		t.Errorf("the guide's file: %v %v", errors, warnings)
	}
}

// A GUID that lacks 0x is recognised; more digits than a GUID has are none.
func TestGUIDWithoutPrefix(t *testing.T) {
	for word, suggested := range map[string]bool{"0123456789abcdef": true, "0123456789abcdef0": false,
		"0123456789abcdeg": false} {
		_, errors, _ := Parse("p", []byte("A=1:"+word+"=full;")).Policy()
		if text := errors.Error(); !strings.Contains(text, word) ||
			strings.Contains(text, "did you mean 0x"+word) != suggested {
			t.Errorf("%s: %s", word, text)
		}
	}
}

// The Red Hat guide says what its file means.
func TestRedHat(t *testing.T) {
	policy, _, _ := Parse("p", []byte(redHat)).Policy()
	if len(policy.Partitions) != 2 || policy.Partitions[1].Name != "ib0_2" {
		t.Fatalf("%+v", policy.Partitions)
	}
	for i, want := range []struct {
		key  mad.PKey
		gbps float64
	}{{0x7fff, 10}, {0x0002, 40}} {
		p := policy.Partitions[i]
		if p.Key != want.key || !p.IPoIB || len(p.Groups) != 4 {
			t.Errorf("%+v", p)
		}
		for _, g := range p.Groups {
			if key := mad.PKey(g.MGID[4])<<8 | mad.PKey(g.MGID[5]); key != want.key|mad.FullMember ||
				g.Rate.Gbps() != want.gbps || g.MTU.Bytes() != 2048 {
				t.Errorf("group %s of key %s, rate %d, MTU %d", g.MGID, key, g.Rate, g.MTU)
			}
		}
		if last := p.Members[len(p.Members)-2]; last.String() != "ALL=full" {
			t.Errorf("members %v", p.Members)
		}
	}
}

// TestSL: the paths of a partition have the SL of its last definition, as with OpenSM, and 0 without one.
func TestSL(t *testing.T) {
	policy, errors, _ := Parse("p",
		[]byte("A=1,sl=3: ALL=full;\nB=2: ALL;\nC=3,ipoib,sl=5: ALL;\nD=4,sl=3: ALL;\nD=4,sl=6: SELF;\nE=5,sl=3: ALL;\nE=5: SELF;")).Policy()
	if errors != nil {
		t.Fatal(errors)
	}
	got := map[string]uint8{}
	for _, p := range policy.Partitions[1:] {
		got[p.Name] = p.SL
	}
	if want := map[string]uint8{"A": 3, "B": 0, "C": 5, "D": 6, "E": 0}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Members and definitions know where they stand.
func TestPositions(t *testing.T) {
	policy, _, _ := Parse("p", []byte("\n  A=1 :\n\t0x5=full, SELF # x\n, mgid=ff12::1,sl=1;")).Policy()
	a := policy.Partitions[1]
	got := fmt.Sprint(a.Position, a.Members[0].Position, a.Members[1].Position, a.Groups[0].Position)
	if want := "p:2:3 p:3:2 p:3:12 p:4:3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// plain is a policy without the places of its lines.
func plain(p *Policy) *Policy {
	if p == nil {
		return nil
	}
	c := &Policy{Partitions: slices.Clone(p.Partitions)}
	for i := range c.Partitions {
		q := &c.Partitions[i]
		q.Position = diag.Position{}
		q.Members, q.Groups = slices.Clone(q.Members), slices.Clone(q.Groups)
		for j := range q.Members {
			q.Members[j].Position = diag.Position{}
		}
		for j := range q.Groups {
			q.Groups[j].Position = diag.Position{}
		}
	}
	return c
}

func samePolicy(a, b *Policy) bool { return reflect.DeepEqual(plain(a), plain(b)) }

// FuzzParse: whatever the bytes, reading ends, keeps every one, and stays within bounds.
func FuzzParse(f *testing.F) {
	for _, e := range examples {
		f.Add([]byte(e.file))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file := Parse("p", src)
		if !bytes.Equal([]byte(file.Src), src) {
			t.Error("the text has changed")
		}
		policy, errors, warnings := file.Policy()
		if (policy == nil) != (len(errors) > 0) || len(errors) > maxFindings+2 || len(warnings) > maxFindings+1 {
			t.Errorf("policy %v, %d errors, %d warnings", policy, len(errors), len(warnings))
		}
		for _, d := range file.Definitions {
			if d.Start > d.Colon || d.Colon >= d.End || d.End > len(src) {
				t.Errorf("definition %d, %d, %d of %d", d.Start, d.Colon, d.End, len(src))
			}
		}
		for _, token := range file.tokens {
			if w := token.word; file.Src[w.Start:w.end()] != w.Text {
				t.Errorf("word %q is %q in the file", w.Text, file.Src[w.Start:w.end()])
			}
		}
	})
}

// largeFile has as many ports and partitions as a subnet can.
func largeFile(ports, partitions int) []byte {
	var b bytes.Buffer
	for i := range partitions {
		fmt.Fprintf(&b, "tenant%d=0x%04x, ipoib :\n", i, i+1)
		for j := i * ports / partitions; j < (i+2)*ports/partitions; j++ {
			fmt.Fprintf(&b, "    0x%016x=full,\n", 0xb83fd20300a00000+uint64(j%ports))
		}
		b.WriteString("    SELF;\n")
	}
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for _, size := range []struct{ ports, partitions int }{{648, 64}, {11664, 1000}, {39366, 5000}, {39366, 32000}} {
		src := largeFile(size.ports, size.partitions)
		b.Run(fmt.Sprintf("ports-%d-partitions-%d", size.ports, size.partitions), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if p, errors, _ := Parse("p", src).Policy(); p == nil {
					b.Fatal(errors)
				}
			}
		})
	}
}

// TestNewestRate: the highest rate that OpenSM makes groups of has no warning; TestExamplesAsOpenSM asks OpenSM.
func TestNewestRate(t *testing.T) {
	if _, errors, warnings := Parse("p", []byte("A=1,rate=22:ALL=full;")).Policy(); errors.Error() != "" ||
		warnings.Error() != "" {
		t.Errorf("%v, %v", errors, warnings)
	}
}

// TestForeignMembership: a wrong membership of a member that OpenSM does not accept is an error, not a limited member:
// to OpenSM the line is an error in any case.
func TestForeignMembership(t *testing.T) {
	for file, want := range map[string]string{
		"A=1:node01=ful1;":                 `p:1:12: "ful1" is not a membership; expected full, limited or both; did you mean full?`,
		"A=1:0x10-0x20=;":                  `p:1:15: "" is not a membership`,
		"Default=0x7fff:ALL=full\nx=y=z;;": `p:2:3: "y=z" is not a membership`,
	} {
		if _, errors, _ := Parse("p", []byte(file)).Policy(); len(errors) != 1 ||
			!strings.Contains(errors.Error(), want) {
			t.Errorf("%q: %v, want %s", file, errors, want)
		}
	}
}
