package sim_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/manager"
	"ibsm/sim"
	"ibsm/topo/net"
	"ibsm/view"
)

// recorder writes as lines of text what leaves the managers of one World: every packet with its
// address and GRH, every published view, and the level, fields and values of every log event. A
// line names no Go type and no wording: these are for readers, after a tab, and make compare
// leaves them out, so that it compares rebuilt managers too.
type recorder struct {
	world *sim.World
	words decoder
	out   io.Writer
	buf   []byte
	shown map[int]map[string]bool // lines of the last view, by manager; of a view only those are written that differ
}

// recordTo is where runs are recorded: IBSM_TRANSCRIPT=FILE; nil for nowhere.
var recordTo = sync.OnceValue(func() *bufio.Writer {
	path := os.Getenv("IBSM_TRANSCRIPT")
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	return bufio.NewWriter(file)
})

// record records a World, until the test ends.
func record(t testing.TB, w *sim.World, n *net.Net) {
	if out := recordTo(); out != nil {
		fmt.Fprintf(out, "== %s\n", t.Name())
		newRecorder(w, n, out)
		t.Cleanup(func() { out.Flush() })
	}
}

func newRecorder(w *sim.World, n *net.Net, out io.Writer) *recorder {
	r := &recorder{world: w, words: decoder{w.Fabric, n}, out: out, shown: map[int]map[string]bool{}}
	w.Sent, w.Returned = r.sent, r.returned
	return r
}

// begin begins a line with the time in seconds, the kind, and the number of the manager.
func (r *recorder) begin(m *sim.Manager, kind string) {
	now := r.world.Fabric.Now()
	r.buf = fmt.Appendf(r.buf[:0], "%d.%09d manager %d %s", now/time.Second, now%time.Second,
		slices.Index(r.world.Managers, m), kind)
}

// end writes the line, and words for readers.
func (r *recorder) end(words ...any) {
	if len(words) > 0 {
		r.buf = append(append(r.buf, '\t'), strings.ReplaceAll(strings.TrimSpace(fmt.Sprintln(words...)), "\n", " ")...)
	}
	r.out.Write(append(r.buf, '\n'))
}

// sent writes one line for each datagram. Zeros at the end of a packet are left out.
func (r *recorder) sent(m *sim.Manager, batch []mad.Datagram) {
	for i := range batch {
		d := &batch[i]
		p := &d.Packet
		r.begin(m, "send")
		r.buf = fmt.Appendf(r.buf, " class=%#x method=%#x attr=%#x mod=%#x", uint8(p.MgmtClass()), uint8(p.Method()),
			uint16(p.AttrID()), p.AttrMod())
		if p.MgmtClass() == mad.ClassDirected {
			r.buf = fmt.Appendf(r.buf, " route=%d", p.InitialPath()[1:min(int(p.HopCount())+1, 64)])
		}
		r.buf = fmt.Appendf(r.buf, " lid=%d qpn=%d sl=%d bits=%d pkey=%d timedout=%t ", uint16(d.LID), d.QPN, d.SL,
			d.PathBits, d.PKeyIndex, d.TimedOut)
		if g := d.GRH; g != (mad.GRH{}) {
			r.buf = fmt.Appendf(r.buf, "grh=%x,%d,%d,%d,%d,%t ", g.GID[:], g.FlowLabel, g.TrafficClass, g.HopLimit,
				g.GIDIndex, g.Present)
		}
		r.buf = hex.AppendEncode(r.buf, bytes.TrimRight(p[:], "\x00"))
		place, text := r.words.packet(m.Station.At(), d)
		r.end(p.Method(), attr(p), place, text)
	}
}

// returned writes the log, changes of state, and views.
func (r *recorder) returned(m *sim.Manager, a manager.Action) {
	switch a := a.(type) {
	case manager.Publish:
		r.published(m, "publishes", a.View)
	case manager.StoodBy:
		r.published(m, "found", a.View)
	case manager.Log:
		r.begin(m, "log")
		r.buf = fmt.Appendf(r.buf, " level=%d %q", int(a.Level), valuesIn(a.Msg))
		for i := 0; i < len(a.Args); i += 2 {
			key := fmt.Sprint(a.Args[i])
			r.buf = fmt.Appendf(r.buf, " %s=%s", key, fieldText(key, a.Args[i+1]))
		}
		r.end(append([]any{a.Level, a.Msg}, a.Args...)...)
	case manager.Entered:
		r.begin(m, "enters")
		r.buf = fmt.Appendf(r.buf, " state=%d", uint8(a.State))
		r.end()
	case manager.Up:
		r.begin(m, "up")
		r.buf = fmt.Appendf(r.buf,
			" nodes=%d switches=%d links=%d lids=%d active=%d took=%d longest=%d cut=%d bad=%d failures=%d errors=%t loop=%d first=%t sets=",
			a.Nodes, a.Switches, a.Links, a.LIDs, a.Active, int64(a.Took), a.Longest, a.Cut, a.Bad, a.Failures,
			a.Errors, a.CreditLoop, a.First)
		for _, attr := range slices.Sorted(maps.Keys(a.Sets)) {
			r.buf = fmt.Appendf(r.buf, "%#x:%d,", uint16(attr), a.Sets[attr])
		}
		if a.Forbidden+a.Connects > 0 || a.ByRules != "" {
			r.buf = fmt.Appendf(r.buf, " forbidden=%d connects=%d byrules=%q", a.Forbidden, a.Connects,
				valuesIn(a.ByRules))
		}
		r.end()
	case manager.Restarted:
		r.begin(m, "restarted")
		r.buf = fmt.Appendf(r.buf, " ports=%s nodes=%s", plain(a.Ports), plain(a.Nodes))
		r.end()
	case manager.Congestion:
		r.begin(m, "congestion")
		r.buf = fmt.Appendf(r.buf, " given=%t", a.View != nil)
		r.end()
	case manager.Exit:
		r.begin(m, "exits")
		r.buf = fmt.Appendf(r.buf, " failed=%t", a.Err != nil)
		r.end()
	}
}

// valueInText is a word with a digit, as numbers, GUIDs, LIDs and names of nodes are, or a state of a
// port or a manager.
var valueInText = regexp.MustCompile(
	`[^\s,;:()=\[\]{}"']*[0-9][^\s,;:()=\[\]{}"']*|\b(DOWN|INIT|ARMED|ACTIVE|NOT_?ACTIVE|DISCOVERING|STANDBY|MASTER)\b`)

// valuesIn are the values in a text for people, in their order, without its wording.
func valuesIn(text string) []string {
	found := valueInText.FindAllString(text, -1)
	for i := range found {
		found[i] = strings.TrimRight(found[i], ".")
	}
	return found
}

// sentences are the fields of log events that are texts for people. Of all others the
// whole value counts.
var sentences = map[string]bool{
	"reason": true, "text": true, "finding": true, "what": true, "at": true, "first": true, "example": true,
	"first_is": true, "loop": true, "where": true,
}

// fieldText is the value of a field of a log event. Only what is the same in each run has one.
func fieldText(key string, value any) string {
	v := reflect.ValueOf(value)
	err, isError := value.(error)
	text, isStringer := value.(fmt.Stringer)
	switch {
	case isError:
		return fmt.Sprintf("%q", valuesIn(err.Error()))
	case sentences[key]:
		return fmt.Sprintf("%q", valuesIn(fmt.Sprint(value)))
	case isStringer:
		return fmt.Sprintf("%q", text.String())
	case v.Kind() == reflect.String:
		return fmt.Sprintf("%q", v.String())
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		out := make([]string, v.Len())
		for i := range out {
			out[i] = fieldText(key, v.Index(i).Interface())
		}
		return fmt.Sprint(out)
	case v.Kind() == reflect.Bool || v.CanInt() || v.CanUint() || v.CanFloat():
		return fmt.Sprint(value)
	}
	panic(fmt.Sprintf("the field %s of a log event is a %T, which recorder cannot write", key, value))
}

// published writes a view.
func (r *recorder) published(m *sim.Manager, kind string, v *view.View) {
	r.begin(m, kind)
	if v == nil {
		r.buf = append(r.buf, " nothing"...)
		r.end()
		return
	}
	r.buf = fmt.Appendf(r.buf, " gen=%d", v.Gen)
	r.end()
	who := slices.Index(r.world.Managers, m)
	was, is := r.shown[who], map[string]bool{}
	writeView(v, func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		if is[line] = true; !was[line] {
			fmt.Fprintf(r.out, "\t+ %s\n", line)
		}
	})
	for _, line := range slices.Sorted(maps.Keys(was)) {
		if !is[line] {
			fmt.Fprintf(r.out, "\t- %s\n", line)
		}
	}
	r.shown[who] = is
}
