package conf

import (
	"cmp"
	"strconv"
	"strings"

	"ibsm/conf/diag"
)

// MaxFile is the largest file that is read, in bytes; a complete file has 20 KiB. MaxTOML
// is smaller because the TOML parser is slow on deep nesting.
const (
	MaxFile = 1 << 20
	MaxTOML = 1 << 16
)

// Source is where a value comes from; a larger one takes precedence.
type Source uint8

const (
	FromDefault     Source = 0
	FromEnvironment Source = 1
	FromOpenSMConf  Source = 2
	FromTOML        Source = 3
	FromOption      Source = 4
	FromSecurity    Source = 7 // by security, where nobody has chosen a value
	FromKeysFile    Source = 6 // derived from the secret of keys_file, where nobody has chosen a value
	FromMaster      Source = 5 // mirrored from the master while this manager was standby
)

var sourceNames = map[Source]string{
	FromEnvironment: "environment",
	FromOpenSMConf:  "opensm.conf",
	FromTOML:        "ibsm.toml",
	FromOption:      "option",
	FromMaster:      "master",
	FromKeysFile:    "keys_file",
	FromSecurity:    "security",
}

func (s Source) String() string { return cmp.Or(sourceNames[s], "default") }

// Setting is a value and where it comes from.
type Setting struct {
	Value    Value
	Source   Source
	Position diag.Position
	// Imposed is set for a default in opensm.conf that the key impose names, or that a
	// person has written (Key.ByHand): it is chosen.
	Imposed bool
}

// File holds the settings of a file. It is immutable.
type File struct {
	Name     string
	settings map[int]Setting // by row
	Report   Report
	full     bool // maxFindings was reached
	open     bool // the last line has no end
}

// maxFindings bounds the findings about one file.
const maxFindings = 1000

// enough reports whether the file has so many findings that reading stops; then the
// file is refused.
func (f *File) enough(p diag.Position) bool {
	if !f.full && len(f.Report) >= maxFindings {
		f.full = true
		f.Report.add(Refusal, p, "", "too many errors")
	}
	return f.full
}

// ReadFile parses ibsm.toml or opensm.conf, depending on the suffix of the name.
func ReadFile(name string, src []byte) *File {
	f := &File{Name: name, settings: map[int]Setting{}}
	f.open = len(src) > 0 && src[len(src)-1] != '\n'
	largest := MaxFile
	if IsTOML(name) {
		largest = MaxTOML
	}
	switch {
	case len(src) > largest:
		f.Report.add(Refusal, diag.Position{File: name}, "", "file has %d bytes; the maximum is %d", len(src), largest)
	case IsTOML(name):
		readTOML(f, src)
	default:
		readOpenSM(f, src)
	}
	return f
}

// IsTOML reports whether a file of this name is in the form of ibsm.toml.
func IsTOML(name string) bool { return strings.HasSuffix(name, ".toml") }

// wrong reports an invalid value in opensm.conf.
func (f *File) wrong(k *Key, p diag.Position, text string, err error) {
	instead := k.ignored()
	if k.Kind == Bool && !k.Serious {
		instead = "; using FALSE"
	}
	f.Report.add(k.severity(), p, k.Name, "%s %s: %v; expected %s%s", k.Name, shown(text), err, k.Wanted(), instead)
}

// ignored is the end of a message about an invalid value that does not refuse a start.
func (k *Key) ignored() string {
	if k.Serious {
		return ""
	}
	return "; value ignored"
}

// severity is the severity of an invalid value.
func (k *Key) severity() Severity {
	if k.Serious {
		return Refusal
	}
	return Invalid
}

// maxShown bounds the length of a quotation in a message.
const maxShown = 80

// shown quotes text for a message.
func shown(text string) string {
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return strconv.Quote(text)
}
