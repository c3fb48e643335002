package main

import (
	"fmt"
	"strings"
)

// Bounds of a line diff: of the table that finds common lines, and of the lines shown.
const (
	maxDiffTable = 4 << 20
	maxDiffLines = 40
)

// lineDiff is the lines by which two texts differ: "-" and a line of the first, "+" and a line
// of the second. It shows the first maxDiffLines of them.
func lineDiff(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:]. Texts
	// that are too long for that have none.
	common := make([][]int, len(a)+1)
	if len(a)*len(b) <= maxDiffTable {
		for i := len(a); i >= 0; i-- {
			common[i] = make([]int, len(b)+1)
			for j := len(b) - 1; j >= 0 && i < len(a); j-- {
				common[i][j] = max(common[i+1][j], common[i][j+1])
				if a[i] == b[j] {
					common[i][j] = common[i+1][j+1] + 1
				}
			}
		}
	}
	var lines []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j] && common[i] != nil:
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i] == nil || common[i+1][j] >= common[i][j+1]):
			lines = append(lines, "  - "+printable(a[i]))
			i++
		default:
			lines = append(lines, "  + "+printable(b[j]))
			j++
		}
	}
	if more := len(lines) - maxDiffLines; more > 0 {
		lines = append(lines[:maxDiffLines], fmt.Sprintf("  and %d more lines", more))
	}
	return strings.Join(lines, "\n")
}
