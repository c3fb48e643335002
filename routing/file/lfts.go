package file

import (
	"io"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/routing"
)

// LFTs are the forwarding tables of a file.
type LFTs struct {
	Switches []LFT // in the order of the file
	// Owner is the GUID of the port that each LID belonged to, if the file has it:
	// a port may have another LID by now, and its routes go with it.
	Owner    map[mad.LID]mad.GUID
	Warnings diag.List
	end      diag.Position // last line
}

// LFT is the forwarding table of a switch.
type LFT struct {
	GUID mad.GUID      // of the node
	At   diag.Position // of its heading
	// Port is the egress port of each LID, routing.NoPath for none, in whole blocks.
	// Whether the switch has such a port is not known here.
	Port []uint8
}

// endOfTable ends the last line of a table in OpenSM's dump and in ibroute's output.
const endOfTable = "lids dumped"

// ReadLFTs reads what OpenSM writes as opensm-lfts.dump, and what dump_fts and ibroute print. A
// file with an error is rejected as a whole, with a diag.List.
func ReadLFTs(name string, from io.Reader) (*LFTs, error) {
	r := newReader(name, from)
	t := &LFTs{}
	known := map[mad.GUID]int{}
	ended := 0 // tables
	for r.next() {
		switch text := strings.TrimSpace(r.line); {
		case strings.HasPrefix(text, "Unicast lids"):
			t.Switches = heading(r, known, t.Switches, func(g mad.GUID, at diag.Position) LFT {
				return LFT{GUID: g, At: at}
			})
		case strings.HasPrefix(text, "Multicast mlids"):
			r.fail(text, "multicast tables: only unicast routes can be given")
		case strings.HasPrefix(text, "0x") && t.Switches == nil:
			r.fail(text, "a route before the first line \"Unicast lids ... of switch ... guid ...\"")
		case strings.HasPrefix(text, "0x"):
			r.route(&t.Switches[len(t.Switches)-1], text)
		case strings.HasSuffix(text, endOfTable):
			ended = len(t.Switches)
		case strings.HasPrefix(text, "Lid "), strings.HasPrefix(text, "Port "):
			// ibroute's headings of columns
		default:
			r.fail(text, "expected \"Unicast lids ... of switch ... guid ...\" or \"0xLID PORT\"")
		}
	}
	if len(r.errs) == 0 && ended > 0 && ended < len(t.Switches) {
		r.errs.Add(t.Switches[len(t.Switches)-1].At, "the last table has no line %q at its end, which others have: %s",
			endOfTable, cutOff)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	t.Owner, t.Warnings, t.end = r.owners(), r.warnings(), r.at
	return t, nil
}

// route reads "0x0003 007" and what may follow of its owner.
func (r *reader) route(t *LFT, text string) {
	words := strings.Fields(text)
	lid, ok := r.lid(words[0])
	if !ok {
		return
	}
	if len(words) < 2 {
		r.fail(text, "LID %v has no port: expected \"0xLID PORT\"", lid)
		return
	}
	port, err := strconv.ParseUint(words[1], 10, 8)
	if err != nil {
		r.fail(words[1], "port %q: expected 0 to 254, or 255 for none", words[1])
		return
	}
	t.Port = r.grown(t.Port, lid)
	if int(lid) >= len(t.Port) {
		return
	}
	if was := t.Port[lid]; was != routing.NoPath && was != uint8(port) {
		r.fail(words[1], "LID %v leaves by port %d here, but by port %d above", lid, port, was)
		return
	}
	t.Port[lid] = uint8(port)
	r.portGUID(lid)
}
