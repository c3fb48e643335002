package partitions

import (
	"strings"

	"ibsm/conf/diag"
)

// findMisreadings warns of what is right and what OpenSM 3.3.23 reads otherwise. Most of
// it comes from its way of reading: each line goes into the same buffer, and where it
// steps over the end of one it finds what earlier lines have left there.
func (f *File) findMisreadings() {
	f.findStraySemicolons()
	if i := strings.IndexByte(f.Src, '\r'); i >= 0 {
		f.Warnings.Add(f.place(i), "line ends CR LF: OpenSM takes the CR as part of the preceding word")
	}
	f.findLongLine()
	f.findBareGroups()
}

// place is the position of an offset.
func (f *File) place(offset int) diag.Position {
	start := strings.LastIndexByte(f.Src[:offset], '\n') + 1
	return diag.Position{File: f.Name, Line: strings.Count(f.Src[:start], "\n") + 1, Col: offset - start + 1}
}

// findStraySemicolons warns of those that begin a line and those that end nothing.
func (f *File) findStraySemicolons() {
	first, open := true, false
	for _, t := range f.tokens {
		switch t.kind {
		case newline:
			first = true
			continue
		case colon:
			open = true
		case semicolon:
			switch {
			case !open:
				f.Warnings.Add(f.at(t.word),
					"a ';' after nothing: to OpenSM it is an error, which makes every port a full member of the default partition")
			case first:
				f.Warnings.Add(f.at(t.word),
					"a ';' at the start of a line: OpenSM may misread the previous line; put it after the last item")
			}
			open = false
		}
		if len(f.Warnings) >= maxFindings {
			return
		}
		first = false
	}
}

// lineOfOpenSM is the longest line that OpenSM reads in one piece, in bytes.
const lineOfOpenSM = 4094

func (f *File) findLongLine() {
	line := 0
	for text := range strings.Lines(f.Src) {
		line++
		if len(strings.TrimSuffix(text, "\n")) > lineOfOpenSM {
			f.Warnings.Add(diag.Position{File: f.Name, Line: line}, "line of %d bytes: OpenSM cuts it after %d",
				len(text), lineOfOpenSM)
			return
		}
	}
}

// findBareGroups warns of groups without a flag of their own where OpenSM reads on
// behind the end of the item: in a comment, in what an earlier comment left, in what
// follows the definition.
func (f *File) findBareGroups() {
	bare := map[int]*Item{} // by line: a group is the last on its line
	given := map[int]int{}  // by line: the column where OpenSM gives up, at a bad address
	for i := range f.Definitions {
		items := f.Definitions[i].Items
		f.checkEnd(&f.Definitions[i])
		for j := range items {
			item := &items[j]
			if !item.IsGroup() {
				continue
			}
			if _, ok := groupAddress(item.Value.Text); !ok {
				given[item.Value.Line] = item.Value.Col + len(item.Value.Text)
			} else if len(item.Flags) == 0 {
				bare[item.Value.Line] = item
			}
		}
	}
	if len(bare) == 0 {
		return
	}
	var buffer [lineOfOpenSM + 2]byte
	line := 0
	for text := range strings.Lines(f.Src) {
		line++
		text = text[:min(len(text), lineOfOpenSM)]
		code := until(text, "#")
		split := code // up to here no word has a value left
		if col, gave := given[line]; gave {
			split = min(col-1, code)
		}
		copy(buffer[:], text)
		clear(buffer[:split])
		buffer[code], buffer[len(text)] = 0, 0
		item := bare[line]
		if item == nil {
			continue
		}
		from := len(text) + 1
		if code < len(text) {
			from = code + 1
		}
		rest := string(buffer[min(from, len(buffer)):])
		f.checkLeftover(item, rest[:until(rest, "\x00")])
	}
}

// checkEnd warns of a semicolon that OpenSM may pass over.
func (f *File) checkEnd(d *Definition) {
	if len(d.Items) == 0 || !d.Closed {
		return
	}
	last := &d.Items[len(d.Items)-1]
	if !last.IsGroup() || strings.Contains(f.Src[last.end():d.End], "\n") {
		return
	}
	if _, ok := groupAddress(last.Value.Text); !ok || len(last.Flags) == 0 {
		f.Warnings.Add(f.at(last.Name),
			"OpenSM may continue to read after the ';' of this group; put a member such as NONE after it, on a separate line")
	}
}

// checkLeftover warns if a text that does not belong to a group holds a flag with a value.
func (f *File) checkLeftover(item *Item, text string) {
	for piece := range strings.SplitSeq(text, ",") {
		name, value, assigned := strings.Cut(piece, "=")
		name = strings.Trim(name, blank+"\n")
		if flag := whole(name, groupFlagWords); assigned && flag != "" {
			f.Warnings.Add(f.at(item.Name),
				"OpenSM takes %s of a comment for %s of this group; give the item its own flag",
				shown(strings.Trim(piece, blank+"\n")), flag+"="+strings.Trim(value, blank+"\n"))
			return
		}
	}
}
