package partitions

import (
	"fmt"
	"strconv"
	"strings"

	"ibsm/mad"
)

// flags is what the flags of a definition say.
type flags struct {
	ipoib      bool
	index0     bool
	membership Membership
	group      groupFlags
}

// groupFlags are those of a definition and of a group alike.
type groupFlags struct {
	Group
	scopes uint16 // a bit each
}

// flagWords are the names in the order in which a beginning is looked up.
var (
	groupFlagWords = []string{"mtu", "rate", "scope", "Q_Key", "TClass", "sl", "FlowLabel"}
	flagWords      = append(groupFlagWords[:len(groupFlagWords):len(groupFlagWords)], "ipoib", "defmember")
)

const index0Word = "indx0" // cannot be abbreviated

// whole finds a word by its beginning, "" if there is none.
func whole(beginning string, words []string) string {
	for _, w := range words {
		if strings.HasPrefix(w, beginning) {
			return w
		}
	}
	return ""
}

// flags reads those of a definition.
func (r *resolver) flags(d *Definition) flags {
	f := flags{
		membership: Limited,
		group:      groupFlags{Group: Group{MTU: DefaultMTU, Rate: DefaultRate, AnyMTU: true, AnyRate: true}},
	}
	for i := range d.Flags {
		a := &d.Flags[i]
		if a.Name.Text == "" && !a.Assigned {
			continue
		}
		if a.Name.Text == index0Word {
			f.index0 = true
			continue
		}
		w := whole(a.Name.Text, flagWords)
		if w != "" {
			r.checkWhole(a.Name, w)
		}
		switch w {
		case "ipoib":
			f.ipoib = true
			if a.Assigned {
				r.warn(a.Value, "ipoib takes no value")
			}
		case "defmember":
			got, known := membership(a.Value.Text)
			if !known || !a.Assigned {
				r.danger(
					a.Name, "defmember %s: ignored; expected defmember=full, defmember=limited or defmember=both%s",
					shown(a.Value.Text), meant(a.Value.Text, memberships))
				continue
			}
			r.checkWhole(a.Value, got.String())
			f.membership = got
		case "":
			r.warn(a.Name, "unknown flag %s is ignored%s", shown(a.Name.Text),
				meant(a.Name.Text, append(flagWords, index0Word)))
		default:
			r.groupFlag(&f.group, w, a)
		}
	}
	return f
}

// groupFlag reads a flag that says how packets of a group travel.
func (r *resolver) groupFlag(g *groupFlags, flag string, a *Assignment) {
	if !a.Assigned {
		r.warn(a.Name, "%s without a value is ignored", flag)
		return
	}
	if a.Name.Text == "" {
		r.warn(a.Name, "a value without a name: interpreted as %s, as OpenSM does", flag)
	}
	text := a.Value.Text
	switch flag {
	case "mtu":
		g.MTU, g.AnyMTU = r.mtu(a.Value), false
		return
	case "rate":
		g.Rate, g.AnyRate = r.rate(a.Value), false
		return
	}
	n, junk, wide := number(text)
	bad := junk || wide
	switch flag {
	case "scope":
		if bad || n == 0 || n > 15 {
			r.warn(a.Value, "scope %s is ignored; expected a number of 1 to 15", shown(text))
			return
		}
		g.scopes |= 1 << n
	case "sl":
		if bad || n > 15 {
			r.warn(a.Value, "sl %s is ignored; expected a number of 0 to 15", shown(text))
			return
		}
		g.SL = uint8(n)
	case "Q_Key":
		if bad || n > 0xffffffff {
			r.warn(a.Value, "Q_Key %s: expected a number of 32 bits", shown(text))
			n = 0
		}
		g.QKey = uint32(n)
	case "TClass":
		if bad || n > 255 {
			r.warn(a.Value, "TClass %s: using 0x%02x; expected a number of 0 to 255", shown(text), uint8(n))
		}
		g.TClass = uint8(n)
	case "FlowLabel":
		if bad || n >= 1<<20 {
			r.warn(a.Value, "FlowLabel %s is ignored; expected a number of 0 to 0xfffff", shown(text))
			return
		}
		g.FlowLabel = uint32(n)
	}
}

// mtu reads a code, or a size with its unit; 0 is none that there is.
func (r *resolver) mtu(w Word) mad.MTU {
	n, unit, _ := leadingNumber(w.Text)
	if isUnit(unit, "bytes", "byte", "b") {
		for code := mad.MTU256; code <= mad.MTU4096; code++ {
			if uint64(code.Bytes()) == n {
				r.warnUnit(w, int(code))
				return code
			}
		}
	} else if unit == "" && n <= uint64(mad.MTU4096) && mad.MTU(n).Bytes() != 0 {
		return mad.MTU(n)
	}
	hint := ""
	for code := mad.MTU256; code <= mad.MTU4096; code++ {
		if uint64(code.Bytes()) == n {
			hint = fmt.Sprintf("; did you mean %d?", code)
		}
	}
	r.warn(w, "mtu %s is not valid for a group; expected 1 for 256 bytes, 2 for 512, 3 for 1024, 4 for 2048, 5 for 4096%s", shown(w.Text), hint)
	return 0
}

// maxRate is the highest code that is defined.
const maxRate mad.Rate = 26

// rate reads a code, or Gb/s with their unit; 0 is none that there is.
func (r *resolver) rate(w Word) mad.Rate {
	digits := strings.TrimRight(w.Text, "GgBbPpSs/ \t")
	if unit := w.Text[len(digits):]; isUnit(unit, "Gbps", "Gb/s", "Gb", "G") {
		for code := mad.Rate(2); code <= maxRate; code++ {
			if gbps(code) == digits {
				r.warnUnit(w, int(code))
				return code
			}
		}
	} else if n, junk, _ := number(w.Text); !junk && n <= uint64(maxRate) && mad.Rate(n).Gbps() != 0 {
		if n > newestRateOfOpenSM {
			r.warn(w, "rate %s: OpenSM 3.3.23 does not support it and creates no group", shown(w.Text))
		}
		return mad.Rate(n)
	}
	hint := ""
	for code := mad.Rate(2); code <= maxRate; code++ {
		if gbps(code) == digits {
			hint = fmt.Sprintf("; did you mean %d, %s Gb/s?", code, digits)
		}
	}
	r.warn(w, "rate %s is not valid for a group; expected a code such as 3 for 10 Gb/s, 7 for 40, 16 for 100, 17 for 200, 21 for 400%s", shown(w.Text), hint)
	return 0
}

// newestRateOfOpenSM is the highest code that OpenSM 3.3.23 makes groups of.
const newestRateOfOpenSM = 22

func gbps(code mad.Rate) string { return strconv.FormatFloat(code.Gbps(), 'f', -1, 64) }

// isUnit reports whether a word is one of the spellings of a unit.
func isUnit(word string, spellings ...string) bool {
	word = strings.Trim(word, blank)
	for _, s := range spellings {
		if strings.EqualFold(word, s) {
			return true
		}
	}
	return false
}

// warnUnit warns that OpenSM reads a different value.
func (r *resolver) warnUnit(w Word, code int) {
	r.warn(w, "%s: OpenSM ignores the unit; write %d for both programs", shown(w.Text), code)
}
