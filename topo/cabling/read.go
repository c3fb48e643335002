package cabling

import (
	"bytes"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/topo/net"
)

// Limits of a plan. They hold the largest legal subnet twice over.
const (
	MaxFile    = net.MaxFile // bytes
	maxDevices = net.MaxNodes
	maxPorts   = net.MaxPorts // of all devices, each with as many as the highest that has a cable
	maxLine    = 1024         // bytes, line end not counted
	maxErrors  = 100
)

// header is the first line of a plan in the project's own format.
const header = "ibsm-topology 1"

// Read reads a plan in one of three formats: the project's own, which begins with the line ibsm-topology 1; UFM's
// topoconfig.conf, a line 0xGUID,port,0xGUID,port,Any,Active for one end or each; or a topology file of ibnetdiscover
// or ibsim. Name appears in errors. The error is a diag.List.
func Read(name string, src []byte) (*Cabling, error) {
	switch first := firstLine(src); {
	case len(src) > MaxFile:
		return nil, diag.List{
			{Position: diag.Position{File: name}, Text: "file of " + strconv.Itoa(len(src)) + " bytes: at most " +
				strconv.Itoa(MaxFile) + " are read"},
		}
	case first == header || strings.HasPrefix(first, "ibsm-topology"):
		return newReader(name).read(src, (*reader).ownLine)
	case strings.Contains(first, ","):
		return newReader(name).read(src, (*reader).topoconfigLine)
	}
	n, err := net.Parse(name, src)
	if err != nil {
		return nil, err
	}
	c := Of(n)
	c.Warnings = n.Warnings
	if len(c.Cables) == 0 {
		return nil, diag.List{noCable(name)}
	}
	return c, nil
}

// noCable says that a plan says nothing.
func noCable(name string) diag.Error {
	return diag.Error{Position: diag.Position{File: name}, Text: "no cable in the file"}
}

// firstLine is the first line that says something.
func firstLine(src []byte) string {
	for line := range bytes.Lines(src) {
		if text := strings.TrimSpace(string(line[:min(len(line), maxLine)])); text != "" && text[0] != '#' {
			return text
		}
	}
	return ""
}

// reader is the state of reading a plan.
type reader struct {
	at     diag.Position
	errs   diag.List
	c      *Cabling
	guids  map[mad.GUID]int32
	names  map[string]int32
	used   map[End]use
	most   []uint8 // of each device: its highest port with a cable
	ports  int     // of all devices
	header bool    // has been read
	listed bool    // devices with names have been
}

// use is the cable of a port.
type use struct {
	cable int32
	line  int
}

func newReader(name string) *reader {
	return &reader{at: diag.Position{File: name}, c: &Cabling{}, guids: map[mad.GUID]int32{}, names: map[string]int32{},
		used: map[End]use{}}
}

func (r *reader) read(src []byte, readLine func(*reader, string)) (*Cabling, error) {
	for line := range bytes.Lines(src) {
		r.at.Line++
		text := strings.TrimRight(string(line[:min(len(line), maxLine+1)]), "\r\n")
		if len(text) > maxLine {
			r.fail(maxLine+1, "the line is longer than %d bytes", maxLine)
			continue
		}
		if len(r.errs) == maxErrors {
			r.errs.Add(r.at, "too many errors: the rest of the file is not checked")
			break
		}
		readLine(r, text)
	}
	if len(r.errs) == 0 && len(r.c.Cables) == 0 {
		r.errs = append(r.errs, noCable(r.at.File))
	}
	if err := r.errs.Err(); err != nil {
		return nil, err
	}
	return r.c, nil
}

func (r *reader) fail(col int, format string, args ...any) {
	at := r.at
	at.Col = col
	r.errs.Add(at, format, args...)
}

// token is a part of a line.
type token struct {
	text   string
	col    int
	quoted bool
}

// topoconfigLine reads a line of UFM's topoconfig.conf. The fifth field is the type of the device, and the last one the
// state of the link.
func (r *reader) topoconfigLine(line string) {
	fields, col := []token{}, 1
	if text := strings.TrimSpace(line); text == "" || text[0] == '#' {
		return
	}
	for field := range strings.SplitSeq(line, ",") {
		text := strings.TrimSpace(field)
		fields = append(fields, token{text: text, col: col + strings.Index(field, text)})
		col += len(field) + 1
	}
	if len(fields) != 6 {
		r.fail(1, "expected 0xGUID,port,0xGUID,port,Any,Active: %d fields, not 6", len(fields))
		return
	}
	var ends [2]End
	for i := range ends {
		guid, port := fields[2*i], fields[2*i+1]
		g, ok := r.guid(guid)
		n, good := r.portNumber(port)
		if !ok || !good {
			return
		}
		if ends[i], ok = r.end(r.device(g), n, guid.col); !ok {
			return
		}
	}
	if f := fields[4]; !strings.EqualFold(f.text, "any") {
		r.fail(f.col, "device type %q: only Any is known", f.text)
		return
	}
	if f := fields[5]; !strings.EqualFold(f.text, "active") {
		r.fail(f.col, "link state %q: only Active is known", f.text)
		return
	}
	r.cable(Cable{Ends: ends}, [2]int{fields[0].col, fields[2].col})
}

func (r *reader) guid(t token) (mad.GUID, bool) {
	g, err := mad.ParseGUID(t.text)
	if err != nil || g == 0 || !strings.HasPrefix(strings.ToLower(t.text), "0x") {
		r.fail(t.col, "%q is not a GUID: expected 0x and 1 to 16 hexadecimal digits", t.text)
		return 0, false
	}
	return g, true
}

func (r *reader) portNumber(t token) (uint8, bool) {
	n, err := strconv.ParseUint(t.text, 10, 8)
	if err != nil || n == 0 || n > 254 {
		r.fail(t.col, "port %q: expected 1 to 254", t.text)
		return 0, false
	}
	return uint8(n), true
}

// device is the device of a GUID.
func (r *reader) device(guid mad.GUID) int32 {
	d, is := r.guids[guid]
	if !is {
		d = r.add(Device{GUID: guid})
		r.guids[guid] = d
	}
	return d
}

func (r *reader) add(d Device) int32 {
	r.c.Devices, r.most = append(r.c.Devices, d), append(r.most, 0)
	return int32(len(r.c.Devices) - 1)
}

// end is a port of a device.
func (r *reader) end(device int32, port uint8, col int) (End, bool) {
	if more := int(port) - int(r.most[device]); more > 0 {
		r.ports += more
		r.most[device] = port
	}
	if len(r.c.Devices) > maxDevices || r.ports > maxPorts {
		r.fail(col, "too many devices or ports: at most %d and %d", maxDevices, maxPorts)
		return End{}, false
	}
	return End{device, port}, true
}

// cable adds a cable. It may be listed once from each end. Both ends are the same port where that has a loopback plug.
func (r *reader) cable(c Cable, cols [2]int) {
	for i, e := range c.Ends {
		was, is := r.used[e]
		if !is {
			continue
		}
		old := &r.c.Cables[was.cable]
		if i == 0 && old.Ends[0] == c.Ends[1] && old.Ends[1] == c.Ends[0] || i == 0 && old.Ends == c.Ends {
			return
		}
		r.fail(cols[i], "port %d has another cable on line %d", e.Port, was.line)
		return
	}
	for _, e := range c.Ends {
		r.used[e] = use{int32(len(r.c.Cables)), r.at.Line}
	}
	r.c.Cables = append(r.c.Cables, c)
}
