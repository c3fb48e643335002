package main

import (
	"bytes"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// terminalWidth is the width that w has for lines, 0 where it is no terminal.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// style is how a line is shown.
type style uint8

// Styles.
const (
	plain   style = 0
	bold    style = 1
	reverse style = 2
	alarm   style = 3 // red
	faint   style = 4
)

var styleCodes = [...]string{plain: "", bold: "\x1b[1m", reverse: "\x1b[7m", alarm: "\x1b[31m", faint: "\x1b[2m"}

// line is one line of a screen.
type line struct {
	text  string
	style style
}

// terminal is a terminal of which a program has the whole screen, and each key as it is
// pressed.
type terminal struct {
	in, out *os.File
	keys    chan byte // closed when the input ends
	state   *term.State
	b       bytes.Buffer
}

// openTerminal takes a terminal over; nil where in and out are not one that can show a
// screen. close gives it back.
func openTerminal(in, out *os.File) *terminal {
	if name := os.Getenv("TERM"); name == "" || name == "dumb" || !term.IsTerminal(int(in.Fd())) ||
		!term.IsTerminal(int(out.Fd())) {
		return nil
	}
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil
	}
	t := &terminal{in: in, out: out, keys: make(chan byte), state: state}
	io.WriteString(out, "\x1b[?1049h\x1b[?25l\x1b[?7l") // another screen, no cursor, no wrapping
	go t.read()                                         // until the process ends: a read cannot be called off
	return t
}

func (t *terminal) read() {
	defer close(t.keys)
	b := make([]byte, 64)
	for {
		n, err := t.in.Read(b)
		if err != nil {
			return
		}
		if n > 1 && b[0] == '\x1b' {
			continue // an arrow or function key
		}
		for _, key := range b[:n] {
			t.keys <- key
		}
	}
}

func (t *terminal) close() {
	io.WriteString(t.out, "\x1b[?7h\x1b[?25h\x1b[?1049l")
	term.Restore(int(t.in.Fd()), t.state)
}

// size is the screen's.
func (t *terminal) size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// show writes lines over what is on the screen, in one piece so that it does not flicker.
func (t *terminal) show(lines []line) error {
	t.b.Reset()
	t.b.WriteString("\x1b[H")
	for i, l := range lines {
		if i > 0 {
			t.b.WriteString("\r\n")
		}
		// Erased first: behind the last column the cursor stays on it.
		t.b.WriteString("\x1b[0m\x1b[2K")
		t.b.WriteString(styleCodes[l.style])
		t.b.WriteString(l.text)
	}
	t.b.WriteString("\x1b[0m")
	_, err := t.out.Write(t.b.Bytes())
	return err
}
