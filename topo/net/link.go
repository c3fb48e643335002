package net

import (
	"strings"

	"ibsm/mad"
)

// abilities is what a port offers its link, as masks. A link runs at the best
// that both ends offer, which is how a file states width and speed: each port
// line for its own end.
type abilities struct {
	width uint8 // LinkWidthEnabled
	speed uint8 // LinkSpeedEnabled: 1 SDR, 2 DDR, 4 QDR
	ext   uint8 // LinkSpeedExtEnabled: 1 FDR, 2 EDR, 4 HDR, 8 NDR, 16 XDR
	fdr10 bool
}

// The largest masks that a file may state.
const (
	maxWidthMask = 31
	maxSpeedMask = 7
	maxExtMask   = 31
)

// ibsimDefault is what ibsim gives to a port of which the file says nothing.
var ibsimDefault = abilities{width: uint8(mad.Width4x), speed: 1}

// best is the width and speed of a link between a and b; 0 for what they have
// not in common.
func best(a, b abilities) (w mad.LinkWidth, s mad.LinkSpeed) {
	for _, c := range []mad.LinkWidth{mad.Width12x, mad.Width8x, mad.Width4x, mad.Width2x, mad.Width1x} {
		if uint8(c)&a.width&b.width != 0 {
			w = c
			break
		}
	}
	if ext := a.ext & b.ext; ext != 0 {
		return w, mad.FDR - 1 + mad.LinkSpeed(bitLen(ext))
	}
	legacy := a.speed & b.speed
	if legacy != 0 && a.fdr10 && b.fdr10 {
		return w, mad.FDR10
	}
	return w, mad.LinkSpeed(bitLen(legacy))
}

// bitLen is the number of the highest bit set, counted from 1; 0 for 0.
func bitLen(mask uint8) (n uint8) {
	for ; mask != 0; mask >>= 1 {
		n++
	}
	return n
}

// offer makes a port support the width in the comment of a port line:
// the masks are ibsim's reading of it.
func (a *abilities) offerWidth(w mad.LinkWidth) {
	a.width = uint8(w)
	switch w {
	case mad.Width4x:
		a.width |= uint8(mad.Width1x)
	case mad.Width12x:
		a.width |= uint8(mad.Width4x | mad.Width1x)
	}
}

// offerSpeed makes a port support the speed in a comment and every
// slower one.
func (a *abilities) offerSpeed(s mad.LinkSpeed) {
	a.speed = 1<<min(s, mad.QDR) - 1
	a.fdr10 = s >= mad.FDR10
	if s >= mad.FDR {
		a.ext = 1<<(s-mad.FDR+1) - 1
	}
}

// parseWidth reads "4x".
func parseWidth(s string) (mad.LinkWidth, bool) {
	for _, w := range []mad.LinkWidth{mad.Width1x, mad.Width2x, mad.Width4x, mad.Width8x, mad.Width12x} {
		if w.String() == s {
			return w, true
		}
	}
	return 0, false
}

// cutWidth splits "4xHDR" into its width and the name of its speed.
func cutWidth(s string) (width, speed string, ok bool) {
	i := strings.IndexByte(s, 'x')
	if i <= 0 || strings.Trim(s[:i], "0123456789") != "" {
		return "", "", false
	}
	return s[:i+1], s[i+1:], true
}
