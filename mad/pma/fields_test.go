package pma

import (
	"bufio"
	"encoding/binary"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

// fieldTables are the architecture's: field, first bit, width.
var fieldTables = []struct {
	attr  reflect.Type
	table string
}{
	{reflect.TypeFor[Select](), `
		PortSelect 8 8
		CounterSelect 16 16`},
	{reflect.TypeFor[PortSamplesControl](), `
		OpCode 0 8
		PortSelect 8 8
		Tick 16 8
		CounterWidth 29 3
		CounterMask0 34 3
		CounterMasks1to9 37 27
		CounterMasks10to14 65 15
		SampleMechanisms 80 8
		SampleStatus 94 2
		OptionMask 96 64
		VendorMask 160 64
		SampleStart 224 32
		SampleInterval 256 32
		Tag 288 16
		SamplesOnlyOptionMask 576 64`},
	{reflect.TypeFor[PortSamplesResult](), `
		Tag 0 16
		SampleStatus 30 2`},
	{reflect.TypeFor[PortExtendedSpeedsCounters](), `
		PortSelect 8 8
		CounterSelect 64 64
		SyncHeaderErrorCounter 128 16
		UnknownBlockCounter 144 16
		PortFECCorrectableBlockCtr 1120 32
		PortFECUncorrectableBlockCtr 1152 32
		PortFECCorrectedSymbolCtr 1184 32`},
}

func TestFields(t *testing.T) {
	for _, tt := range fieldTables {
		t.Run(tt.attr.Name(), func(t *testing.T) { madtest.CheckFields(t, tt.attr, madtest.Fields(t, tt.table)) })
	}
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// access is how a field is read and written.
type access struct {
	get func(d *[mad.PerfDataSize]byte) uint64
	set func(d *[mad.PerfDataSize]byte, v uint64)
}

// indexed finds the accessors of fields that have no method of their own.
func indexed(attribute, name string) (a access, ok bool) {
	type data = [mad.PerfDataSize]byte
	pc := func(d *data) *PortCounters { return (*PortCounters)(d[:]) }
	ext := func(d *data) *PortCountersExtended { return (*PortCountersExtended)(d[:]) }
	psc := func(d *data) *PortSamplesControl { return (*PortSamplesControl)(d[:]) }
	psr := func(d *data) *PortSamplesResult { return (*PortSamplesResult)(d[:]) }
	speeds := func(d *data) *PortExtendedSpeedsCounters { return (*PortExtendedSpeedsCounters)(d[:]) }
	base := strings.TrimRight(name, "0123456789")
	i, _ := strconv.Atoi(name[len(base):])
	for c := range Counter(NumCounters) {
		switch {
		case c.String() != name:
		case attribute == "PortCounters":
			return access{func(d *data) uint64 {
				return pc(d).Counter(c)
			}, func(d *data, v uint64) { pc(d).SetCounter(c, v) }}, true
		case attribute == "PortCountersExtended":
			return access{func(d *data) uint64 {
				return ext(d).Counter(c)
			}, func(d *data, v uint64) { ext(d).SetCounter(c, v) }}, true
		}
	}
	for n := range arrays {
		x := &arrays[n]
		for j := range x.Len {
			if AttrName(x.Attr) == attribute &&
				(x.Name(j) == name || x.Name(j) == strings.Replace(name, "PktErrors", "PacketErrors", 1)) {
				return access{func(d *data) uint64 {
					return x.Counter(d, j)
				}, func(d *data, v uint64) { x.SetCounter(d, j, v) }}, true
			}
		}
	}
	if base == name {
		return access{}, false
	}
	switch base {
	case "CounterSelect":
		return access{func(d *data) uint64 {
			return uint64(psc(d).CounterSelect(i))
		}, func(d *data, v uint64) { psc(d).SetCounterSelect(i, uint16(v)) }}, true
	case "Counter":
		return access{func(d *data) uint64 {
			return uint64(psr(d).Counter(i))
		}, func(d *data, v uint64) { psr(d).SetCounter(i, uint32(v)) }}, true
	case "ErrorDetectionCounterLane":
		return access{func(d *data) uint64 {
			return uint64(speeds(d).ErrorDetectionCounterLane(i))
		}, func(d *data, v uint64) { speeds(d).SetErrorDetectionCounterLane(i, uint16(v)) }}, true
	case "FECCorrectableBlockCtrLane", "FECCorrectableSymbolCtrLane":
		return access{func(d *data) uint64 {
			return uint64(speeds(d).FECCorrectableBlockCtrLane(i))
		}, func(d *data, v uint64) { speeds(d).SetFECCorrectableBlockCtrLane(i, uint32(v)) }}, true
	case "FECUncorrectableBlockCtrLane":
		return access{func(d *data) uint64 {
			return uint64(speeds(d).FECUncorrectableBlockCtrLane(i))
		}, func(d *data, v uint64) { speeds(d).SetFECUncorrectableBlockCtrLane(i, uint32(v)) }}, true
	}
	return access{}, false
}

// libibmadDiffers are rows of libibmad that are not the architecture's, with those.
var libibmadDiffers = map[string][2]int{
	"PortCounters QP1Dropped":               {160, 16}, // it has VL15Dropped there: see wire formats
	"PortSamplesControl CounterMasks1to9":   {37, 27},  // not masked by mad_encode_field
	"PortSamplesControl CounterMasks10to14": {65, 15},
}

// TestLibibmad compares every field with libibmad's table: where it is, that a write changes
// nothing else, and that one beyond the width is cut to the largest value (of counters).
func TestLibibmad(t *testing.T) {
	file, err := os.Open("../../testdata/mad/libibmad-performance-fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	attribute, checked := "", 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if rest, is := strings.CutPrefix(line, "attribute "); is {
			attribute, _, _ = strings.Cut(rest, " ")
			continue
		}
		w := strings.Fields(line)
		if line == "" || w[0] == "#" || attribute == "ClassPortInfo" { // which mad/sarec tests
			continue
		}
		bit, width := number(t, w[1]), number(t, w[2])
		if other, differs := libibmadDiffers[attribute+" "+w[0]]; differs {
			bit, width = other[0], other[1]
		}
		a, ok := indexed(attribute, w[0])
		if !ok || strings.HasPrefix(attribute, "PortCounters") && w[0] == "CounterSelect2" {
			checkTabled(t, attribute, w[0], bit, width)
			continue
		}
		checked++
		check(t, attribute+" "+w[0], a, bit, width)
	}
	if checked < 230 {
		t.Errorf("only %d fields compared", checked)
	}
}

// checkTabled: what is no counter is in fieldTables, or is what all counters begin with.
func checkTabled(t *testing.T, attribute, name string, bit, width int) {
	row := name + " " + strconv.Itoa(bit) + " " + strconv.Itoa(width)
	switch row {
	case "PortSelect 8 8", "CounterSelect 16 16": // of Select
		return
	case "CounterSelect2 144 8", "CounterSelect2 32 32": // TestSelect
		return
	}
	for _, tt := range fieldTables {
		if tt.attr.Name() == attribute && strings.Contains(tt.table+"\n", "\t"+row+"\n") {
			return
		}
	}
	t.Errorf("%s: %s has no accessor", attribute, row)
}

func check(t *testing.T, name string, a access, bit, width int) {
	t.Helper()
	top := uint64(1)<<width - 1
	for _, around := range []byte{0, 0xff, 0xa5} {
		for _, v := range []uint64{0, 1, top / 3, top} {
			var d [mad.PerfDataSize]byte
			for i := range d {
				d[i] = around
			}
			want := d
			var value [8]byte
			binary.BigEndian.PutUint64(value[:], v)
			madtest.PutBits(want[:], bit, width, value[:])
			if a.set(&d, v); d != want {
				t.Fatalf("%s: %#x is written as\n% x, want\n% x", name, v, d[:], want[:])
			}
			if got := a.get(&d); got != v {
				t.Fatalf("%s: %#x reads back as %#x", name, v, got)
			}
		}
	}
}

// TestSaturation: what is beyond the width stays at the largest value.
func TestSaturation(t *testing.T) {
	for c := range Counter(NumCounters) {
		var p PortCounters
		p.SetCounter(c, 1<<40)
		if got := p.Counter(c); got != MaxShort(c) || got == 0 && PortCountersOnly.Has(c) {
			t.Errorf("%v is %#x, want %#x", c, got, MaxShort(c))
		}
		var x PortCountersExtended
		x.SetCounter(c, 1<<63)
		if got := x.Counter(c); got != 1<<63 {
			t.Errorf("%v of 64 bits is %#x", c, got)
		}
	}
	for i := range arrays {
		var d [mad.PerfDataSize]byte
		arrays[i].SetCounter(&d, 0, 1<<40)
		if got := arrays[i].Counter(&d, 0); got != arrays[i].Max() {
			t.Errorf("%s is %#x, want %#x", arrays[i].Name(0), got, arrays[i].Max())
		}
	}
}

// TestBeyond: an index out of range reads zero and writes nothing.
func TestBeyond(t *testing.T) {
	var d [mad.PerfDataSize]byte
	for i := range d {
		d[i] = 0xff
	}
	full := d
	for _, i := range []int{-1, 16, 1 << 20} {
		for n := range arrays {
			arrays[n].SetCounter(&d, i, 1)
			if got := arrays[n].Counter(&d, i); got != 0 {
				t.Errorf("counter %d of %s is %d", i, arrays[n].Name(0), got)
			}
		}
		psc, psr, speeds := (*PortSamplesControl)(d[:]), (*PortSamplesResult)(d[:]), (*PortExtendedSpeedsCounters)(d[:])
		psc.SetCounterSelect(i, 1)
		psr.SetCounter(i, 1)
		speeds.SetErrorDetectionCounterLane(i, 1)
		speeds.SetFECCorrectableBlockCtrLane(i, 1)
		speeds.SetFECUncorrectableBlockCtrLane(i, 1)
		if psc.CounterSelect(i) != 0 || psr.Counter(i) != 0 || speeds.ErrorDetectionCounterLane(i) != 0 ||
			speeds.FECCorrectableBlockCtrLane(i) != 0 || speeds.FECUncorrectableBlockCtrLane(i) != 0 {
			t.Errorf("index %d reads something", i)
		}
	}
	for _, c := range []Counter{NumCounters, 255} {
		(*PortCounters)(d[:]).SetCounter(c, 1)
		(*PortCountersExtended)(d[:]).SetCounter(c, 1)
		if (*PortCounters)(d[:]).Counter(c) != 0 || (*PortCountersExtended)(d[:]).Counter(c) != 0 || MaxShort(c) != 0 ||
			c.String() != "?" {
			t.Errorf("counter %d is something", c)
		}
	}
	(*PortCounters)(d[:]).SetCounter(PortUnicastXmitPkts, 1)
	if d != full {
		t.Error("something was written")
	}
}
