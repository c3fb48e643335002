package perf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/pma"
)

// fakeImage puts deltas into an image as a sweep does.
func fakeImage(begin, end, interval time.Duration, list []Delta) *Image {
	im := &Image{Begin: begin, End: end, interval: interval, table: &table{index: map[Key]int32{}}}
	for i := range list {
		k := Key{mad.GUID(i / 4), uint8(i % 4)}
		im.table.keys = append(im.table.keys, k)
		im.table.index[k] = int32(i)
		if i%blockPorts == 0 {
			im.blocks = append(im.blocks, uint32(len(im.data)))
		}
		im.data = im.appendDelta(im.data, &list[i])
	}
	return im
}

// TestImage: what goes in comes out, by Port and by All.
func TestImage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const begin, interval = time.Hour, time.Minute
	var list []Delta
	for range 500 {
		d := Delta{At: begin + time.Duration(rng.IntN(1000))*atUnit,
			Span: interval + time.Duration(rng.IntN(10000)-5000)*time.Millisecond,
			Has:  pma.Counters(rng.Uint32()) & pma.AllCounters}
		if rng.IntN(3) > 0 {
			d.Has = pma.AllCounters
		}
		if rng.IntN(2) == 0 {
			d.AtLeast = d.Has & pma.Counters(rng.Uint32())
		}
		switch rng.IntN(8) {
		case 0:
			d = Delta{Note: First << rng.IntN(3), At: begin}
		case 1:
			d.Note = Partial << rng.IntN(9)
		}
		for c := range d.Has.All {
			if rng.IntN(2) == 0 {
				d.N[c] = rng.Uint64() >> rng.IntN(64)
			}
		}
		if rng.IntN(4) == 0 {
			d.N[pma.PortUnicastXmitPkts] = d.N[pma.PortXmitPkts] - d.N[pma.PortMulticastXmitPkts]
		}
		list = append(list, d)
	}
	im := fakeImage(begin, begin+time.Second, interval, list)
	i := 0
	for k, d := range im.All {
		if *d != list[i] {
			t.Fatalf("port %v: %+v, want %+v", k, *d, list[i])
		}
		if one, ok := im.Port(k); !ok || one != list[i] {
			t.Fatalf("port %v alone: %+v, want %+v", k, one, list[i])
		}
		i++
	}
	if i != 500 || im.Len() != 500 {
		t.Errorf("%d ports", i)
	}
	if _, ok := im.Port(Key{9999, 1}); ok {
		t.Error("a port that is not there")
	}
	for range im.All { // ends early
		break
	}
}

// TestLongestDelta: the longest port fits the byte that holds its length during a sweep.
func TestLongestDelta(t *testing.T) {
	im := &Image{}
	for i := range headerSets {
		im.sets = append(im.sets, pma.Counters(i))
	}
	d := Delta{Note: 1<<12 - 1&^notesAlone, Has: pma.AllCounters, AtLeast: pma.AllCounters, At: math.MaxInt64,
		Span: math.MinInt64}
	for c := range d.N {
		d.N[c] = math.MaxUint64
	}
	d.N[pma.PortUnicastXmitPkts], d.N[pma.PortUnicastRcvPkts] = 1, 1
	b := im.appendDelta(nil, &d)
	if len(b) > 255 || len(b) < 220 {
		t.Errorf("%d bytes", len(b))
	}
	var back Delta
	im.decode(b, &back)
	if back.N != d.N || back.Has != d.Has || back.AtLeast != d.AtLeast || back.Note != d.Note {
		t.Errorf("%+v", back)
	}
}

// TestHistory: images of the last time stay, within the bytes, and the newest always.
func TestHistory(t *testing.T) {
	busy := make([]Delta, 100)
	for i := range busy {
		busy[i] = Delta{Has: pma.AllCounters, At: time.Hour, Span: time.Minute}
		busy[i].N[pma.PortXmitData] = 1 << 40
	}
	size := fakeImage(time.Hour, time.Hour, time.Minute, busy).size()
	for _, tt := range []struct {
		keep   time.Duration
		memory int
		want   int
	}{
		{time.Hour, 0, 60}, {10 * time.Minute, 0, 10}, {0, 0, 1}, {time.Hour, 5*size + size/2, 5}, {time.Hour, 1, 1},
	} {
		h := History{keep: tt.keep, memory: tt.memory}
		for i := range 200 {
			begin := time.Duration(i) * time.Minute
			for j := range busy {
				busy[j].At = begin
			}
			h.add(fakeImage(begin, begin+time.Second, time.Minute, busy))
		}
		images := h.Images()
		if len(images) != tt.want || images[len(images)-1].Begin != 199*time.Minute {
			t.Errorf("%v, %d bytes: %d images, want %d", tt.keep, tt.memory, len(images), tt.want)
		}
		bytes := 0
		for i, im := range images {
			bytes += im.size()
			if i > 0 && im.Begin < images[i-1].Begin {
				t.Error("not in order")
			}
		}
		if bytes != h.Bytes() {
			t.Errorf("%d bytes, counted %d", bytes, h.Bytes())
		}
	}
}

// busyPort is a port of a fast link under load.
func busyPort(n uint64) Delta {
	d := Delta{Has: pma.AllCounters, At: time.Hour + 3*time.Second, Span: time.Minute + 20*time.Millisecond}
	d.N[pma.PortXmitData], d.N[pma.PortRcvData] = 600_000_000_000+n, 500_000_000_000-n
	d.N[pma.PortXmitPkts], d.N[pma.PortRcvPkts] = 600_000_000, 500_000_000
	d.N[pma.PortUnicastXmitPkts], d.N[pma.PortUnicastRcvPkts] = 600_000_000, 499_999_900
	d.N[pma.PortMulticastRcvPkts] = 100
	return d
}

// TestImageSize: an hour of images of 11,664 hosts in a fat tree of three levels, every minute,
// with all links busy or half of them, has room in the 150 MB that are allowed, with what is
// known of the ports.
func TestImageSize(t *testing.T) {
	const ports = 3 * 2 * 11664
	for _, busy := range []int{1, 2} {
		list := make([]Delta, ports)
		for i := range list {
			list[i] = busyPort(uint64(i))
			if i%busy != 0 {
				list[i].N = [pma.NumCounters]uint64{pma.PortXmitPkts: 3, pma.PortUnicastXmitPkts: 3,
					pma.PortXmitData: 216}
			}
		}
		hour := 60 * fakeImage(time.Hour, time.Hour+9*time.Second, time.Minute, list).size()
		state := ports*int(reflect.TypeFor[port]().Size()) + 13284*int(reflect.TypeFor[agent]().Size())
		t.Logf("%d MB of images, %d MB of state", hour>>20, state>>20)
		if want := 150 << 20; hour+state > want {
			t.Errorf("%d MB with one of %d links busy, want at most %d", (hour+state)>>20, busy, want>>20)
		}
	}
}

// BenchmarkImage is one port of an image, written and read.
func BenchmarkImage(b *testing.B) {
	b.Run("write", func(b *testing.B) {
		im, data := &Image{Begin: time.Hour, interval: time.Minute}, make([]byte, 0, 1<<20)
		d := busyPort(0)
		b.ReportAllocs()
		for b.Loop() {
			data = im.appendDelta(data[:0], &d)
		}
		b.ReportMetric(float64(len(data)), "bytes")
	})
	b.Run("read", func(b *testing.B) {
		im := &Image{Begin: time.Hour, interval: time.Minute}
		d := busyPort(0)
		data := im.appendDelta(nil, &d)
		var back Delta
		b.ReportAllocs()
		for b.Loop() {
			im.decode(data, &back)
		}
	})
	b.Run("judge", func(b *testing.B) {
		var tr track
		var d Delta
		r := reading{has: pma.AllCounters, at: time.Hour}
		b.ReportAllocs()
		for b.Loop() {
			r.at += time.Minute
			for c := range r.raw {
				r.raw[c] += uint64(c)
			}
			tr.judge(&r, fast, &d)
		}
	})
}

func ExampleNote() {
	fmt.Println(ResetByOther | Saturated)
	// Output: reset by another program, saturated
}
