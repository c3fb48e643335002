package console

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
)

// Prompt is written at the beginning and after each command.
const Prompt = "OpenSM $ "

// LoopEvery is how often status loop repeats the status.
const LoopEvery = 3 * time.Second

// Session is a conversation with one client. It is for one goroutine. An error of its
// methods is one of the writer that it was made with: the client is gone.
type Session struct {
	daemon   *Daemon
	commands []command
	out      *bufio.Writer
	local    bool
	state    sessionState
}

// sessionState says what a Session does with the next line.
type sessionState uint8

const (
	prompting sessionState = iota // it is a command
	looping                       // status loop is under way, which the line can end
	left                          // the client said quit: there is none
)

// New returns a Session that writes to w. A local one is at the terminal that the
// manager was started from; its client cannot quit.
func New(d *Daemon, w io.Writer, local bool) *Session {
	return &Session{daemon: d, commands: commands, out: bufio.NewWriter(w), local: local}
}

// Greet writes the first prompt.
func (s *Session) Greet() error { return s.prompt() }

// Line takes a command line and writes the answer. It returns false when the connection
// must be closed.
func (s *Session) Line(line string) (more bool, err error) {
	words := split(line)
	switch {
	case s.state == looping:
		s.loop(words)
	case len(words) > 0:
		s.command(words)
	}
	if s.state == left {
		return false, s.out.Flush()
	}
	return true, s.prompt()
}

// TooLong answers a command line that was longer than MaxLine.
func (s *Session) TooLong() error {
	s.printf("Command line too long: more than %d bytes\n", MaxLine)
	return s.prompt()
}

// prompt ends an answer.
func (s *Session) prompt() error {
	if s.state != looping {
		s.out.WriteString(Prompt)
	}
	return s.out.Flush()
}

// Tick repeats the status while the client wants it so: to be called every LoopEvery.
func (s *Session) Tick() error {
	if s.state == looping {
		s.printStatus()
	}
	return s.out.Flush()
}

// loop takes a line while the status is repeated.
func (s *Session) loop(words []string) {
	switch {
	case len(words) == 0:
	case words[0] == "q":
		s.state = prompting
	default:
		s.loopHint()
	}
}

func (s *Session) loopHint() { s.printf("use \"q<ret>\" to quit loop\n") }

// command runs one command.
func (s *Session) command(words []string) {
	c := s.find(words[0])
	if c == nil {
		s.unknown(words[0])
		return
	}
	if c.acts(words[1:]) {
		s.daemon.Acted(printable(strings.Join(words, " ")))
	}
	c.run(s, words[1:])
}

// unknown answers a word that is no command.
func (s *Session) unknown(word string) {
	s.printf("%s : Command not found\n\n", printable(word))
	s.help(nil)
}

func (s *Session) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// gone reports whether the client takes no answers any more.
func (s *Session) gone() bool {
	_, err := s.out.Write(nil)
	return err != nil
}

// split is the words of a line. As in C, a zero byte ends it.
func split(line string) []string {
	line, _, _ = strings.Cut(line, "\x00")
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) })
}

// printable is text without what could steer a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
