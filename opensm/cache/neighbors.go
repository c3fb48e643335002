package cache

import (
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// End is an end of a link: the port GUID of a CA or router, or the node GUID of a
// switch, and the port number.
type End struct {
	GUID mad.GUID
	Port uint8
}

// Link is a cable as one of its ends sees it.
type Link struct{ Near, Far End }

// String prints an end as the file has it.
func (e End) String() string { return string(e.append(nil)) }

func (e End) append(b []byte) []byte {
	return strconv.AppendUint(append(appendHex(b, uint64(e.GUID)), ':'), uint64(e.Port), 10)
}

func parseEnd(s string) (End, bool) {
	g, p, _ := strings.Cut(s, ":")
	node, canonical := guid(g)
	port, right := number(p, 8)
	return End{node, uint8(port)}, canonical && right && node != 0 && port != 0
}

// parseNeighbors reads neighbors. Links that are there from one end only are skipped.
func parseNeighbors(file string, b []byte) (map[End]End, diag.List, error) {
	var w warnings
	records, err := parse(file, b, &w)
	links := map[End]End{}
	places := map[End]diag.Position{}
	for _, r := range records {
		near, right := parseEnd(r.key)
		far, alsoRight := parseEnd(firstWord(r.value))
		_, twice := links[near]
		switch {
		case !right:
			w.add(r.Position, "%q is no port; want 0x, 16 digits, a colon and a port number", r.key)
		case !alsoRight:
			w.add(r.Position, "port %s: %q is no port; want 0x, 16 digits, a colon and a port number", near,
				firstWord(r.value))
		case twice:
			w.add(r.Position, "port %s is here twice; the first record applies", near)
		default:
			links[near] = far
			places[near] = r.Position
		}
	}
	for _, r := range records { // in the order of the file
		near, _ := parseEnd(r.key)
		far, there := links[near]
		if there && links[far] != near && places[near] == r.Position {
			w.add(r.Position, "port %s has neighbor %s, which does not have this one", near, far)
			delete(links, near)
		}
	}
	return links, w.list(), err
}
