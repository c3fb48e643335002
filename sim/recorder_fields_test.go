package sim_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/manager"
	"ibsm/routing/mcast"
	"ibsm/routing/portgroups"
	"ibsm/sim/fabric"
	"ibsm/sweep/device"
	"ibsm/topo/net/nettest"
	"ibsm/view"
)

// notInRecord are the fields of a view, and of what it holds, that writeView leaves out.
var notInRecord = map[string]string{
	"view.View.Gen":                 "is in the line before those of the view",
	"topo.Node.Switch":              "the place in Topo.Switches, which the tables' lines follow",
	"topo.VPorts.guids":             "made of the List and Aliases",
	"topo.VPorts.lids":              "made of the List",
	"routing.Tables.Rules":          "functions",
	"partitions.Policy.byKey":       "made of the Partitions",
	"partitions.Policy.groups":      "made of the port groups",
	"partitions.Policy.File":        "what the Partitions without a Number are of",
	"partitions.Tables.Confines":    "made of the Policy",
	"partitions.Tables.Exact":       "made of the Policy and Want",
	"finding.Finding.Fields":        "values of the log line",
	"partitions.Claim.Position":     position,
	"routing.Tables.Origin":         "the engine's own, of its own type",
	"cabling.Cabling.Warnings":      "of the plan's file, which is no part of a run",
	"cabling.Comparison.of":         "what Findings and Known come from",
	"partitions.Partition.Position": position, "partitions.Member.Position": position,
	"partitions.Group.Position": position,
	"portgroups.Group.Position": position, "portgroups.Rule.Position": position,
	"portgroups.PortName.Position": position,
	"policyfile.Word.Position":     position, "qos.Level.Position": position, "qos.Rule.Position": position,
	"diag.Error.Position":     position,
	"diag.Error.Text":         "wording",
	"device.Ports.held":       "Blocks reads it",
	"device.Ports.same":       "shares memory",
	"device.Ports.seen":       "shares memory",
	"mcast.MFTs.blocks":       "Ports reads it",
	"mad.Route.n":             "Ports reads it",
	"mad.Route.port":          "Ports reads it",
	"topo.PKeyTable.keys":     "Keys reads it",
	"topo.PKeyTable.sorted":   "made of keys",
	"topo.PKeyTable.full":     "made of keys",
	"portgroups.Set.byName":   "made of Groups",
	"portgroups.Group.sum":    "made of Rules",
	"portgroups.Pattern.expr": "made of Text",
	"portgroups.Rule.named":   "while a file is read",
	"portgroups.Rule.less":    "while a file is read",
}

const position = "a place in a file, of which tests have any"

// What a view has is in the record: writeView writes other lines when a field has another
// value. A view of a small fabric stands for all, with something in each list, map and pointer.
func TestRecorderView(t *testing.T) {
	n := nettest.Generate(t, "fattree:k=2,levels=2")
	b := newHarness(t, n, fabric.Config{Seed: 1})
	m := b.comeUp(minhopConfig())
	v := fillOut(reflect.ValueOf(m.View), map[reflect.Type]bool{}).Interface().(*view.View)
	v.Ports = &device.Ports{}
	v.Ports.Read(device.Place{Attr: smp.AttrSLtoVLMappingTable, Node: v.Topo.Nodes[v.Topo.Switches[0]].GUID, Port: 1},
		make([]byte, device.BlockSize), nil)
	v.MFTs = v.MFTs.With(&mcast.Tree{MLID: mad.MinMulticastLID, Branches: []mcast.Branch{{Ports: mcast.PortMask{1}}}})
	rule := &v.PortGroups.Groups[0].Rules[0]
	rule.Union, rule.Subtract = []*portgroups.Group{{Name: "one"}}, &portgroups.Group{Name: "two"}
	mustWriteAll(t, v, notInRecord, func() string { return linesOf(v) })
}

// notOfEvents are the fields of what else is recorded that are left out.
var notOfEvents = map[string]string{
	"manager.Log.PC": "a place in the code",
}

// So it is with packets, lines of the log, and what the log makes of other actions.
func TestRecorderEvents(t *testing.T) {
	b := newHarness(t, nettest.Generate(t, "fattree:k=2,levels=2"), fabric.Config{Seed: 1})
	m := b.add(firstHost(b.net), minhopConfig()).Manager
	lines := func(write func(r *recorder)) func() string {
		return func() string {
			var out strings.Builder
			write(newRecorder(b.World, b.net, &out))
			return out.String()
		}
	}
	d := &mad.Datagram{}
	mustWriteAll(t, d, nil, lines(func(r *recorder) { r.sent(m, []mad.Datagram{*d}) }))
	l := &manager.Log{Args: []any{"lid", mad.LID(7), "name", "leaf"}}
	mustWriteAll(t, l, notOfEvents, lines(func(r *recorder) { r.returned(m, *l) }))
	up := &manager.Up{Summary: manager.Summary{Sets: map[mad.AttrID]int{1: 1}}}
	mustWriteAll(t, up, nil, lines(func(r *recorder) { r.returned(m, *up) }))
	entered := &manager.Entered{}
	mustWriteAll(t, entered, nil, lines(func(r *recorder) { r.returned(m, *entered) }))
	restarted := &manager.Restarted{Ports: []mad.GUID{1}, Nodes: []mad.GUID{2}}
	mustWriteAll(t, restarted, nil, lines(func(r *recorder) { r.returned(m, *restarted) }))
	exit := &manager.Exit{Err: errors.New("no port")}
	mustWriteAll(t, exit, nil, lines(func(r *recorder) { r.returned(m, *exit) }))
}

// Names of fields, values and levels count in a line of the log, and wording does not.
func TestRecorderLog(t *testing.T) {
	b := newHarness(t, nettest.Generate(t, "fattree:k=2,levels=2"), fabric.Config{Seed: 1})
	m := b.add(firstHost(b.net), minhopConfig()).Manager
	text := func(l manager.Log) string {
		var out strings.Builder
		newRecorder(b.World, b.net, &out).returned(m, l)
		compared, _, _ := strings.Cut(out.String(), "\t")
		return compared
	}
	was := text(
		manager.Log{Msg: "port 3 of leaf-1 is in INIT", Args: []any{"lid", mad.LID(7), "reason", "a reboot of 0x15",
			"by", "operator"}})
	if same := text(
		manager.Log{Msg: "port 3 at leaf-1: INIT", Args: []any{"lid", mad.LID(7), "reason", "0x15 was powered up", "by",
			"operator"}}); same != was {
		t.Errorf("other words:\n%s%s", was, same)
	}
	for _, l := range []manager.Log{
		{Msg: "port 4 of leaf-1 is in INIT", Args: []any{"lid", mad.LID(7), "reason", "a reboot of 0x15", "by",
			"operator"}},
		{Msg: "port 3 of leaf-2 is in INIT", Args: []any{"lid", mad.LID(7), "reason", "a reboot of 0x15", "by",
			"operator"}},
		{Msg: "port 3 of leaf-1 is in ARMED", Args: []any{"lid", mad.LID(7), "reason", "a reboot of 0x15", "by",
			"operator"}},
		{Msg: "port 3 of leaf-1 is in INIT", Args: []any{"lid", mad.LID(8), "reason", "a reboot of 0x15", "by",
			"operator"}},
		{Msg: "port 3 of leaf-1 is in INIT", Args: []any{"LID", mad.LID(7), "reason", "a reboot of 0x15", "by",
			"operator"}},
		{Msg: "port 3 of leaf-1 is in INIT", Args: []any{"lid", mad.LID(7), "reason", "a reboot of 0x16", "by",
			"operator"}},
		{Msg: "port 3 of leaf-1 is in INIT", Args: []any{"lid", mad.LID(7), "reason", "a reboot of 0x15", "by",
			"sick links"}},
	} {
		if text(l) == was {
			t.Errorf("recorded as what it is not: %v %v", l.Msg, l.Args)
		}
	}
}

// mustWriteAll fails the test where the lines are the same with another value in a field of
// root, a pointer, and the field is not left out with a reason; or where it is not so.
func mustWriteAll(t *testing.T, root any, leftOut map[string]string, lines func() string) {
	t.Helper()
	w := &watcher{lines: lines, was: lines(), leftOut: leftOut, seen: map[string]bool{}}
	if again := lines(); again != w.was {
		t.Fatalf("not always written in the same way:\n%s%s", w.was, again)
	}
	w.watch(reflect.ValueOf(root))
	for _, field := range slices.Sorted(maps.Keys(w.seen)) {
		if reason := leftOut[field]; w.seen[field] == (reason != "") {
			t.Errorf("%s: recorded is %t, and the reason to leave it out is %q", field, w.seen[field], reason)
		}
	}
	for field := range leftOut {
		if _, ok := w.seen[field]; !ok {
			t.Errorf("%s is left out, and is not there", field)
		}
	}
}

func linesOf(v *view.View) string {
	var out strings.Builder
	writeView(v, func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) })
	return out.String()
}

// fillOut is a copy of a value in which no exported list, map or pointer is empty. Inside are
// the types that it is part of, each of which is filled once.
func fillOut(v reflect.Value, inside map[reflect.Type]bool) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	if inside[v.Type()] && v.Kind() != reflect.Slice {
		return out
	}
	if v.Kind() == reflect.Struct || v.Kind() == reflect.Pointer {
		inside[v.Type()] = true
		defer delete(inside, v.Type())
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			p.Elem().Set(v.Elem())
		}
		p.Elem().Set(fillOut(p.Elem(), inside))
		out.Set(p)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(fillOut(v.Field(i), inside))
			}
		}
	case reflect.Slice:
		if inside[v.Type().Elem()] {
			return out // else there would be no end
		}
		out.Set(reflect.MakeSlice(v.Type(), max(1, v.Len()), max(1, v.Len())))
		reflect.Copy(out, v)
		for i := range out.Len() {
			out.Index(i).Set(fillOut(out.Index(i), inside))
		}
	case reflect.Map:
		out.Set(reflect.MakeMap(v.Type()))
		for _, k := range v.MapKeys() {
			out.SetMapIndex(k, v.MapIndex(k))
		}
		if v.Len() == 0 {
			out.SetMapIndex(reflect.Zero(v.Type().Key()), fillOut(reflect.Zero(v.Type().Elem()), inside))
		}
	}
	return out
}

// watcher changes one field after the other and looks whether the lines change.
type watcher struct {
	lines   func() string
	was     string
	leftOut map[string]string
	seen    map[string]bool // of the fields, by type and name: whether they are recorded
}

func (w *watcher) watch(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.watch(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.watch(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := fmt.Sprintf("%v.%s", v.Type(), v.Type().Field(i).Name)
			if !w.seen[name] {
				w.seen[name] = v.Type().Field(i).IsExported() && w.written(v.Field(i))
			}
			if w.leftOut[name] == "" {
				w.watch(v.Field(i))
			}
		}
	}
}

// written reports whether the lines differ with another value.
func (w *watcher) written(v reflect.Value) (differ bool) {
	was := reflect.New(v.Type()).Elem()
	was.Set(v)
	defer func() {
		v.Set(was)
		if recover() != nil { // an index that is looked up, and so is written
			differ = true
		}
	}()
	v.Set(altered(v))
	return w.lines() != w.was
}

// altered is another value than v.
func altered(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch {
	case v.Kind() == reflect.Bool:
		out.SetBool(!v.Bool())
	case v.Kind() == reflect.String:
		out.SetString(v.String() + "7")
	case v.CanInt():
		out.SetInt(v.Int() ^ 1)
	case v.CanUint():
		out.SetUint(v.Uint() ^ 1)
	case v.Kind() == reflect.Array:
		out.Set(v)
		out.Index(0).Set(altered(v.Index(0)))
	case v.Kind() == reflect.Struct: // with another value in its first field
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !unwritten[f.Type] {
				out.Set(v)
				out.Field(i).Set(altered(v.Field(i)))
				break
			}
		}
	case v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Array:
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(altered(v.Elem()))
	case v.Kind() == reflect.Slice && v.Len() > 0 && (v.Index(0).CanInt() || v.Index(0).CanUint()):
		out.Set(reflect.AppendSlice(reflect.Zero(v.Type()), v))
		out.Index(v.Len() - 1).Set(altered(v.Index(v.Len() - 1)))
	case v.Kind() == reflect.Slice && v.Len() > 0:
		out.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v.Slice(0, v.Len()-1)))
	}
	return out // zero for the others
}
