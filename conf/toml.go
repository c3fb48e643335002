package conf

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/conf/diag"

	"github.com/BurntSushi/toml"
)

// The time of the parser grows with the third power of the nesting depth. No valid file
// comes near these bounds.
const (
	maxBraces = 100
	maxDots   = 100 // in a line
)

// tooDeep returns the position where a file exceeds these bounds, and a message.
func tooDeep(name string, src []byte) (diag.Position, string) {
	if bytes.Count(src, []byte("{")) > maxBraces {
		return diag.Position{File: name}, fmt.Sprintf("more than %d braces: write [group] instead of group = {...}",
			maxBraces)
	}
	line := 0
	for text := range bytes.Lines(src) {
		line++
		if bytes.Count(text, []byte(".")) > maxDots {
			return diag.Position{File: name, Line: line}, fmt.Sprintf("more than %d dots in a line", maxDots)
		}
	}
	return diag.Position{}, ""
}

// readTOML parses the format of ibsm.toml. Every value in it is chosen.
func readTOML(f *File, src []byte) {
	if p, text := tooDeep(f.Name, src); text != "" {
		f.Report.add(Refusal, p, "", "%s", text)
		return
	}
	var top map[string]toml.Primitive
	meta, err := toml.Decode(string(src), &top)
	if err != nil {
		p, text := placeOf(f.Name, err)
		f.Report.add(Refusal, p, "", "%s", text)
		return
	}
	t := tomlReader{f, &meta}
	t.group("", top)
	f.Report.sort()
}

// placeOf is the position of an error of the TOML package.
func placeOf(name string, err error) (diag.Position, string) {
	var e toml.ParseError
	if errors.As(err, &e) {
		return diag.Position{File: name, Line: e.Position.Line, Col: e.Position.Col}, printable(e.Message)
	}
	return diag.Position{File: name}, printable(err.Error())
}

// printable replaces control characters with blanks: the TOML package quotes the file
// without escaping them.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}

type tomlReader struct {
	*File
	meta *toml.MetaData
}

// group parses a table of the file; path is its name.
func (t *tomlReader) group(path string, table map[string]toml.Primitive) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if t.enough(diag.Position{File: t.Name}) {
			return
		}
		primitive := table[name]
		full := strings.TrimPrefix(path+"."+name, ".")
		p, value := t.locate(primitive)
		i, known := byTOML[full]
		if known {
			t.value(i, p, value)
			continue
		}
		if !isGroup(full) {
			t.unknownPath(full, p)
			continue
		}
		var deeper map[string]toml.Primitive
		if _, is := value.(map[string]any); !is || t.meta.PrimitiveDecode(primitive, &deeper) != nil {
			t.Report.add(Refusal, p, "",
				"%s = %s: expected a group of keys: [%s] in a line of its own, and each key in a line below it",
				full, shownTOML(value), full)
			continue
		}
		t.group(full, deeper)
	}
}

// located captures a value and fails, because the TOML package reports positions only
// with errors.
type located struct{ value any }

var errLocated = errors.New("located")

func (l *located) UnmarshalTOML(v any) error {
	l.value = v
	return errLocated
}

// locate returns the position of a key, and its value.
func (t *tomlReader) locate(primitive toml.Primitive) (diag.Position, any) {
	var l located
	p, _ := placeOf(t.Name, t.meta.PrimitiveDecode(primitive, &l))
	return p, l.value
}

// isGroup reports whether a path is a group of settings.
func isGroup(path string) bool {
	return slices.ContainsFunc(table, func(k Key) bool { return strings.HasPrefix(k.TOML, path+".") })
}

// unknownPath reports a key that the table does not have.
func (t *tomlReader) unknownPath(path string, p diag.Position) {
	leaf := path[strings.LastIndexByte(path, '.')+1:]
	if k := Find(leaf); k != nil {
		t.Report.add(Refusal, p, "", "unknown key %s: the key %s of opensm.conf is %s in ibsm.toml", shown(path), leaf,
			k.TOML)
		return
	}
	var paths, same []string
	for i := range table {
		paths = append(paths, table[i].TOML)
		if table[i].Leaf() == leaf {
			same = append(same, table[i].TOML)
		}
	}
	if same != nil {
		t.Report.add(Refusal, p, "", "unknown key %s; did you mean %s?", shown(path), strings.Join(same, " or "))
		return
	}
	t.Report.add(Refusal, p, "", "unknown key %s%s", shown(path), didYouMean(path, paths))
}

// value parses the value of a setting.
func (t *tomlReader) value(i int, p diag.Position, value any) {
	k := &table[i]
	v, err := k.fromTOML(value)
	if err != nil {
		t.Report.add(k.severity(), p, k.Name, "%s = %s: %v; expected %s%s", k.TOML, shownTOML(value), err,
			k.wantedTOML(), k.ignored())
		return
	}
	t.settings[i] = Setting{Value: v, Source: FromTOML, Position: p}
}

func shownTOML(value any) string {
	if s, ok := value.(string); ok {
		return shown(s)
	}
	return strings.Trim(shown(fmt.Sprint(value)), `"`)
}

// errType reports, for example, a text where a number is expected.
var errType = errors.New("wrong type")

// fromTOML converts a value of the TOML package.
func (k *Key) fromTOML(value any) (Value, error) {
	switch k.Kind {
	case Bool:
		b, ok := value.(bool)
		if !ok {
			return Value{}, errType
		}
		if b {
			return Value{Num: 1}, nil
		}
		return Value{}, nil
	case U8, U16, U32, I32, X64, HCA:
		return k.numberFromTOML(value)
	case List:
		if list, ok := value.([]any); ok {
			return k.listFromTOML(list)
		}
		if value != null {
			return Value{}, errType
		}
	case SLs8, SLs16:
		return k.slsFromTOML(value)
	}
	text, ok := value.(string)
	if !ok {
		return Value{}, errType
	}
	if strings.ContainsRune(text, 0) {
		return Value{}, errors.New("zero byte")
	}
	return k.parse(text, Value{})
}

// numberFromTOML converts an integer, a time or a size; 64-bit numbers are texts in hex,
// because they exceed the integers of TOML.
func (k *Key) numberFromTOML(value any) (Value, error) {
	text, isText := value.(string)
	switch {
	case k.Unit.duration() != 0 && isText:
		n, err := parseTime(text, k.Unit.duration())
		return k.number(n, err)
	case k.Unit == Mebibytes && isText:
		n, err := parseSize(text)
		return k.number(n, err)
	case k.Kind == HCA && isText && !isHex(text):
		return k.parse(text, Value{})
	case (k.Kind == X64 || k.Kind == HCA) && isText:
		if !strings.HasPrefix(strings.ToLower(text), "0x") {
			return Value{}, errors.New("expected 0x")
		}
		return k.parse(text, Value{})
	}
	n, ok := value.(int64)
	if !ok || k.Unit.duration() != 0 || k.Unit == Mebibytes {
		return Value{}, errType
	}
	return k.number(n, nil)
}

// number checks the range of a number.
func (k *Key) number(n int64, err error) (Value, error) {
	switch {
	case err != nil:
		return Value{}, err
	case k.Kind == I32 && (n < math.MinInt32 || n > math.MaxInt32),
		k.Kind != I32 && n < 0, k.Kind.bits() < 64 && k.Kind != I32 && n>>k.Kind.bits() != 0, !k.inRange(n):
		return Value{}, errTooLarge
	}
	return Value{Num: uint64(n)}, nil
}

// parseTime parses a time such as 10s or 1m30s and returns a number of units.
func parseTime(text string, unit time.Duration) (int64, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, errors.New("not a time")
	case d%unit != 0:
		return 0, fmt.Errorf("not a multiple of %s", unit)
	}
	return int64(d / unit), nil
}

// sizeUnits are the units of sizes, in MiB.
var sizeUnits = []struct {
	name string
	size int64
}{{"TiB", 1 << 20}, {"GiB", 1 << 10}, {"MiB", 1}}

// parseSize parses a size such as 100MiB and returns a number of MiB.
func parseSize(text string) (int64, error) {
	for _, u := range sizeUnits {
		digits, found := strings.CutSuffix(text, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.Trim(digits, blanks), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.size {
			break
		}
		return n * u.size, nil
	}
	return 0, errors.New("not a size")
}

func (k *Key) listFromTOML(list []any) (Value, error) {
	var elements []string
	for _, e := range list {
		switch e := e.(type) {
		case string:
			if e == "" || strings.ContainsAny(e, ",\x00") || strings.Trim(e, blanks) != e {
				return Value{}, fmt.Errorf("element %s is empty, or has a comma or blanks around it", shown(e))
			}
			elements = append(elements, e)
		case int64:
			elements = append(elements, strconv.FormatInt(e, 10))
		default:
			return Value{}, errType
		}
	}
	v, err := k.parseList(strings.Join(elements, ","))
	if err == nil && k.Words == nil && strings.Count(v.Text, ",")+1 != len(elements) && len(elements) > 0 {
		err = errors.New("an element has blanks")
	}
	return v, err
}

func (k *Key) slsFromTOML(value any) (Value, error) {
	list, ok := value.([]any)
	if !ok {
		return Value{}, errType
	}
	if len(list) > slCount {
		return Value{}, fmt.Errorf("%d numbers", len(list))
	}
	var numbers [slCount]uint64
	for sl, e := range list {
		n, ok := e.(int64)
		if !ok {
			return Value{}, errType
		}
		if n < 0 || n>>k.Kind.bits() != 0 {
			return Value{}, errTooLarge
		}
		numbers[sl] = uint64(n)
	}
	return slValue(numbers), nil
}

// wantedTOML describes the legal values of a setting in ibsm.toml.
func (k *Key) wantedTOML() string {
	switch {
	case k.Kind == Bool:
		return "true or false"
	case k.Unit.duration() != 0:
		return fmt.Sprintf("a time such as %s, in whole %s", k.tomlText(k.example()), k.Unit)
	case k.Unit == Mebibytes:
		return `a size such as "100MiB"`
	case k.Kind == HCA:
		return `up to 16 hexadecimal digits, such as "0x0123", or a device or interface, such as "mlx5_0:1" or "ib0"`
	case k.Kind == X64:
		return `up to 16 hexadecimal digits, such as "0x0123"`
	case k.Kind == List && k.Words == nil:
		return "a list in brackets"
	case k.Kind == SLs8, k.Kind == SLs16:
		return fmt.Sprintf("up to 16 numbers in brackets, 0 to %d", 1<<k.Kind.bits()-1)
	}
	return k.Wanted()
}

// example is a value of a setting that is not zero.
func (k *Key) example() Value {
	if v := k.standard(); v.Num != 0 {
		return v
	}
	return Value{Num: 10}
}
