package cache

import (
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// parseMKeys reads guid2mkey.
func parseMKeys(file string, b []byte) (map[mad.GUID]mad.MKey, diag.List, error) {
	var w warnings
	records, err := parse(file, b, &w)
	keys := map[mad.GUID]mad.MKey{}
	for _, r := range records {
		g, canonical := guid(r.key)
		key, right := number(firstWord(r.value), 64)
		_, twice := keys[g]
		switch {
		case !canonical || g == 0:
			w.add(r.Position, "%q is no port GUID; want 0x and 16 digits, not all 0", r.key)
		case !right:
			w.add(r.Position, "port %s: its M_Key is no number of 64 bits", g) // and may be a secret all the same
		case twice:
			w.add(r.Position, "port %s is here twice; the first record applies", g)
		default:
			keys[g] = mad.MKey(key)
		}
	}
	return keys, w.list(), err
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(s, " \t"), " ")
	return word
}
