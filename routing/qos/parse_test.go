package qos

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ibsm/conf/policyfile"
	"ibsm/mad"
)

// TestFull: the manual says what its file means.
func TestFull(t *testing.T) {
	p, errors, warnings := Parse(nil, "p", []byte(full))
	if p == nil || len(warnings) != 2 { // qos-setup, and default of qos-ulps
		t.Fatalf("errors %v\nwarnings %v", errors, warnings)
	}
	var guids policyfile.Ranges
	for _, r := range p.Groups[0].Rules {
		guids = append(guids, r.GUIDs...)
	}
	if want := (policyfile.Ranges{{From: 0x10000000000001, To: 0x10000000000001},
		{From: 0x10000000000005, To: 0x1000000000fffa}, {From: 0x1000000000ffff, To: 0x1000000000ffff}}); !slices.Equal(
		guids, want) {
		t.Errorf("GUIDs %x, want %x", guids, want)
	}
	if n := p.Groups[1].Rules[0].Names; len(n) != 2 || n[0].Node != "vs1 HCA-1" || n[0].Port != 1 ||
		n[1].Node != "vs2 HCA-1" || n[1].Port != 2 {
		t.Errorf("port names %+v", n)
	}
	if g := p.Groups[2]; !slices.Equal(g.Rules[1].PKeys,
		policyfile.Ranges{{From: 1, To: 9}, {From: 0x1234, To: 0x1234}}) || g.Rules[0].Partitions[0].Text != "Part1" {
		t.Errorf("partitions %+v", g)
	}
	if g := p.Groups[3].Rules[0]; !g.Self || !g.Types.Has(mad.CA) || g.Types.Has(mad.Switch) ||
		g.Types.Has(mad.Router) {
		t.Errorf("node types %+v", g)
	}
	l := p.Levels[1]
	if l.SL != 1 || l.MTU != mad.MTU2048 || l.Rate != 5 || l.PacketLife.Or(18) != 8 ||
		!slices.Equal(l.PKeys, policyfile.Ranges{{From: 0x1234, To: 0x1234}}) ||
		!slices.Equal(l.PathBits, policyfile.Ranges{{From: 2, To: 2}, {From: 4, To: 4}, {From: 8, To: 32}}) {
		t.Errorf("level %+v", l)
	}
	if p.Default != &p.Levels[0] || p.Default.PacketLife.Or(18) != 18 || p.Default.Use != "default QoS Level" {
		t.Errorf("default %+v", p.Default)
	}
	var got []string
	for _, r := range p.Rules {
		got = append(got, fmt.Sprintf("%v %s class %v service %x pkey %x from %d to %d: SL %d", r.Position, r.Use,
			r.Classes, r.ServiceIDs, r.PKeys, len(r.Sources), len(r.Destinations), r.Level.SL))
	}
	want := []string{
		"p:71:5 by QoS class class [{7 9} {11 11}] service [] pkey [] from 0 to 0: SL 1",
		"p:76:5 Storage targets class [] service [{10000000000001 10000000000001} {10000000000008 10000000000fff}] pkey [] from 0 to 1: SL 1",
		"p:82:5  class [] service [] pkey [{f00 fff}] from 2 to 0: SL 0",
		"p:91:5 sdp, port-num 30000 class [] service [{17530 17530}] pkey [] from 0 to 0: SL 0",
		"p:92:5 sdp, port-num 10000-20000 class [] service [{12710 14e20}] pkey [] from 0 to 0: SL 2",
		"p:93:5 sdp class [] service [{10000 1ffff}] pkey [] from 0 to 0: SL 1",
		"p:94:5 rds class [] service [{10648ca 10648ca}] pkey [] from 0 to 0: SL 2",
		"p:95:5 rds, port-num 25000 class [] service [{10661a8 10661a8}] pkey [] from 0 to 0: SL 3",
		"p:96:5 iser, port-num 900 class [] service [{1060384 1060384}] pkey [] from 0 to 0: SL 4",
		"p:97:5 iser class [] service [{1060cbc 1060cbc}] pkey [] from 0 to 0: SL 3",
		"p:98:5 ipoib, pkey 0x0001 class [] service [] pkey [{1 1}] from 0 to 0: SL 5",
		"p:99:5 ipoib class [] service [] pkey [{7fff 7fff}] from 0 to 0: SL 4",
		"p:100:5 any, service-id 0x6234 class [] service [{6234 6234}] pkey [] from 0 to 0: SL 6",
		"p:101:5 any, pkey 0x0ABC class [] service [] pkey [{abc abc}] from 0 to 0: SL 6",
		"p:102:5 srp, target-port-guid 0x1234,0x1235 class [] service [] pkey [] from 0 to 1: SL 5",
		"p:103:5 any, target-port-guid 0x0ABC-0xFFFFF class [] service [] pkey [] from 0 to 1: SL 6",
		"p:104:5 any, source-port-guid 0x5678 class [] service [] pkey [] from 1 to 0: SL 7",
		"p:105:5 any, source-target-port-guid 0x9abcd class [] service [] pkey [] from 1 to 1: SL 8",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r := p.Rules[2]; r.Sources[0] != p.Groups[1] || r.Sources[1] != p.Groups[3] {
		t.Error("a rule has other groups than it names")
	}
}

// TestContinued: a description may go on in the next line, if that has no sign; keywords need no
// line of their own. So reads OpenSM.
func TestContinued(t *testing.T) {
	p, errors, _ := Parse(nil, "p", []byte(continued))
	if p == nil || len(p.Levels) != 2 || p.Default.SL != 3 || p.Levels[1].SL != 4 || p.Default.Use != "some" {
		t.Errorf("%+v %v", p, errors)
	}
}

// TestErrors: each error has its place, and a file with one has no policy.
func TestErrors(t *testing.T) {
	for _, c := range broken {
		p, errors, _ := Parse(nil, "p", []byte(c.file))
		if p != nil || len(errors) == 0 || !strings.HasPrefix(errors[0].Error(), c.want) {
			t.Errorf("%q: policy %v, errors %v\nwant %s", c.file, p, errors, c.want)
		}
	}
}

// TestWarnings: what is legal and hardly meant is named.
func TestWarnings(t *testing.T) {
	for _, c := range dubious {
		p, errors, warnings := Parse(nil, "p", []byte(c.file))
		if p == nil || len(warnings) == 0 || !strings.HasPrefix(warnings[0].Error(), c.want) {
			t.Errorf("%q: errors %v, warnings %v\nwant %s", c.file, errors, warnings, c.want)
		}
	}
	if _, _, warnings := Parse(nil, "p", []byte(levels)); len(warnings) > 0 {
		t.Errorf("warnings about nothing: %v", warnings)
	}
}

// TestLarge: a file of any size gets a policy or few errors.
func TestLarge(t *testing.T) {
	if _, errors, _ := Parse(nil, "p", make([]byte, MaxFile+1)); len(errors) != 1 ||
		!strings.Contains(errors.Error(), "at most 16777216 are read") {
		t.Errorf("%.200v", errors)
	}
	for name, file := range map[string]string{
		"rules": "qos-ulps\ndefault:0\n" + strings.Repeat("sdp:1\n", 1<<20) + "end-qos-ulps\n",
		"groups": "port-groups\n" + strings.Repeat("port-group\nname:A\nend-port-group\n", 1<<18) +
			"end-port-groups\n" + levels,
		"levels": "qos-levels\n" + strings.Repeat("qos-level\nname:A\nsl:1\nend-qos-level\n", 1<<18) +
			"end-qos-levels\n",
		"unclosed": strings.Repeat("qos-levels\n", 1<<19),
		"garbage":  strings.Repeat("x", 10<<20),
		"lines":    strings.Repeat("x\n", 5<<20),
		"quotes":   levels + "port-groups\nport-group\nname:" + strings.Repeat(`"`, 5<<20),
	} {
		p, errors, warnings := Parse(nil, "p", []byte(file))
		if p != nil || len(errors) == 0 || len(errors) > policyfile.MaxFindings+1 ||
			len(warnings) > policyfile.MaxFindings || len(errors[0].Text) > 500 {
			t.Errorf("%s: policy %t, %d errors, %d warnings", name, p != nil, len(errors), len(warnings))
		}
	}
	// So many rules and numbers are fine.
	for count, fits := range map[int]bool{1<<14 - 1: true, 1<<14 + 1: false} {
		p, errors, _ := Parse(nil, "p",
			[]byte("qos-ulps\ndefault:0\n"+strings.Repeat("any, service-id 1: 1\n", count)+"end-qos-ulps\n"))
		if fits != (p != nil) {
			t.Errorf("%d rules: %v", count, errors)
		}
	}
	p, errors, _ := Parse(nil, "p",
		[]byte("qos-ulps\ndefault:0\nany, service-id 1"+strings.Repeat(",7,3-5", 1<<20)+": 2\nend-qos-ulps\n"))
	if p == nil || !slices.Equal(p.Rules[0].ServiceIDs,
		policyfile.Ranges{{From: 1, To: 1}, {From: 3, To: 5}, {From: 7, To: 7}}) || len(p.Rules[0].Use) > 200 {
		t.Errorf("a long list: %v", errors)
	}
}

// TestCutOff: a policy of which the end is missing, wherever it is cut, is refused with a place, unless whole sections
// are missing.
func TestCutOff(t *testing.T) {
	sections := regexp.MustCompile(`(?m)^(end-)?(port-groups|qos-setup|qos-levels|qos-match-rules|qos-ulps)\b`)
	taken := 0
	for end := range len(full) {
		p, errors, _ := Parse(nil, "p", []byte(full[:end]))
		if p != nil {
			if taken++; len(sections.FindAllString(full[:end], -1))%2 != 0 {
				t.Errorf("cut off at byte %d: taken, although a section is not closed: ...%q", end,
					full[max(0, end-40):end])
			}
			continue
		}
		if last := 1 + strings.Count(full[:end], "\n"); len(errors) == 0 || errors[0].Line < 1 ||
			errors[0].Line > last {
			t.Errorf("cut off at byte %d, in line %d: %v", end, last, errors)
		}
	}
	if taken == 0 || taken > len(full)/20 {
		t.Errorf("%d of %d parts are taken", taken, len(full))
	}
}

// FuzzParse: whatever the bytes, reading ends, stays within bounds, and names places within the file.
func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	for _, c := range append(broken, dubious...) {
		f.Add([]byte(c.file))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, errors, warnings := Parse(nil, "p", src)
		if (p == nil) != (len(errors) > 0) || len(errors) > policyfile.MaxFindings+1 ||
			len(warnings) > policyfile.MaxFindings {
			t.Errorf("policy %v, %d errors, %d warnings", p, len(errors), len(warnings))
		}
		lines := strings.Split(string(src), "\n")
		for _, e := range append(errors, warnings...) {
			if e.Line < 1 || e.Line > len(lines) || e.Col > len(lines[e.Line-1])+1 {
				t.Errorf("%v is not in the file", e)
			}
		}
		if p == nil {
			return
		}
		for _, r := range p.Rules {
			if r.Level == nil || r.Level.SL > 15 || slices.Contains(r.Sources, nil) ||
				slices.Contains(r.Destinations, nil) {
				t.Errorf("rule %+v", r)
			}
		}
		if p.Default == nil {
			t.Error("no default")
		}
	})
}
