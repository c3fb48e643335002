package torus

import (
	"reflect"
	"strings"
	"testing"

	"ibsm/mad"
)

// example is that of OpenSM's manual page torus-2QoS.conf(5).
const example = `
   # Look for a 2D (since x radix is one) 4x5 torus.
   torus 1 4 5

   # y is radix-4 torus dimension, need both
   # ym_link and yp_link configuration.
   yp_link 0x200000 0x200005  # sw @ y=0,z=0 -> sw @ y=1,z=0
   ym_link 0x200000 0x20000f  # sw @ y=0,z=0 -> sw @ y=3,z=0
   zp_link 0x200000 0x200001  # sw @ y=0,z=0 -> sw @ y=0,z=1

   next_seed

   yp_link 0x20000b 0x200010
   ym_link 0x20000b 0x200006
   zp_link 0x20000b 0x20000c

   y_dateline -2  # Move the dateline for this seed
   z_dateline -1  # back to its original position.

   port_order 7 10 8 11 9 12 25 28 26 29 27 30
`

func TestParseExample(t *testing.T) {
	for name, text := range map[string]string{
		"as it is": example, "Windows line ends": strings.ReplaceAll(example, "\n", "\r\n"),
		"no final newline": strings.TrimRight(example, "\n "),
	} {
		s, warnings, errors := Parse("x", []byte(text))
		link := func(from, to mad.GUID) *SeedLink { return &SeedLink{from, to} }
		want := &Settings{
			Radix: [3]int{1, 4, 5}, PortGroupMax: 16, MaxChanges: 32,
			PortOrder: []uint8{7, 10, 8, 11, 9, 12, 25, 28, 26, 29, 27, 30},
			Seeds: []Seed{
				{Links: [6]*SeedLink{2: link(0x200000, 0x20000f), 3: link(0x200000, 0x200005),
					5: link(0x200000, 0x200001)}},
				{Links: [6]*SeedLink{2: link(0x20000b, 0x200006), 3: link(0x20000b, 0x200010),
					5: link(0x20000b, 0x20000c)}, Dateline: [3]int{0, -2, -1}},
			},
		}
		if warnings != nil || errors != nil || !reflect.DeepEqual(s, want) {
			t.Errorf("%s: %+v, %v, %v", name, s, warnings, errors)
		}
	}
}

// TestParse: "mesh 3T 4 5" and "torus 3 4M 5M" are the same, and so on (torus-2QoS.conf(5)).
func TestParse(t *testing.T) {
	const seed = "xp_link 1 2\nyp_link 1 3\nzp_link 1 4\nxm_link 1 5\nym_link 1 6\nzm_link 1 7\n"
	for _, c := range []struct {
		text, warning string
		is            func(*Settings) bool
	}{
		{"mesh 3T 4 5\n" + seed, "", func(s *Settings) bool {
			return s.Radix == [3]int{3, 4, 5} && s.Mesh == [3]bool{false, true, true}
		}},
		{"torus 3 4M 5m\n" + seed, "", func(s *Settings) bool {
			return s.Radix == [3]int{3, 4, 5} && s.Mesh == [3]bool{false, true, true}
		}},
		{"torus 2 2t 3t\n" + seed, "", func(s *Settings) bool { return s.Mesh == [3]bool{true, true, false} }},
		{"torus 0x3 010 5\n" + seed, "", func(s *Settings) bool { return s.Radix == [3]int{3, 8, 5} }},
		{seed + "\ttorus 3 4 5 what follows is ignored", "", func(s *Settings) bool {
			return len(s.Seeds) == 1 && *s.Seeds[0].Links[1] == SeedLink{1, 2}
		}},
		{"next_seed\n" + seed + "torus 3 4 5", "", func(s *Settings) bool { return len(s.Seeds) == 1 }},
		{"torus 3 4 5\n" + seed + "portgroup_max_ports 20\nmax_changes 0\nx_dateline 2\ny_dateline -3", "",
			func(s *Settings) bool {
				return s.PortGroupMax == 20 && s.MaxChanges == 0 && s.Seeds[0].Dateline == [3]int{2, -3, 0}
			}},
		{"torus 3 4 5\n" + seed + "port_order 3 2 3 # 9", "f:8:16: Ignored duplicate port 3 in port_order parsing",
			func(s *Settings) bool {
				return reflect.DeepEqual(s.PortOrder, []uint8{3, 2})
			}},
	} {
		s, warnings, errors := Parse("f", []byte(c.text))
		if warnings.Error() != c.warning || errors != nil || !c.is(s) {
			t.Errorf("%q: %+v, %v, %v", c.text, s, warnings, errors)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const two = "xp_link 1 2\nyp_link 1 3\n"
	for text, want := range map[string]string{
		"":                                   "f:1:1: missing required torus size specification!",
		"# nothing\n":                        "f:1:1: missing required torus size specification!",
		"torus 3 4\n":                        "f:1:10: missing required torus size specification! Expected the radix of z",
		"torus 3 0 4\n":                      "f:1:9: missing required torus size specification! Expected the radix of y",
		"torus 3 4 x\n":                      "f:1:11: missing required",
		"torus 3 4 5q\n":                     "f:1:11: missing required",
		"torus 1 1 1\n":                      "f:1:1: a torus of one switch",
		"torus 300 300 300\n":                "f:1:1: 27000000 switches need more LIDs than a subnet has (49151)",
		"torus 99999999 99999999 99999999\n": "f:1:1: 281474976710656 switches need more",
		"torus 3 3 1\n\nmesh 3 3 1\n":        "f:3:1: the topology is already given on line 1",
		"torus 3 3 1\nxq_link 1 2\n":         "f:2:1: no keyword found",
		"torus 3 3 1\n  \x00\xff binary":     "f:2:3: no keyword found",
		"torus 3 3 1\nxp_link 1\n":           "f:2:10: expected the GUIDs of two switches",
		"torus 3 3 1\nxp_link 0x1 0xg":       "f:2:13: expected the GUIDs of two switches",
		"x_dateline 1\ntorus 3 3 1\n":        "f:1:12: dateline before the topology",
		"torus 3 3 1\nx_dateline 3\n":        "f:2:12: dateline value for coordinate direction 1 must be -3 < dl < 3",
		"torus 3 3 1\nx_dateline -3\n":       "f:2:12: dateline value for coordinate direction 1 must be -3 < dl < 3",
		"torus 3 3 1\ny_dateline\n":          "f:2:11: expected a position",
		"torus 3 3 1\nport_order 1 255":      "f:2:14: expected the number of a port, 0 to 254",
		"torus 3 3 1\nmax_changes -1":        "f:2:13: expected a number",
		"torus 3 3 1\n":                      "f:1:1: Positive or negative x direction link required for topology seed configuration! See torus-2QoS.conf(5)",
		"torus 3 3 1\nxp_link 1 2\n":         "f:2:1: Positive or negative y direction link required",
		"torus 4 3 1\n" +
			two: "f:2:1: Negative x direction link required for topology seed configuration since radix == 4",
		"torus 3 4 1\n" +
			two: "f:2:1: Negative y direction link required for topology seed configuration since radix == 4",
		"torus 3 3 1\nxp_link 1 2\nyp_link 2 3\n":            "f:3:1: x and y direction links for topology seed do not share a common switch",
		"torus 1 3 3\nyp_link 1 2\nzp_link 2 3\n":            "f:3:1: y and z direction links for topology seed do not share a common switch",
		"torus 4 3 1\nxp_link 1 2\nxm_link 2 3\nyp_link 1 3": "f:2:1: Positive/negative x direction links for topology seed do not share a common switch",
		"torus 3 3 1\n" + two + "next_seed\n":                "f:4:1: Positive or negative x direction link required",
		strings.Repeat("x\n", 200):                           "f:1:1: no keyword found",
		strings.Repeat(" ", MaxFile+1):                       "f: the file is longer than 4194304 bytes",
	} {
		if s, _, errors := Parse("f", []byte(text)); s != nil || len(errors) == 0 || len(errors) > maxErrors+2 ||
			!strings.HasPrefix(errors[0].Error(), want) {
			t.Errorf("%.60q: %v\nwant %s", text, errors, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("mesh 3T 4 5\nxp_link 1 2\nx_dateline 2\nport_order 1 2 3 3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, _, errors := Parse("f", text)
		if (s == nil) != (len(errors) > 0) {
			t.Fatal(s, errors)
		}
		for _, e := range errors {
			if e.Line < 1 && len(text) <= MaxFile {
				t.Error(e)
			}
		}
	})
}
