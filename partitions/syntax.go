package partitions

import (
	"ibsm/conf/diag"
	"ibsm/mad"
)

// File is a partitions.conf as it is written: its text, and what stands where in it.
// Nothing of the text is lost, so Src printed is the file. A File is not written after
// Parse, except for Self, NoNames and PortGroups.
type File struct {
	Name string
	Src  string
	Self mad.GUID // of the manager's port, 0 if not known; only for warnings
	// NoNames refuses members by the name of a host, and by groups that go by such names: a host chooses its name.
	NoNames bool
	// PortGroups are those that members may be of; nil where they are not known, so that any name is taken.
	PortGroups  *PortGroups
	Definitions []Definition
	// Errors make a file mean nothing. Warnings are about what is legal but hardly
	// meant, and about what OpenSM reads otherwise.
	Errors   diag.List
	Warnings diag.List

	tokens []token
}

// Definition is one statement: NAME=P_KEY, FLAG, FLAG=VALUE : ITEM, ITEM ;
type Definition struct {
	Head  Assignment // the name and the key
	Flags []Assignment
	Items []Item
	// Offsets in Src: of the first byte, of the colon, and behind the semicolon, or
	// behind the last item where there is none.
	Start, Colon, End int
	Closed            bool // by a semicolon
}

// Item is a member, PORT or PORT=MEMBERSHIP, or a group, mgid=ADDRESS, FLAG=VALUE.
type Item struct {
	Assignment
	Flags []Assignment // of a group
}

// IsGroup reports whether the item is a group.
func (i *Item) IsGroup() bool { return i.Name.Text == groupWord && i.Assigned }

// groupWord begins the item that makes a group. It cannot be abbreviated.
const groupWord = "mgid"

// Assignment is NAME or NAME=VALUE.
type Assignment struct {
	Name     Word
	Value    Word
	Assigned bool // there is an equals sign
}

// end is the offset behind an assignment.
func (a *Assignment) end() int {
	if a.Assigned {
		return a.Value.end()
	}
	return a.Name.end()
}

// end is the offset behind an item.
func (i *Item) end() int {
	if n := len(i.Flags); n > 0 {
		return i.Flags[n-1].end()
	}
	return i.Assignment.end()
}

// Word is a piece of the file without the blanks around it. It may be empty.
type Word struct {
	Text  string
	Start int // offset in Src
	Line  int // from 1
	Col   int // in bytes, from 1
}

func (w *Word) end() int { return w.Start + len(w.Text) }

// at is the place of a word.
func (f *File) at(w Word) diag.Position {
	return diag.Position{File: f.Name, Line: w.Line, Col: w.Col}
}

// token is a piece of the file that formatting keeps.
type token struct {
	kind tokenKind
	word Word // of comments without blanks at the end
}

type tokenKind uint8

const (
	headWord  tokenKind = iota // before the colon
	bodyWord                   // behind it
	equals                     //
	comma                      //
	colon                      //
	semicolon                  //
	comment                    // from # to the end of the line
	newline                    //
)
