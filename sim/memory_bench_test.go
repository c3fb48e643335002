package sim_test

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"ibsm/sim/fabric"
	"ibsm/topo/net"
	"ibsm/topo/net/nettest"
)

// BenchmarkMemory shows what a manager holds: after SUBNET UP, and a day later, in which links and hosts failed and
// came back. It follows the pointers of the manager. IBSM_FABRIC names another fabric than one of 1,024 hosts.
func BenchmarkMemory(b *testing.B) {
	spec := cmp.Or(os.Getenv("IBSM_FABRIC"), "fattree:k=16")
	n := nettest.Generate(b, spec)
	for b.Loop() {
		h := newHarness(b, n, fabric.Config{Seed: 1})
		m := h.comeUp(minhopConfig())
		h.pass(time.Minute)
		up := follow(m.Core)
		h.fullDay(n)
		later := follow(m.Core)
		fmt.Print(heldTable(spec, len(n.Nodes), up, later))
		b.ReportMetric(up.total()/1e6, "up-MB")
		b.ReportMetric(later.total()/1e6, "later-MB")
	}
}

// fullDay lets a day pass, in each hour of which something fails and comes back.
func (b *harness) fullDay(n *net.Net) {
	for hour := range 24 {
		b.anHour(n, hour)
	}
}

// anHour lets an hour pass, in which a host, a link and a leaf switch fail and come back.
func (b *harness) anHour(n *net.Net, hour int) {
	at := host(n, 1+hour*37)
	leaf := b.Fabric.Peer(at).Node
	b.Fabric.Reboot(at.Node)
	b.pass(10 * time.Minute)
	link := uplink(n, leaf)
	b.Fabric.LinkDown(link)
	b.pass(10 * time.Minute)
	b.Fabric.LinkUp(link)
	b.pass(10 * time.Minute)
	b.Fabric.Reboot(leaf)
	b.pass(30 * time.Minute)
}

// holding is the memory that is reached from a value, by the path of fields that leads to it.
type holding struct {
	spans []memorySpan
	maps  map[string]float64 // estimated: how a map is laid out is the runtime's affair
	seen  map[visit]bool
	bytes map[string]float64 // what only a path holds, or it first
}

// memorySpan is a piece of memory.
type memorySpan struct {
	begin, end uintptr
	order      int // a lower one was reached before
	path       string
}

type visit struct {
	at  uintptr
	typ reflect.Type
}

// pathDepth is how many fields a path has at most.
const pathDepth = 5

// follow follows all pointers from a value. What several paths lead to counts for the shortest, and among such for
// the first.
func follow(v any) *holding {
	h := &holding{maps: map[string]float64{}, seen: map[visit]bool{}, bytes: map[string]float64{}}
	type reached struct {
		v    reflect.Value
		path []string
	}
	todo := []reached{{reflect.ValueOf(v), nil}}
	for len(todo) > 0 {
		var next []reached
		for _, r := range todo {
			h.walk(r.v, r.path, func(v reflect.Value, path []string) { next = append(next, reached{v, path}) })
		}
		todo = next
	}
	h.count()
	return h
}

// walk goes through a value. What is behind a named field comes later: it is given to put.
func (h *holding) walk(v reflect.Value, path []string, put func(v reflect.Value, path []string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && h.first(v) {
			h.add(v.Pointer(), v.Type().Elem().Size(), path)
			h.walk(v.Elem(), path, put)
		}
	case reflect.Interface:
		if !v.IsNil() {
			if e := v.Elem(); e.Kind() != reflect.Pointer {
				h.maps[name(path)] += float64(e.Type().Size())
			}
			h.walk(v.Elem(), path, put)
		}
	case reflect.String:
		if s := v.String(); s != "" {
			h.add(uintptr(unsafe.Pointer(unsafe.StringData(s))), uintptr(len(s)), path)
		}
	case reflect.Slice:
		if v.Cap() == 0 || !h.first(v) {
			return
		}
		h.add(v.Pointer(), uintptr(v.Cap())*v.Type().Elem().Size(), path)
		if hasPointers(v.Type().Elem()) {
			for i := range v.Len() {
				h.walk(v.Index(i), path, put)
			}
		}
	case reflect.Array:
		if hasPointers(v.Type()) {
			for i := range v.Len() {
				h.walk(v.Index(i), path, put)
			}
		}
	case reflect.Map:
		if v.IsNil() || !h.first(v) {
			return
		}
		of := v.Type()
		h.maps[name(path)] += float64(v.Len()) * float64(of.Key().Size()+of.Elem().Size()+1) * 8 / 6
		if hasPointers(of.Key()) || hasPointers(of.Elem()) {
			for it := v.MapRange(); it.Next(); {
				h.walk(it.Key(), path, put)
				h.walk(it.Value(), path, put)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); hasPointers(f.Type) {
				if len(path) < pathDepth {
					put(v.Field(i), append(path[:len(path):len(path)], f.Name))
				} else {
					h.walk(v.Field(i), path, put)
				}
			}
		}
	}
}

func name(path []string) string { return strings.Join(path, ".") }

// first reports whether a pointer, slice or map is met for the first time.
func (h *holding) first(v reflect.Value) bool {
	at := visit{v.Pointer(), v.Type()}
	was := h.seen[at]
	h.seen[at] = true
	return !was
}

func (h *holding) add(at, size uintptr, path []string) {
	h.spans = append(h.spans, memorySpan{at, at + size, len(h.spans), name(path)})
}

// count gives each byte to the path that reached it first.
func (h *holding) count() {
	slices.SortFunc(h.spans, func(a, b memorySpan) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.order, b.order))
	})
	for path, size := range h.maps {
		h.bytes[path] += size
	}
	upTo := uintptr(0)
	for _, s := range h.spans {
		if s.end > upTo {
			h.bytes[s.path] += float64(s.end - max(s.begin, upTo))
			upTo = s.end
		}
	}
	h.spans, h.seen = nil, nil
}

func (h *holding) total() (sum float64) {
	for _, size := range h.bytes {
		sum += size
	}
	return sum
}

// hasPointers reports whether values of a type can lead to memory elsewhere.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Pointer, reflect.Interface, reflect.String, reflect.Slice, reflect.Map:
		return true
	}
	return false
}

// heldTable is what holds more than a hundredth, in MB.
func heldTable(spec string, nodes int, up, later *holding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, %d nodes\n\n| held by | after SUBNET UP, MB | a day later, MB |\n| --- | --- | --- |\n", spec, nodes)
	paths := map[string]bool{}
	for _, h := range []*holding{up, later} {
		for path, size := range h.bytes {
			if size > h.total()/100 {
				paths[path] = true
			}
		}
	}
	sorted := make([]string, 0, len(paths))
	for path := range paths {
		sorted = append(sorted, path)
	}
	slices.SortFunc(sorted, func(a, c string) int {
		return cmp.Or(cmp.Compare(later.bytes[c], later.bytes[a]), strings.Compare(a, c))
	})
	for _, path := range sorted {
		fmt.Fprintf(&b, "| `%s` | %.1f | %.1f |\n", path, up.bytes[path]/1e6, later.bytes[path]/1e6)
	}
	fmt.Fprintf(&b, "| all | %.1f | %.1f |\n", up.total()/1e6, later.total()/1e6)
	return b.String()
}
