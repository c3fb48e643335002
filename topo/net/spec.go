package net

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// Spec says which fabric to generate: a kind of topology and its parameters,
// written as "fattree:k=8,levels=2".
type Spec struct {
	kind   *kind
	values map[string]value
}

// SpecError says what is wrong with a Spec and what would be right.
type SpecError struct {
	Text string
	Hint string // "" when there is none
}

func (e *SpecError) Error() string { return e.Text }

// key is a parameter of a kind.
type key struct {
	name     string
	read     func(text string) (value, error)
	standard string // the default, "" when it follows from other parameters
	about    string
}

// value is a parameter that was read. One field counts, as the key says.
type value struct {
	set     bool // stated, or a default that is not ""
	n       int
	share   float64 // 0..1, where the key may be a percentage and was
	dims    []int
	seed    uint64
	speed   mad.LinkSpeed
	width   mad.LinkWidth
	profile Profile
}

// kind is a kind of topology.
type kind struct {
	name  string
	about string
	keys  []key
	// shape checks what the keys cannot check one by one and returns the size of
	// the fabric and what builds it.
	shape func(s *Spec) (plan, error)
}

// plan is a fabric about to be built.
type plan struct {
	switches, hosts int
	build           func(b *builder)
}

// common are the keys that every kind has.
var common = []key{
	{"speed", readSpeed, "HDR", "speed of every link: SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR"},
	{"width", readWidth, "4x", "width of every link: 1x, 2x, 4x, 8x, 12x"},
	{"missing-links", readAmount, "0", "cables between switches to leave out, a number or a share such as 5%"},
	{"missing-switches", readAmount, "0",
		"switches to leave out, a number or a share; only switches without hosts if there are any"},
	{"devices", readProfile, "real",
		"GUIDs, SystemImageGUIDs, ports 0 and power-up values: those of real devices (real) or of the specification (ideal)"},
	{"sharp", readSHARP, "auto",
		"SHARP port, one more port of each switch: none, off (always down), on (with an aggregation node), auto (off for switches of 40, 64, 80 or 128 ports with devices=real and HDR or faster)"},
	{"functions", number(0, MaxFunctions), "0",
		"virtual functions of each host, at most 127; simulated only, a topology file has none"},
	{"seed", readSeed, "1", "chooses missing links and random values"},
}

// MaxFunctions is the most virtual functions that a port of an adapter has.
const MaxFunctions = 127

// ParseSpec reads a spec such as "torus:dims=4x4x4,hosts=2". The error is a
// *SpecError.
func ParseSpec(text string) (*Spec, error) {
	name, params, _ := strings.Cut(text, ":")
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return nil, unknown("kind of fabric", name, kindNames())
	}
	s := &Spec{kind: &kinds[i], values: map[string]value{}}
	if err := s.readParams(params); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Spec) readParams(params string) error {
	keys := slices.Concat(s.kind.keys, common)
	for field := range strings.SplitSeq(params, ",") {
		if field == "" && params == "" {
			break
		}
		name, text, _ := strings.Cut(field, "=")
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		if i < 0 {
			return unknown("key of "+s.kind.name, name, keyNames(keys))
		}
		if _, dup := s.values[name]; dup {
			return &SpecError{Text: fmt.Sprintf("%s: %s is given twice", s.kind.name, name)}
		}
		v, err := keys[i].read(text)
		if err != nil {
			return &SpecError{Text: fmt.Sprintf("%s: %s=%q: %v", s.kind.name, name, text, err),
				Hint: name + ": " + keys[i].about}
		}
		v.set = true
		s.values[name] = v
	}
	for _, k := range keys {
		if _, given := s.values[k.name]; !given && k.standard != "" {
			v, err := k.read(k.standard)
			if err != nil {
				panic("net: default of " + s.kind.name + ":" + k.name + ": " + err.Error())
			}
			v.set = true
			s.values[k.name] = v
		}
	}
	return nil
}

// int is an integer parameter; fallback when it was not stated and has no fixed
// default.
func (s *Spec) int(name string, fallback int) int {
	if v := s.values[name]; v.set {
		return v.n
	}
	return fallback
}

// IsSpec reports whether a word that may name a file or a generator means a
// generator: it is the name of a kind, or has a colon behind a bare word.
func IsSpec(text string) bool {
	name, _, colon := strings.Cut(text, ":")
	return colon && name != "" && !strings.ContainsAny(name, "/.") || slices.Contains(kindNames(), name)
}

// Help describes every kind and key, for people.
func Help() string {
	var b strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&b, "%s: %s\n", k.name, k.about)
		writeKeys(&b, k.keys)
	}
	b.WriteString("every kind:\n")
	writeKeys(&b, common)
	return b.String()
}

func writeKeys(b *strings.Builder, keys []key) {
	for _, k := range keys {
		fmt.Fprintf(b, "  %-17s %s", k.name, k.about)
		if k.standard != "" {
			fmt.Fprintf(b, " (default %s)", k.standard)
		}
		b.WriteByte('\n')
	}
}

func kindNames() []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].name
	}
	return names
}

func keyNames(keys []key) []string {
	names := make([]string, len(keys))
	for i := range keys {
		names[i] = keys[i].name
	}
	return names
}

// unknown is the error for a word that is none of the legal ones.
func unknown(what, word string, legal []string) error {
	e := &SpecError{Text: fmt.Sprintf("unknown %s %q: expected one of %s", what, word, strings.Join(legal, ", "))}
	if nearest := diag.Nearest(word, legal); nearest != "" {
		e.Hint = "did you mean " + nearest + "?"
	}
	return e
}

// number makes a reader of integers within bounds.
func number(low, high int) func(string) (value, error) {
	return func(text string) (value, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			return value{}, fmt.Errorf("expected a number from %d to %d", low, high)
		}
		return value{n: n}, nil
	}
}

// dimensions makes a reader of sizes such as 4x4x2.
func dimensions(maxDims, low int) func(string) (value, error) {
	return func(text string) (value, error) {
		fields := strings.Split(text, "x")
		var v value
		for _, f := range fields {
			n, err := strconv.Atoi(f)
			if err != nil || n < low || n > 1000 || len(fields) > maxDims {
				return value{}, fmt.Errorf("expected up to %d sizes from %d to 1000, such as 4x4", maxDims, low)
			}
			v.dims = append(v.dims, n)
		}
		return v, nil
	}
}

func readAmount(text string) (value, error) {
	if digits, percent := strings.CutSuffix(text, "%"); percent {
		f, err := strconv.ParseFloat(digits, 64)
		if err != nil || !(f >= 0 && f <= 100) {
			return value{}, fmt.Errorf("expected a number or a share such as 5%%")
		}
		return value{share: f / 100}, nil
	}
	v, err := number(0, MaxPorts)(text)
	if err != nil {
		return value{}, fmt.Errorf("expected a number or a share such as 5%%")
	}
	return v, nil
}

// of is the amount out of a total, shares rounded to the nearest.
func (v value) of(total int) int {
	return v.n + int(v.share*float64(total)+0.5)
}

func readSeed(text string) (value, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return value{}, fmt.Errorf("expected a number of 64 bits")
	}
	return value{seed: n}, nil
}

func readSpeed(text string) (value, error) {
	s, ok := mad.ParseLinkSpeed(strings.ToUpper(text))
	if !ok {
		return value{}, fmt.Errorf("unknown link speed")
	}
	return value{speed: s}, nil
}

func readWidth(text string) (value, error) {
	w, ok := parseWidth(text)
	if !ok {
		return value{}, fmt.Errorf("unknown link width")
	}
	return value{width: w}, nil
}
