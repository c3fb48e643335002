package mad_test

import (
	"regexp"
	"strings"
	"testing"

	"ibsm/mad"
)

var guidSyntax = regexp.MustCompile(`^(0[xX])?[0-9a-fA-F]{1,16}$`)

func TestParseGUID(t *testing.T) {
	for _, tt := range []struct {
		text string
		want mad.GUID
		ok   bool
	}{
		{"0x0002c90300001234", 0x0002c90300001234, true},
		{"0002c90300001234", 0x0002c90300001234, true},
		{"0XABCDEF", 0xabcdef, true},
		{"0", 0, true},
		{"ffffffffffffffff", 1<<64 - 1, true},
		{"", 0, false},
		{"0x", 0, false},
		{"0x0x12", 0, false},
		{"0x0X12", 0, false},
		{"00000000000000001", 0, false},
		{"10000000000000000", 0, false},
		{"-1", 0, false},
		{"+1", 0, false},
		{"1_2", 0, false},
		{" 1", 0, false},
		{"12:34", 0, false},
		{"S-0002c903", 0, false},
	} {
		got, err := mad.ParseGUID(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseGUID(%q) = %v, %v", tt.text, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), `"`+tt.text+`"`) {
			t.Errorf("ParseGUID(%q): %q does not say what it read", tt.text, err)
		}
	}
	const full = "0x0002c90300001234"
	for n := range full {
		if _, err := mad.ParseGUID(full[:n]); (err == nil) != guidSyntax.MatchString(full[:n]) {
			t.Errorf("ParseGUID(%q): %v", full[:n], err)
		}
	}
}

func FuzzParseGUID(f *testing.F) {
	for _, s := range []string{"0x0002c90300001234", "0", "", "0x", "0x0x1", "ffffffffffffffff", "10000000000000000",
		"1_0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, err := mad.ParseGUID(s)
		if (err == nil) != guidSyntax.MatchString(s) {
			t.Fatalf("ParseGUID(%q) = %v, %v", s, g, err)
		}
		if err != nil {
			return
		}
		if again, err := mad.ParseGUID(g.String()); again != g || err != nil {
			t.Fatalf("%q is %v is %v, %v", s, g, again, err)
		}
	})
}

func TestGID(t *testing.T) {
	g := mad.MakeGID(mad.DefaultPrefix, 0x0002c90300001234)
	if got := g.String(); got != "fe80:0000:0000:0000:0002:c903:0000:1234" {
		t.Errorf("GID prints %q", got)
	}
	if g.Prefix() != mad.DefaultPrefix || g.GUID() != 0x0002c90300001234 || g.IsMulticast() {
		t.Errorf("GID of %v and %v", g.Prefix(), g.GUID())
	}
	if m := (mad.GID{0: 0xff, 1: 0x12}); !m.IsMulticast() {
		t.Errorf("%v is not multicast", m)
	}
	if got := mad.DefaultPrefix.String(); got != "0xfe80000000000000" {
		t.Errorf("the default prefix prints %q", got)
	}
}

func TestLID(t *testing.T) {
	for _, tt := range []struct {
		lid     mad.LID
		unicast bool
		text    string
	}{
		{0, false, "0"}, {1, true, "1"}, {0xbfff, true, "49151"}, {0xc000, false, "49152"}, {0xfffe, false, "65534"},
		{0xffff, false, "65535"},
	} {
		if tt.lid.IsUnicast() != tt.unicast || tt.lid.String() != tt.text {
			t.Errorf("LID 0x%04x: unicast %v, prints %q", uint16(tt.lid), tt.lid.IsUnicast(), tt.lid)
		}
	}
}

func TestPKeyMatches(t *testing.T) {
	for _, tt := range []struct {
		a, b mad.PKey
		want bool
	}{
		{0xffff, 0xffff, true},
		{0xffff, 0x7fff, true},
		{0x7fff, 0xffff, true},
		{0x7fff, 0x7fff, false}, // two limited members
		{0x8001, 0x8002, false},
		{0x8001, 0x0001, true},
		{0x0000, 0x0000, false}, // no keys at all
		{0x8000, 0x8000, false},
		{0x8000, 0x0000, false},
	} {
		if got := tt.a.Matches(tt.b); got != tt.want {
			t.Errorf("%v and %v: %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
	if k := mad.PKey(0x8001); k.Base() != 1 || !k.Valid() || mad.PKey(0x8000).Valid() || k.String() != "0x8001" {
		t.Errorf("%v: base %v, valid %v", k, k.Base(), k.Valid())
	}
}

func TestStrings(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{mad.ClassLIDRouted.String(), "SubnLIDRouted"}, {mad.ClassDirected.String(), "SubnDirected"},
		{mad.ClassSA.String(), "SubnAdm"},
		{mad.ClassPerf.String(), "Perf"}, {mad.ClassVendor.String(), "Vendor"},
		{mad.ClassCongestion.String(), "CongestionControl"},
		{mad.Class(0x32).String(), "0x32"},
		{mad.Method(0x01).String(), "Get"}, {mad.Method(0x02).String(), "Set"}, {mad.Method(0x03).String(), "Send"},
		{mad.Method(0x05).String(), "Trap"}, {mad.Method(0x06).String(), "Report"},
		{mad.Method(0x07).String(), "TrapRepress"},
		{mad.Method(0x12).String(), "GetTable"}, {mad.Method(0x13).String(), "GetTraceTable"},
		{mad.Method(0x14).String(), "GetMulti"},
		{mad.Method(0x15).String(), "Delete"}, {mad.Method(0x81).String(), "GetResp"},
		{mad.Method(0x86).String(), "ReportResp"},
		{mad.Method(0x92).String(), "GetTableResp"}, {mad.Method(0x94).String(), "GetMultiResp"},
		{mad.Method(0x95).String(), "DeleteResp"}, {mad.Method(0x82).String(), "0x82"},
		{mad.Status(0x0000).String(), "ok"}, {mad.Status(0x0001).String(), "busy"},
		{mad.Status(0x0002).String(), "redirect"},
		{mad.Status(0x0004).String(), "bad version"}, {mad.Status(0x0008).String(), "method not supported"},
		{mad.Status(0x000c).String(), "method and attribute not supported together"},
		{mad.Status(0x001c).String(), "invalid field"},
		{mad.Status(0x0100).String(), "no resources"}, {mad.Status(0x0200).String(), "request invalid"},
		{mad.Status(0x0300).String(), "no records"}, {mad.Status(0x0400).String(), "too many records"},
		{mad.Status(0x0500).String(), "invalid GID"}, {mad.Status(0x0600).String(), "insufficient components"},
		{mad.Status(0x0700).String(), "request denied"}, {mad.Status(0x1234).String(), "0x1234"},
		{mad.CA.String(), "CA"}, {mad.Switch.String(), "switch"}, {mad.Router.String(), "router"},
		{mad.NodeType(9).String(), "node type 9"},
		{mad.AttrID(0x15).String(), "0x0015"}, {mad.GUID(0x12).String(), "0x0000000000000012"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
