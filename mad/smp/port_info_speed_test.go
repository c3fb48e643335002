package smp

import (
	"testing"

	"ibsm/mad"
)

const (
	ext  = IsExtendedSpeedsSupported
	both = IsExtendedSpeedsSupported | IsCapabilityMask2Supported
)

func TestLinkSpeed(t *testing.T) {
	for _, tt := range []struct {
		name            string
		base, ext, ext2 uint8
		mask            CapMask
		mask2           CapMask2
		want            mad.LinkSpeed
	}{
		{"SDR", 1, 0, 0, 0, 0, mad.SDR},
		{"DDR", 2, 0, 0, 0, 0, mad.DDR},
		{"QDR", 4, 0, 0, both, 0, mad.QDR},
		{"FDR", 0, 1, 0, ext, 0, mad.FDR},
		{"EDR", 0, 2, 0, ext, 0, mad.EDR},
		{"HDR", 0, 4, 0, both, IsLinkSpeedHDRSupported, mad.HDR},
		{"NDR", 0, 8, 0, both, IsLinkSpeedNDRSupported, mad.NDR},
		{"XDR", 0, 0, 1, both, IsExtendedSpeeds2Supported | IsLinkSpeedXDRSupported, mad.XDR},
		{"QDR beside HDR, as ibsim answers", 4, 4, 0, ext, 0, mad.HDR},
		{"extended field that does not count", 4, 4, 0, 0, 0, mad.QDR},
		{"XDR field that does not count", 4, 0, 1, both, 0, mad.QDR},
		{"XDR field without a second mask", 4, 0, 1, ext, IsExtendedSpeeds2Supported, mad.QDR},
		{"link down", 0, 0, 0, both, IsExtendedSpeeds2Supported, 0},
		{"extended, but not reported", 0, 0, 0, 0, 0, 0},
		{"a speed that is not defined", 8, 0, 2, both, IsExtendedSpeeds2Supported, 0},
	} {
		var p PortInfo
		p.SetLinkSpeedActive(tt.base)
		p.SetLinkSpeedExtActive(tt.ext)
		p.SetLinkSpeedExtActive2(tt.ext2)
		if got := p.LinkSpeed(tt.mask, tt.mask2); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestSpeedsEnabled(t *testing.T) {
	const mask2 = IsExtendedSpeeds2Supported
	set := func(speeds ...mad.LinkSpeed) (m SpeedMask) {
		for _, s := range speeds {
			m |= 1 << s
		}
		return m
	}
	all := set(mad.SDR, mad.DDR, mad.QDR, mad.FDR, mad.EDR, mad.HDR, mad.NDR, mad.XDR)
	for _, tt := range []struct {
		name            string
		base, ext, ext2 uint8
		want            SpeedMask
	}{
		{"masks", 5, 9, 1, set(mad.SDR, mad.QDR, mad.FDR, mad.NDR, mad.XDR)},
		{"all supported", 15, 31, 7, all},
		{"extended speeds off", 7, 30, 0, set(mad.SDR, mad.DDR, mad.QDR)},
		{"none", 0, 0, 0, 0},
	} {
		var p PortInfo
		p.SetLinkSpeedSupported(7)
		p.SetLinkSpeedExtSupported(15)
		p.SetLinkSpeedExtSupported2(1)
		p.SetLinkSpeedEnabled(tt.base)
		p.SetLinkSpeedExtEnabled(tt.ext)
		p.SetLinkSpeedExtEnabled2(tt.ext2)
		if got := p.SpeedsEnabled(both, mask2); got != tt.want {
			t.Errorf("%s: enabled %012b, want %012b", tt.name, got, tt.want)
		}
		if got := p.SpeedsSupported(both, mask2); got != all {
			t.Errorf("%s: supported %012b, want %012b", tt.name, got, all)
		}
	}
}

func TestSpeedMask(t *testing.T) {
	m := SpeedMask(1<<mad.QDR | 1<<mad.HDR)
	if !m.Has(mad.QDR) || !m.Has(mad.HDR) || m.Has(mad.EDR) || m.Has(0) || m.Has(255) {
		t.Errorf("Has of %b is wrong", m)
	}
	if m.Fastest() != mad.HDR || SpeedMask(0).Fastest() != 0 || SpeedMask(1<<mad.SDR).Fastest() != mad.SDR {
		t.Error("Fastest is wrong")
	}
}

func TestRate(t *testing.T) {
	var p PortInfo
	p.SetLinkWidthActive(mad.Width2x)
	p.SetLinkSpeedExtActive(8)
	if got := p.Rate(ext, 0); got != 17 {
		t.Errorf("2x NDR has rate code %d, want 17", got)
	}
	if got := p.Rate(0, 0); got != 0 {
		t.Errorf("unknown speed has rate code %d, want 0", got)
	}
}
