package migrate

import (
	"bytes"
	"slices"
	"strings"
)

// Setting is a line of opensm.conf.
type Setting struct{ Key, Value string }

// remove as a Value has the lines of a key turned into comments.
const remove = "\x00"

// Edit is the text of an opensm.conf with other values: each line of a key gets the value, and what has no line is
// appended.
func Edit(text []byte, set []Setting) []byte {
	var out bytes.Buffer
	found := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		key, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		key, _, _ = strings.Cut(key, "\t")
		at := slices.IndexFunc(set, func(s Setting) bool { return s.Key == key })
		switch {
		case at < 0:
			out.WriteString(line)
		case set[at].Value == remove:
			out.WriteString("# " + line)
		default:
			found[key] = true
			out.WriteString(key + " " + set[at].Value + "\n")
		}
	}
	if b := out.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
		out.WriteByte('\n')
	}
	for _, s := range set {
		if !found[s.Key] && s.Value != remove {
			out.WriteString(s.Key + " " + s.Value + "\n")
		}
	}
	return out.Bytes()
}
