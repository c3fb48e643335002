package prefixroutes

import (
	"slices"
	"strings"
	"testing"

	"ibsm/view"
)

func TestParse(t *testing.T) {
	any, first := view.PrefixRoute{AnyPrefix: true, Router: 0x1235}, view.PrefixRoute{Prefix: 0xfe80000000000001}
	for _, c := range []struct {
		name, text string
		want       []view.PrefixRoute
		warnings   []string
	}{
		{"nothing", "", nil, nil},
		{"comments", "# routers\n\n  # none\n", nil, nil},
		{"a route", "fe80000000000001 0002c90300001235",
			[]view.PrefixRoute{{Prefix: 0xfe80000000000001, Router: 0x0002c90300001235}}, nil},
		{"with 0x and a comment", "0xFE80000000000001\t0x1235 # R1\n",
			[]view.PrefixRoute{{Prefix: 0xfe80000000000001, Router: 0x1235}}, nil},
		{"any by any", "* *\r\n", []view.PrefixRoute{{AnyPrefix: true}}, nil},
		{"any, as a number", "0 1235\n", []view.PrefixRoute{any}, nil},
		{"the first router", "fe80000000000001 *\n", []view.PrefixRoute{first}, nil},
		{"order", "fe80000000000001 *\n* 1235\n", []view.PrefixRoute{first, any}, nil},
		{"no GUID", "* 1235\n fe80000000000001\n", []view.PrefixRoute{any},
			[]string{"f:2:2: want a prefix and the GUID"}},
		{"no prefix", "zz 1\n* 1235\n", []view.PrefixRoute{any}, []string{`f:1:1: "zz" is no prefix`}},
		{"not a GUID", "* x\n", nil, []string{`f:1:1: "x" is not a GUID`}},
		{"too long", "* 10000000000000000\n", nil, []string{"is not a GUID"}},
		{"more words", "* 1235 R1\n", []view.PrefixRoute{any}, []string{`"R1" is ignored`}},
	} {
		got, warnings := Parse("f", []byte(c.text))
		if !slices.Equal(got, c.want) || len(warnings) != len(c.warnings) {
			t.Errorf("%s: %+v, %v; want %+v, %q", c.name, got, warnings, c.want, c.warnings)
			continue
		}
		for i, w := range warnings {
			if !strings.Contains(w.Error(), c.warnings[i]) {
				t.Errorf("%s: %q, want %q", c.name, w.Error(), c.warnings[i])
			}
		}
	}
}

func TestBounds(t *testing.T) {
	if got, warnings := Parse("f", []byte(strings.Repeat("* *\n", MaxRoutes+5))); len(got) != MaxRoutes ||
		len(warnings) != 1 {
		t.Errorf("%d routes, %d warnings", len(got), len(warnings))
	}
	if got, warnings := Parse("f", []byte(strings.Repeat("no\n", 1<<20))); len(got) != 0 ||
		len(warnings) != maxWarnings+1 {
		t.Errorf("%d routes, %d warnings", len(got), len(warnings))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("fe80000000000001 0002c90300001235 # R1\n* *\nzz\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		routes, warnings := Parse("f", text)
		if len(routes) > MaxRoutes || len(warnings) > maxWarnings+1 {
			t.Errorf("%d routes, %d warnings", len(routes), len(warnings))
		}
	})
}
