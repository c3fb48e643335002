package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"ibsm/conf"
)

// inUse is what a reload knows of the file that a setting names. The zero value is for a start.
//
// A file that is read again may be one that was emptied, by a full disk or an editor, has gone for a moment, or is
// written by a program that pauses. It must not change a subnet in use, so it is an error: the file before stays in
// force. An operator who wants nothing of a file takes its setting away.
type inUse struct {
	reload bool
	text   []byte // of the file in force; nil for none, or where the setting names another one now
	// optional says that a file without an entry, and no file, are usual ways to say that there is nothing of it.
	optional bool
}

// inUseOf is what a reload knows of the file that a setting names. was is the configuration before the reload, nil at a
// start.
func inUseOf(path conf.Accessor[string], was, now *conf.Config, text []byte) inUse {
	if was == nil {
		return inUse{}
	}
	if path.In(was) != path.In(now) {
		text = nil
	}
	return inUse{reload: true, text: text}
}

// read reads a file of at most so many bytes, and at a reload refuses one that may not be whole.
func (u inUse) read(name string, most int64) ([]byte, error) {
	text, err := fileReader.Read(name, most)
	switch {
	case !u.reload || u.optional && !hasEntry(text):
	case errors.Is(err, fs.ErrNotExist) && hasEntry(u.text):
		return nil, errors.New("the file does not exist: restore it, or remove its setting")
	case err != nil:
	case !hasEntry(text) && (u.text == nil || hasEntry(u.text)):
		return nil, errors.New("the file has no entry: restore it, or remove its setting")
	case bytes.HasSuffix(u.text, []byte("\n")) && len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")):
		return nil, fmt.Errorf("the last line, %d, has no line end, so the file may be incomplete: write it again",
			1+bytes.Count(text, []byte("\n")))
	}
	return text, err
}

// hasEntry reports whether a file has a line that is neither empty nor a comment.
func hasEntry(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true
		}
	}
	return false
}
