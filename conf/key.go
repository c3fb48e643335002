package conf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of a setting.
type Kind uint8

const (
	Bool   Kind = 1  // TRUE or FALSE
	U8     Kind = 2  // 0 to 255
	U16    Kind = 3  // 0 to 65535
	U32    Kind = 4  // 0 to 4294967295
	I32    Kind = 5  // signed
	X64    Kind = 6  // 64 bits, in hex
	String Kind = 7  // text or a file name
	Word   Kind = 8  // one of Key.Words
	List   Kind = 9  // texts separated by commas
	Mask   Kind = 10 // 256 bits, in hex
	Pair   Kind = 11 // shift:multiplier, of a congestion control table
	SLs8   Kind = 12 // an 8-bit number for each SL, given as "SL number"
	SLs16  Kind = 13 // a 16-bit one
	HCA    Kind = 14 // a GUID, as X64, or the name of a device or an interface
)

func (k Kind) String() string {
	names := [...]string{Bool: "boolean", U8: "8 bits", U16: "16 bits", U32: "32 bits", I32: "32 bits, signed",
		X64: "64 bits", String: "text", Word: "word", List: "list", Mask: "256 bits", Pair: "shift:multiplier",
		SLs8: "8 bits for each SL", SLs16: "16 bits for each SL", HCA: "GUID or device"}
	if int(k) < len(names) && names[k] != "" {
		return names[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// numeric reports whether values are single numbers.
func (k Kind) numeric() bool { return k >= U8 && k <= X64 }

// bits is the size of a number in bits.
func (k Kind) bits() int {
	switch k {
	case U8, SLs8:
		return 8
	case U16, SLs16:
		return 16
	case X64, HCA:
		return 64
	}
	return 32
}

// Unit is the unit of a number.
type Unit uint8

const (
	NoUnit       Unit = 0
	Seconds      Unit = 1
	Milliseconds Unit = 2
	Microseconds Unit = 3
	Mebibytes    Unit = 4
	TimeCode     Unit = 5 // 4.096 us x 2^n (IBA 14.2.5.6)
)

func (u Unit) String() string {
	names := [...]string{"", "seconds", "milliseconds", "microseconds", "MiB", "4.096 us x 2^n"}
	if int(u) < len(names) {
		return names[u]
	}
	return "unit " + strconv.Itoa(int(u))
}

// Effect says whether this manager supports a setting.
type Effect uint8

const (
	NotYet  Effect = 0 // not implemented: a chosen value is reported
	Acts    Effect = 1 // implemented
	Foreign Effect = 2 // not needed: the setting tunes OpenSM's implementation
)

func (e Effect) String() string {
	switch e {
	case Acts:
		return "yes"
	case Foreign:
		return "not needed"
	}
	return "not yet"
}

// Key is a row of the table: one setting.
type Key struct {
	Name    string // in opensm.conf
	TOML    string // in ibsm.toml: group.name
	Kind    Kind
	Unit    Unit
	Range   string   // of a number, such as "0-7 15"; "" for the range of its type
	Words   []string // legal values of a Word or of the elements of a List
	Default string   // as opensm.conf has it; "(null)" is none
	Reload  bool     // a reload applies a new value
	Serious bool     // an invalid value refuses the start: the default could harm the fabric
	Effect  Effect
	// Unset describes the behaviour until a value is chosen; "" if the default
	// applies. See Config.Chosen.
	Unset string
	// ByHand says that the default is chosen, too, where a person has written it into opensm.conf; see File.byHand.
	ByHand bool
	Own    bool   // not a key of OpenSM 3.3.23: written only if chosen
	Long   string // the command line option, "" for none
	Short  byte
	Arg    string // placeholder of the option's argument, "" if it has none and means TRUE
	Help   string
}

// Group is the part of TOML that names the table.
func (k *Key) Group() string { return k.TOML[:strings.LastIndexByte(k.TOML, '.')] }

// Leaf is the name within the group.
func (k *Key) Leaf() string { return k.TOML[strings.LastIndexByte(k.TOML, '.')+1:] }

// Keys is the table in the order in which OpenSM writes it. It must not be changed.
func Keys() []Key { return table }

// byName and byTOML find rows.
var byName, byTOML = indexes()

func indexes() (names, paths map[string]int) {
	names, paths = map[string]int{}, map[string]int{}
	for i := range table {
		names[table[i].Name] = i
		paths[table[i].TOML] = i
	}
	for old, now := range aliases {
		names[old] = names[now]
	}
	return names, paths
}

// aliases are deprecated names of opensm.conf that OpenSM still accepts.
var aliases = map[string]string{"dimn_ports_file": "port_search_ordering_file"}

// Find returns the row of a key of opensm.conf, nil if there is none.
func Find(name string) *Key {
	if i, ok := byName[name]; ok {
		return &table[i]
	}
	return nil
}

// row is the index of a row of the table.
func (k *Key) row() int { return byName[k.Name] }

// limits are the ends of each part of a range such as "0-7 15".
func limits(ranges string) (parts [][2]int64) {
	for _, part := range strings.Fields(ranges) {
		low, high, found := strings.Cut(part, "-")
		if !found {
			high = low
		}
		l, _ := strconv.ParseInt(low, 0, 64)
		h, _ := strconv.ParseInt(high, 0, 64)
		parts = append(parts, [2]int64{l, h})
	}
	return parts
}

// inRange reports whether a number is legal.
func (k *Key) inRange(v int64) bool {
	return k.Range == "" || k.Kind == I32 && v == -1 || slices.ContainsFunc(limits(k.Range), func(p [2]int64) bool {
		return v >= p[0] && v <= p[1]
	})
}

// Wanted describes the legal values of a setting.
func (k *Key) Wanted() string {
	ranges := strings.ReplaceAll(strings.ReplaceAll(k.Range, " ", ", "), "-", " to ")
	unit := ""
	if k.Unit != NoUnit {
		unit = " (" + k.Unit.String() + ")"
	}
	switch k.Kind {
	case Bool:
		return "TRUE or FALSE"
	case I32:
		return "a number, -1 or " + ranges
	case U8, U16, U32, X64:
		if ranges == "" {
			ranges = fmt.Sprintf("0 to 0x%x", uint64(1)<<k.Kind.bits()-1)
		}
		return "a number, " + ranges + unit
	case HCA:
		return "a number, 0 to 0xffffffffffffffff, or a device or interface such as mlx5_0, mlx5_0:1 or ib0"
	case Word:
		return "one of " + strings.Join(k.Words, ", ")
	case List:
		if k.Words != nil {
			return "a list of " + strings.Join(k.Words, ", ")
		}
		return "a comma-separated list"
	case Mask:
		return "up to 64 hexadecimal digits"
	case Pair:
		return "shift:multiplier, such as 3:1000"
	case SLs8, SLs16:
		return fmt.Sprintf("an SL, 0 to 15, and a number, 0 to %d", uint64(1)<<k.Kind.bits()-1)
	}
	return "text"
}
