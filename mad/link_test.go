package mad_test

import (
	"testing"

	"ibsm/mad"
)

// The rate of every width and speed.
func TestLinkRate(t *testing.T) {
	speeds := []mad.LinkSpeed{mad.SDR, mad.DDR, mad.QDR, mad.FDR10, mad.FDR, mad.EDR, mad.HDR, mad.NDR, mad.XDR}
	for width, codes := range map[mad.LinkWidth][]mad.Rate{
		mad.Width1x:  {2, 5, 3, 3, 11, 15, 20, 16, 17},
		mad.Width2x:  {5, 3, 6, 6, 19, 20, 16, 17, 21},
		mad.Width4x:  {3, 6, 7, 7, 12, 16, 17, 21, 23},
		mad.Width8x:  {6, 7, 9, 9, 13, 17, 21, 23, 25},
		mad.Width12x: {4, 8, 10, 10, 14, 18, 22, 24, 26},
	} {
		for i, want := range codes {
			if got := mad.LinkRate(width, speeds[i]); got != want {
				t.Errorf("%v %v: code %d, want %d", width, speeds[i], got, want)
			}
		}
		if mad.LinkRate(width, 0) != 0 || mad.LinkRate(width, 10) != 0 || mad.LinkRate(width, 255) != 0 {
			t.Errorf("%v: an unknown speed has a rate", width)
		}
	}
	for w := range 256 {
		if mad.LinkWidth(w).Lanes() == 0 && mad.LinkRate(mad.LinkWidth(w), mad.EDR) != 0 {
			t.Errorf("width %d has a rate", w)
		}
	}
}

// Gb/s of every code, and the codes in the order of what gets through.
func TestRates(t *testing.T) {
	ranked := []struct {
		code mad.Rate
		gbps float64
	}{
		{2, 2.5}, {5, 5}, {3, 10}, {11, 14}, {6, 20}, {4, 30}, {15, 25}, {19, 28}, {7, 40}, {8, 60}, {20, 50}, {12, 56},
		{9, 80},
		{10, 120}, {16, 100}, {13, 112}, {14, 168}, {17, 200}, {18, 300}, {21, 400}, {22, 600}, {23, 800}, {24, 1200},
		{25, 1600}, {26, 2400},
	}
	known := map[mad.Rate]bool{}
	for i, r := range ranked {
		known[r.code] = true
		if r.code.Gbps() != r.gbps || r.code.Rank() != i+1 {
			t.Errorf("code %d: %v Gb/s, rank %d; want %v, %d", r.code, r.code.Gbps(), r.code.Rank(), r.gbps, i+1)
		}
	}
	for code := range 256 {
		if r := mad.Rate(code); !known[r] && (r.Gbps() != 0 || r.Rank() != 0) {
			t.Errorf("code %d is not defined and has %v Gb/s, rank %d", code, r.Gbps(), r.Rank())
		}
	}
}

func TestLinkWidth(t *testing.T) {
	names := map[mad.LinkWidth]string{1: "1x", 2: "4x", 4: "8x", 8: "12x", 16: "2x"}
	lanes := map[mad.LinkWidth]int{1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
	for w := range 256 {
		want, ok := names[mad.LinkWidth(w)]
		if !ok {
			want = "?x"
		}
		if got := mad.LinkWidth(w); got.String() != want || got.Lanes() != lanes[got] {
			t.Errorf("width %d: %v, %d lanes", w, got, got.Lanes())
		}
	}
}

func TestLinkSpeedNames(t *testing.T) {
	for s, want := range map[mad.LinkSpeed]string{
		mad.SDR: "SDR", mad.DDR: "DDR", mad.QDR: "QDR", mad.FDR10: "FDR10", mad.FDR: "FDR", mad.EDR: "EDR",
		mad.HDR: "HDR",
		mad.NDR: "NDR", mad.XDR: "XDR",
	} {
		if s.String() != want {
			t.Errorf("speed %d is %q, want %q", s, s, want)
		}
		if got, ok := mad.ParseLinkSpeed(want); got != s || !ok {
			t.Errorf("ParseLinkSpeed(%q) = %v, %v", want, got, ok)
		}
	}
	if mad.LinkSpeed(0).String() != "?" || mad.LinkSpeed(10).String() != "?" || mad.LinkSpeed(255).String() != "?" {
		t.Error("an unknown speed has a name")
	}
	for _, name := range []string{"", "?", "ndr", "NDR ", "FDR1"} {
		if got, ok := mad.ParseLinkSpeed(name); ok {
			t.Errorf("ParseLinkSpeed(%q) = %v", name, got)
		}
	}
}

func TestMTU(t *testing.T) {
	for m, want := range []int{0, 256, 512, 1024, 2048, 4096, 0} {
		if got := mad.MTU(m).Bytes(); got != want {
			t.Errorf("MTU code %d is %d bytes, want %d", m, got, want)
		}
	}
	if mad.MTU(255).Bytes() != 0 {
		t.Error("MTU code 255 has a size")
	}
}
