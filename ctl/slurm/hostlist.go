package slurm

import (
	"fmt"
	"strings"
)

// hostlist writes names as Slurm does, n[01-03,07],login.
func hostlist(names []string) string { return strings.Join(Hostlist(names), ",") }

// Hostlist are names in the parts of a list of Slurm's: numbers at the end of names that are else
// the same in brackets. It expects them sorted by shape.Natural.
func Hostlist(names []string) (parts []string) {
	for i := 0; i < len(names); {
		prefix, _ := cutSuffix(names[i])
		end := i + 1
		for end < len(names) && prefix != names[i] {
			if p, number := cutSuffix(names[end]); p != prefix || number == "" {
				break
			}
			end++
		}
		if end == i+1 {
			parts = append(parts, names[i])
		} else {
			parts = append(parts, prefix+"["+ranges(names[i:end])+"]")
		}
		i = end
	}
	return parts
}

// ranges are the numbers at the end of names, runs of them from first to last.
func ranges(names []string) string {
	var runs []string
	for i := 0; i < len(names); {
		_, first := cutSuffix(names[i])
		last, end := first, i+1
		for ; end < len(names); end++ {
			_, number := cutSuffix(names[end])
			if number != fmt.Sprintf("%0*d", len(first), atoi(last)+1) {
				break
			}
			last = number
		}
		if i = end; first == last {
			runs = append(runs, first)
		} else {
			runs = append(runs, first+"-"+last)
		}
	}
	return strings.Join(runs, ",")
}

// maxDigits is the greatest length of a number in a range.
const maxDigits = 9

// cutSuffix cuts the number from the end of a name; "" if there is none.
func cutSuffix(name string) (prefix, number string) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' && len(name)-i < maxDigits {
		i--
	}
	return name[:i], name[i:]
}

func atoi(digits string) (n int) {
	for i := range len(digits) {
		n = 10*n + int(digits[i]-'0')
	}
	return n
}
