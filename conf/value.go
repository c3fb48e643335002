package conf

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Value is the value of a setting. Values of one setting are comparable with ==.
type Value struct {
	// Num is the value of numbers, and 1 for TRUE. That of an I32 is in two's
	// complement.
	Num uint64
	// Text is the value of the other kinds: a List is separated by commas, a Mask has
	// 64 digits, SLs8 and SLs16 have 16 numbers separated by blanks.
	Text string
	// Unset is set for a text without value, "(null)".
	Unset bool
}

// slCount is the number of service levels.
const slCount = 16

// maskDigits is the number of digits of a 256-bit mask.
const maskDigits = 64

var (
	errNotNumeric = errors.New("expected numeric input")
	errTooLarge   = errors.New("value out of range")
)

// parseNumber parses a number as C's strtoul with base 0: 0x1f, 017 or 31. Unlike
// strtoul it rejects negative numbers.
func parseNumber(text string, bits int) (uint64, error) {
	digits, base := strings.TrimPrefix(text, "+"), 10
	switch {
	case len(digits) > 2 && (digits[:2] == "0x" || digits[:2] == "0X"):
		digits, base = digits[2:], 16
	case len(digits) > 1 && digits[0] == '0':
		base = 8
	}
	v, err := strconv.ParseUint(digits, base, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errTooLarge
	case err != nil && len(digits) > 1 && digits[0] == '-' && isDigits(digits[1:]):
		return 0, errTooLarge
	case err != nil:
		return 0, errNotNumeric
	}
	return v, nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// octal reports whether a leading zero makes a number octal, which is rarely intended.
func octal(text string) bool {
	text = strings.TrimPrefix(text, "+")
	return isDigits(text) && text[0] == '0' && len(strings.TrimLeft(text, "0")) > 1
}

// parse parses a value of opensm.conf, without blanks and quotes. Kinds that are given
// in several lines extend the value before.
func (k *Key) parse(text string, before Value) (Value, error) {
	switch k.Kind {
	case Bool:
		return parseBool(text)
	case U8, U16, U32, X64:
		n, err := parseNumber(text, k.Kind.bits())
		if err == nil && !k.inRange(int64(n)) {
			err = errTooLarge
		}
		return Value{Num: n}, err
	case I32:
		n, err := parseSigned(text)
		if err == nil && !k.inRange(n) {
			err = errTooLarge
		}
		return Value{Num: uint64(n)}, err
	case SLs8, SLs16:
		return k.parseSL(text, before)
	case HCA:
		return parseHCA(text)
	}
	if text == null && (k.Kind == String || k.Kind == List) {
		return Value{Unset: true}, nil
	}
	return k.parseText(text)
}

// parseText parses the kinds that are stored as text.
func (k *Key) parseText(text string) (Value, error) {
	switch k.Kind {
	case Word:
		if !slices.Contains(k.Words, text) {
			return Value{}, errors.New("unknown value")
		}
	case List:
		return k.parseList(text)
	case Mask:
		return parseMask(text)
	case Pair:
		p, err := parsePair(text)
		return Value{Text: p}, err
	}
	return Value{Text: text}, nil
}

// errNotTRUE reports a value that OpenSM silently reads as FALSE.
var errNotTRUE = errors.New("OpenSM reads this as FALSE")

// parseBool parses TRUE and common spellings of FALSE. OpenSM reads anything else as
// FALSE without a message; here it is FALSE with an error.
func parseBool(text string) (Value, error) {
	switch {
	case text == "TRUE":
		return Value{Num: 1}, nil
	case slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(text)):
		return Value{}, nil
	}
	return Value{}, errNotTRUE
}

func parseSigned(text string) (int64, error) {
	digits, negative := strings.CutPrefix(text, "-")
	n, err := parseNumber(digits, 31)
	if err != nil {
		return 0, err
	}
	if negative {
		return -int64(n), nil
	}
	return int64(n), nil
}

// parseList parses elements separated by commas. Blanks separate names as well.
func (k *Key) parseList(text string) (Value, error) {
	separators := ","
	if k.Words != nil || k.Name == "event_plugin_name" {
		separators = ", \t\n"
	}
	var elements []string
	for _, e := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		e = strings.Trim(e, blanks)
		if k.Words != nil && !slices.Contains(k.Words, e) {
			if instead := forkEngines[e]; instead != "" && k.Name == "routing_engine" {
				return Value{}, fmt.Errorf("%q is a routing engine of NVIDIA's subnet manager; write %s", e, instead)
			}
			if e == "none" && k.Name == "routing_engine" {
				return Value{}, fmt.Errorf(
					"%q (no routes) is not supported: OpenSM 3.3.23 crashes with it; expected some of %s", e,
					strings.Join(k.Words, ", "))
			}
			return Value{}, fmt.Errorf("%q is unknown%s", e, didYouMean(e, k.Words))
		}
		if k.Name == "cc_cct" {
			pair, err := parsePair(e)
			if err != nil {
				return Value{}, err
			}
			e = pair
		}
		if e != "" {
			elements = append(elements, e)
		}
	}
	return Value{Text: strings.Join(elements, ",")}, nil
}

func parseMask(text string) (Value, error) {
	digits := strings.ToLower(text)
	digits = strings.TrimPrefix(digits, "0x")
	switch {
	case digits == "" || strings.Trim(digits, "0123456789abcdef") != "":
		return Value{}, errors.New("invalid hex digit in bitmask")
	case len(digits) > maskDigits:
		return Value{}, errors.New("invalid length bitmask")
	}
	return Value{Text: strings.Repeat("0", maskDigits-len(digits)) + digits}, nil
}

// parsePair parses an entry of a congestion control table: a shift of 2 bits and a
// multiplier of 14 (IBA A10.4.3.11).
func parsePair(text string) (string, error) {
	left, right, found := strings.Cut(text, ":")
	if !found {
		return "", errors.New("invalid CCT entry")
	}
	shift, err := parseNumber(strings.Trim(left, blanks), 2)
	if err != nil {
		return "", fmt.Errorf("shift: %w", err)
	}
	multiplier, err := parseNumber(strings.Trim(right, blanks), 14)
	if err != nil {
		return "", fmt.Errorf("multiplier: %w", err)
	}
	return fmt.Sprintf("%d:%d", shift, multiplier), nil
}

// parseSL parses an SL and its number, and inserts it into the numbers of the other SLs.
func (k *Key) parseSL(text string, before Value) (Value, error) {
	i := strings.IndexAny(text, " \t")
	if i < 0 {
		return Value{}, errors.New("value must be specified in addition to SL")
	}
	sl, err := parseNumber(text[:i], 8)
	if err != nil || sl >= slCount {
		return Value{}, errors.New("invalid SL specified")
	}
	n, err := parseNumber(strings.Trim(text[i:], blanks), k.Kind.bits())
	if err != nil {
		return Value{}, err
	}
	numbers := slNumbers(before)
	numbers[sl] = n
	return slValue(numbers), nil
}

// hcaName is the name of a device or an interface as Linux gives it, with the number of a port.
var hcaName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}([:/][0-9]{1,3})?$`)

// parseHCA parses a GUID or a name. Letters that are all hexadecimal digits are a GUID without 0x, and no name.
func parseHCA(text string) (Value, error) {
	if IsHCAName(text) {
		return Value{Text: text}, nil
	}
	n, err := parseNumber(text, 64)
	return Value{Num: n}, err
}

// IsHCAName reports whether guid takes a text as the name of a device or an interface, such as mlx5_0:1 or ib0.
func IsHCAName(text string) bool {
	_, err := parseNumber(text, 64)
	return errors.Is(err, errNotNumeric) && hcaName.MatchString(text) && !isHex(text)
}

func isHex(text string) bool { return strings.Trim(strings.ToLower(text), "0123456789abcdef") == "" }

// slNumbers are the numbers of a value for each SL.
func slNumbers(v Value) (numbers [slCount]uint64) {
	for i, f := range strings.Fields(v.Text) {
		if i < slCount {
			numbers[i], _ = strconv.ParseUint(f, 10, 64)
		}
	}
	return numbers
}

func slValue(numbers [slCount]uint64) Value {
	return Value{Text: strings.Trim(fmt.Sprint(numbers), "[]")}
}

// standard is the default of a setting.
func (k *Key) standard() Value {
	v, err := k.parse(k.Default, Value{})
	if err != nil {
		panic(fmt.Sprintf("conf: default of %s: %v", k.Name, err))
	}
	return v
}

// Format formats a value for opensm.conf, without quotes.
func (k *Key) Format(v Value) string {
	switch k.Kind {
	case Bool:
		if v.Num != 0 {
			return "TRUE"
		}
		return "FALSE"
	case HCA:
		if v.Text == "" {
			return fmt.Sprintf("0x%016x", v.Num)
		}
	case U8, U16, U32, X64:
		if digits, hex := strings.CutPrefix(k.Default, "0x"); hex {
			return fmt.Sprintf("0x%0*x", len(digits), v.Num)
		}
		return strconv.FormatUint(v.Num, 10)
	case I32:
		return strconv.FormatInt(int64(v.Num), 10)
	case Mask:
		return "0x" + v.Text
	}
	if v.Unset {
		return null
	}
	return v.Text
}
