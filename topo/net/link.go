package net

import (
	"strings"

	"ibsm/mad"
)

// abilities is what a port offers its link, as masks. A link runs at the best
// that both ends offer, which is how a file states width and speed: each port
// line for its own end. Width 0 is an unknown width, speed and ext 0 an unknown
// speed: the other end's line decides.
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

// best is the width and speed of a link between a and b; 0 for what neither
// knows and for what they do not have in common, whose name is missing.
func best(a, b abilities) (w mad.LinkWidth, s mad.LinkSpeed, missing string) {
	a.adopt(b)
	b.adopt(a)
	w, s = widest(a.width&b.width), fastest(a, b)
	switch {
	case w == 0 && a.width != 0:
		missing = "width"
	case s == 0 && a.speed|a.ext != 0:
		missing = "speed"
	}
	return w, s, missing
}

// adopt takes what is unknown from the other end.
func (a *abilities) adopt(b abilities) {
	if a.width == 0 {
		a.width = b.width
	}
	if a.speed|a.ext == 0 {
		a.speed, a.ext, a.fdr10 = b.speed, b.ext, b.fdr10
	}
}

// widest is the widest of a set of widths, 0 of an empty one.
func widest(set uint8) mad.LinkWidth {
	for _, w := range []mad.LinkWidth{mad.Width12x, mad.Width8x, mad.Width4x, mad.Width2x, mad.Width1x} {
		if uint8(w)&set != 0 {
			return w
		}
	}
	return 0
}

// fastest is the highest speed that both offer, 0 for none.
func fastest(a, b abilities) mad.LinkSpeed {
	if ext := a.ext & b.ext; ext != 0 {
		return mad.FDR - 1 + mad.LinkSpeed(bitLen(ext))
	}
	legacy := a.speed & b.speed
	if legacy != 0 && a.fdr10 && b.fdr10 {
		return mad.FDR10
	}
	return mad.LinkSpeed(bitLen(legacy))
}

// bitLen is the number of the highest bit set, counted from 1; 0 for 0.
func bitLen(mask uint8) (n uint8) {
	for ; mask != 0; mask >>= 1 {
		n++
	}
	return n
}

// offerWidth makes a port support the width in the comment of a port line:
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
// slower one; 0 makes its speed unknown.
func (a *abilities) offerSpeed(s mad.LinkSpeed) {
	a.speed = 1<<min(s, mad.QDR) - 1
	a.fdr10 = s >= mad.FDR10
	switch {
	case s == 0:
		a.ext = 0
	case s >= mad.FDR:
		a.ext = 1<<(s-mad.FDR+1) - 1
	}
}

// The words of ibnetdiscover for what it does not know, such as XDR in rdma-core 44.
const (
	unknownWidth = "??"
	unknownSpeed = "???"
)

// parseWidth reads "4x", or ibnetdiscover's word for a width that it does not know.
func parseWidth(s string) (mad.LinkWidth, bool) {
	if s == unknownWidth {
		return 0, true
	}
	for _, w := range []mad.LinkWidth{mad.Width1x, mad.Width2x, mad.Width4x, mad.Width8x, mad.Width12x} {
		if w.String() == s {
			return w, true
		}
	}
	return 0, false
}

// parseSpeed reads "HDR", or ibnetdiscover's word for a speed that it does not know.
func parseSpeed(s string) (mad.LinkSpeed, bool) {
	if s == unknownSpeed {
		return 0, true
	}
	return mad.ParseLinkSpeed(s)
}

// ParseRate reads the width and speed of a link, such as 4xHDR.
func ParseRate(s string) (mad.LinkWidth, mad.LinkSpeed, bool) {
	width, speed, ok := cutWidth(s)
	if !ok {
		return 0, 0, false
	}
	w, okWidth := parseWidth(width)
	v, okSpeed := parseSpeed(speed)
	return w, v, okWidth && okSpeed
}

// cutWidth splits "4xHDR" into its width and the name of its speed.
func cutWidth(s string) (width, speed string, ok bool) {
	if speed, ok := strings.CutPrefix(s, unknownWidth); ok {
		return unknownWidth, speed, true
	}
	i := strings.IndexByte(s, 'x')
	if i <= 0 || strings.Trim(s[:i], "0123456789") != "" {
		return "", "", false
	}
	return s[:i+1], s[i+1:], true
}
