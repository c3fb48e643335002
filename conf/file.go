package conf

import (
	"strings"

	"ibsm/conf/diag"
)

// MaxFile is the largest file that is read. A complete one has 20 KiB. That of TOML is
// smaller: its parser takes long over deep nesting.
const (
	MaxFile = 1 << 20
	MaxTOML = 1 << 16
)

// Source is where a value comes from; a larger one counts.
type Source uint8

const (
	FromDefault     Source = 0
	FromEnvironment Source = 1
	FromOpenSMConf  Source = 2
	FromTOML        Source = 3
	FromOption      Source = 4
	FromMaster      Source = 5 // the subnet's, as this manager stood by
)

func (s Source) String() string {
	switch s {
	case FromEnvironment:
		return "environment"
	case FromOpenSMConf:
		return "opensm.conf"
	case FromTOML:
		return "ibsm.toml"
	case FromOption:
		return "option"
	case FromMaster:
		return "master"
	}
	return "default"
}

// Setting is a value and where it comes from.
type Setting struct {
	Value    Value
	Source   Source
	Position diag.Position
	// Imposed is set for a value of opensm.conf that counts though it is OpenSM's
	// default.
	Imposed bool
}

// File is what a file sets. It does not change.
type File struct {
	Name     string
	settings map[int]Setting // by row
	Report   Report
	full     bool // of findings
}

// maxFindings bounds what is told about one file.
const maxFindings = 1000

// enough reports whether so much is wrong with the file that the rest is not read;
// then the file is refused.
func (f *File) enough(p diag.Position) bool {
	if !f.full && len(f.Report) >= maxFindings {
		f.full = true
		f.Report.add(Refusal, p, "", "too many mistakes")
	}
	return f.full
}

// ReadFile reads ibsm.toml or opensm.conf; which of the two, the name's end says.
func ReadFile(name string, src []byte) *File {
	f := &File{Name: name, settings: map[int]Setting{}}
	largest := MaxFile
	if IsTOML(name) {
		largest = MaxTOML
	}
	switch {
	case len(src) > largest:
		f.Report.add(Refusal, diag.Position{File: name}, "", "file of %d bytes: at most %d are read", len(src), largest)
	case IsTOML(name):
		readTOML(f, src)
	default:
		readOpenSM(f, src)
	}
	return f
}

// IsTOML reports whether a file of this name is in the form of ibsm.toml.
func IsTOML(name string) bool { return strings.HasSuffix(name, ".toml") }

// wrong reports a value that is not taken.
func (f *File) wrong(k *Key, p diag.Position, text string, err error) {
	f.Report.add(k.severity(), p, k.Name, "%s %s: %v; want %s", k.Name, shown(text), err, k.Wanted())
}

// severity is that of a value that is not taken.
func (k *Key) severity() Severity {
	if k.Serious {
		return Refusal
	}
	return Mistake
}

// maxShown bounds what a message quotes.
const maxShown = 80

// shown quotes a text for a message.
func shown(text string) string {
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return quoted(text)
}
