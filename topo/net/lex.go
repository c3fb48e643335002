package net

import "strings"

// scanner reads one line from left to right.
type scanner struct {
	line string
	pos  int // of the next byte
}

// col is the column of the next byte, counted from 1.
func (s *scanner) col() int { return s.pos + 1 }

func (s *scanner) rest() string { return s.line[s.pos:] }

// blanks skips spaces and tabs.
func (s *scanner) blanks() {
	for s.pos < len(s.line) && (s.line[s.pos] == ' ' || s.line[s.pos] == '\t') {
		s.pos++
	}
}

// at reports whether the next byte is c.
func (s *scanner) at(c byte) bool { return s.pos < len(s.line) && s.line[s.pos] == c }

// skip consumes the next byte if it is c.
func (s *scanner) skip(c byte) bool {
	if !s.at(c) {
		return false
	}
	s.pos++
	return true
}

// done reports that only blanks or a comment follow.
func (s *scanner) done() bool {
	s.blanks()
	return s.pos == len(s.line) || s.at('#')
}

// between consumes a text in delimiters, such as "name" or (1a2b).
func (s *scanner) between(open, end byte) (text string, ok bool) {
	if !s.at(open) {
		return "", false
	}
	n := strings.IndexByte(s.line[s.pos+1:], end)
	if n < 0 {
		return "", false
	}
	text = s.line[s.pos+1 : s.pos+1+n]
	s.pos += n + 2
	return text, true
}

// word consumes letters.
func (s *scanner) word() string {
	start := s.pos
	for s.pos < len(s.line) && isLetter(s.line[s.pos]) {
		s.pos++
	}
	return s.line[start:s.pos]
}

// number consumes a number as C writes it: 0x1f, 017 or 15.
func (s *scanner) number() (v uint64, ok bool) {
	base := uint64(10)
	switch rest := s.rest(); {
	case strings.HasPrefix(rest, "0x") || strings.HasPrefix(rest, "0X"):
		base = 16
		s.pos += 2
	case strings.HasPrefix(rest, "0"):
		base = 8
	}
	return s.digits(base)
}

// digits consumes the digits of a number. It is not ok when there are none, when
// the value needs more than 64 bits, or when a digit or letter follows that
// cannot belong to it.
func (s *scanner) digits(base uint64) (v uint64, ok bool) {
	start := s.pos
	for s.pos < len(s.line) {
		d := digit(s.line[s.pos])
		if d >= base {
			break
		}
		if v > (1<<64-1-d)/base {
			return 0, false
		}
		v = v*base + d
		s.pos++
	}
	follows := s.pos < len(s.line) && (isLetter(s.line[s.pos]) || digit(s.line[s.pos]) < 10)
	return v, s.pos > start && !follows
}

// digit is the value of a hexadecimal digit, 99 for any other byte.
func digit(c byte) uint64 {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0')
	case 'a' <= c && c <= 'f':
		return uint64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return uint64(c-'A') + 10
	}
	return 99
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
