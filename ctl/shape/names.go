package shape

import (
	"cmp"
	"strings"
)

// setNames gives the switches short names.
func (f *Fabric) setNames() {
	count := map[string]int{}
	for i := range f.Switches {
		s := &f.Switches[i]
		s.Name = short(s.Desc)
		count[s.Name]++
	}
	for i := range f.Switches {
		s := &f.Switches[i]
		if digits := strings.TrimPrefix(s.GUID, "0x"); count[s.Name] > 1 || s.Name == "" {
			s.Name = strings.TrimSpace(s.Name + " " + digits[max(len(digits)-6, 0):])
		}
	}
}

// short is what an operator calls a switch: of a managed one, whose NodeDescription is
// "MF0;NAME:MODEL/U1", its NAME.
func short(desc string) string {
	if _, rest, ok := strings.Cut(desc, ";"); ok {
		if name, _, ok := strings.Cut(rest, ":"); ok && name != "" {
			return name
		}
	}
	return strings.TrimSpace(desc)
}

// Kind is a name with all its numbers taken for the same.
func Kind(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch {
		case !isDigit(name[i]):
			b.WriteByte(name[i])
		case i == 0 || !isDigit(name[i-1]):
			b.WriteByte('#')
		}
	}
	return b.String()
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Natural compares names as people sort them: numbers in them by what they count to.
func Natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if !isDigit(x[0]) || !isDigit(y[0]) {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		var m, n string
		m, x = cutNumber(x)
		n, y = cutNumber(y)
		if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// cutNumber takes the number that a text begins with, without its leading zeros.
func cutNumber(s string) (number, rest string) {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	return strings.TrimLeft(s[:end], "0"), s[end:]
}
