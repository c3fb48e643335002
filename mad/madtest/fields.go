package madtest

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// Field is a field of an attribute or record as the architecture has it.
type Field struct {
	Name       string // of the accessor, with or without underscores
	Bit, Width int    // the most significant bit of byte 0 is bit 0
	ReadOnly   bool   // has no setter
}

// Fields reads a table of fields: a line for each, with its Name, Bit and Width, and "ro" if it is ReadOnly.
func Fields(t *testing.T, table string) (fields []Field) {
	t.Helper()
	for line := range strings.Lines(table) {
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		if len(w) < 3 {
			t.Fatalf("table row %q", line)
		}
		bit, err1 := strconv.Atoi(w[1])
		width, err2 := strconv.Atoi(w[2])
		if err1 != nil || err2 != nil {
			t.Fatalf("table row %q", line)
		}
		fields = append(fields, Field{Name: w[0], Bit: bit, Width: width, ReadOnly: len(w) > 3})
	}
	return fields
}

// CheckFields tests the accessors of an array of bytes against the architecture's
// table: Name reads the field and SetName writes it. A pair of accessors is in the
// table or an error, unless it takes an index, hands out a view, or takes or gives
// an attribute as a whole.
func CheckFields(t *testing.T, attr reflect.Type, fields []Field) {
	t.Helper()
	checkMethods(t, attr, fields)
	for _, f := range fields {
		checkField(t, attr, f)
	}
}

func (f *Field) getter() string { return strings.ReplaceAll(f.Name, "_", "") }

// checkMethods finds accessors that the table lacks, and setters that a field
// lacks.
func checkMethods(t *testing.T, attr reflect.Type, fields []Field) {
	known := map[string]bool{}
	for _, f := range fields {
		known[f.getter()] = true
		if !f.ReadOnly {
			known["Set"+f.getter()] = true
		}
	}
	ptr := reflect.PointerTo(attr)
	for i := range ptr.NumMethod() {
		m := ptr.Method(i)
		getter := m.Type.NumIn() == 1 && m.Type.NumOut() == 1 && !isWhole(m.Type.Out(0))
		setter := strings.HasPrefix(m.Name, "Set") && m.Type.NumIn() == 2 && !isWhole(m.Type.In(1))
		path := strings.HasSuffix(m.Name, "DRReturnPath") // of any length, has a test of its own
		if (getter || setter) && !known[m.Name] && !path {
			t.Errorf("%s is not in the table", m.Name)
		}
		delete(known, m.Name)
	}
	for name := range known {
		t.Errorf("%s is missing", name)
	}
}

// isWhole reports whether an accessor is of an attribute with accessors of its own.
func isWhole(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Array && strings.HasSuffix(t.PkgPath(), "mad/smp")
}

// checkField sets and gets one field in the midst of zeros, ones and noise. Nothing
// but its own bits may change, and what does not fit is cut.
func checkField(t *testing.T, attr reflect.Type, f Field) {
	rng := rand.New(rand.NewPCG(uint64(f.Bit), uint64(f.Width)))
	bytes := func(n int, fill func() byte) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = fill()
		}
		return b
	}
	fills := []func() byte{
		func() byte { return 0 }, func() byte { return 0xff }, func() byte { return 0xa5 }, func() byte {
			return byte(rng.Uint32())
		},
	}
	for _, around := range fills {
		for _, value := range fills {
			x := reflect.New(attr)
			raw := x.Elem().Slice(0, attr.Len()).Bytes()
			copy(raw, bytes(len(raw), around))
			want := append([]byte(nil), raw...)

			getter := x.MethodByName(f.getter())
			if !getter.IsValid() {
				return // reported by checkMethods
			}
			typ := getter.Type().Out(0)
			v := bytes(int(typ.Size()), value)
			if typ.Kind() == reflect.Bool {
				v = low([]byte{v[0] & 1}, 1)
			}
			PutBits(want, f.Bit, f.Width, low(v, max(len(v), (f.Width+7)/8)))
			if setter := x.MethodByName("Set" + f.getter()); f.ReadOnly {
				copy(raw, want)
			} else if setter.IsValid() {
				setter.Call([]reflect.Value{fromBytes(v, typ)})
			}
			if string(raw) != string(want) {
				t.Fatalf("Set%s(%x):\n got %x\nwant %x", f.Name, v, raw, want)
			}
			got := toBytes(getter.Call(nil)[0])
			if wantValue := low(readBits(want, f.Bit, f.Width), len(got)); string(got) != string(wantValue) {
				t.Fatalf("%s() = %x, want %x in %x", f.Name, got, wantValue, raw)
			}
		}
	}
}

// readBits is the number in a field, one bit at a time.
func readBits(b []byte, bit, width int) []byte {
	out := make([]byte, (width+7)/8)
	for i := range width {
		if b[(bit+i)/8]>>(7-(bit+i)%8)&1 != 0 {
			j := len(out)*8 - width + i
			out[j/8] |= 1 << (7 - j%8)
		}
	}
	return out
}

// PutBits writes a big-endian number into a field, one bit at a time.
func PutBits(b []byte, bit, width int, v []byte) {
	for i := range width {
		j := len(v)*8 - width + i
		mask := byte(1) << (7 - (bit+i)%8)
		b[(bit+i)/8] &^= mask
		if v[j/8]>>(7-j%8)&1 != 0 {
			b[(bit+i)/8] |= mask
		}
	}
}

// toBytes and fromBytes turn what accessors take and give into a big-endian number.
func toBytes(v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return []byte{1}
		}
		return []byte{0}
	case reflect.Array:
		b := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(b), v)
		return b
	}
	b := make([]byte, v.Type().Size())
	for i := range b {
		b[i] = byte(v.Uint() >> (8 * (len(b) - 1 - i)))
	}
	return b
}

func fromBytes(b []byte, typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.Bool:
		v.SetBool(b[len(b)-1]&1 != 0)
	case reflect.Array:
		reflect.Copy(v, reflect.ValueOf(b))
	default:
		var n uint64
		for _, x := range b {
			n = n<<8 | uint64(x)
		}
		v.SetUint(n)
	}
	return v
}

// low is the last bytes of a number, with zeros in front where it is shorter.
func low(b []byte, n int) []byte {
	if len(b) >= n {
		return b[len(b)-n:]
	}
	return append(make([]byte, n-len(b)), b...)
}
