package console

import (
	"bufio"
	"errors"
	"io"
)

// MaxLine is the longest command line, in bytes with its end.
const MaxLine = 4096

// ErrTooLong says that a line was longer than MaxLine. It has been passed over.
var ErrTooLong = errors.New("command line too long")

// Lines reads command lines. It holds no more than one.
type Lines struct{ r *bufio.Reader }

// NewLines returns the lines of r.
func NewLines(r io.Reader) *Lines { return &Lines{bufio.NewReaderSize(r, MaxLine)} }

// Next is the next line without its end, or ErrTooLong, or the error that reading ended
// with. What comes before the end of r without a line feed is a line too.
func (l *Lines) Next() (string, error) {
	line, err := l.r.ReadSlice('\n')
	switch {
	case err == nil:
		return string(line[:len(line)-1]), nil
	case !errors.Is(err, bufio.ErrBufferFull):
		if errors.Is(err, io.EOF) && len(line) > 0 {
			return string(line), nil
		}
		return "", err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.r.ReadSlice('\n')
	}
	if err != nil {
		return "", err
	}
	return "", ErrTooLong
}
