package manager

import (
	"sort"
	"strings"
	"time"

	"ibsm/finding"
	"ibsm/sweep"
)

// trouble is what went wrong in a sweep.
type trouble struct {
	text string // in an order that makes two of them comparable; "" for nothing
	// unconfirmed says that a walk which asks again shows whether it has passed, and everywhere that only a full one
	// does. For the rest, light sweeps ask.
	unconfirmed, everywhere bool
}

// troubles is what went wrong in a sweep.
func troubles(out *sweep.Outcome) (t trouble) {
	var all []string
	add := func(f *finding.Finding) {
		at := ""
		if f.Node != 0 {
			at = placeOf(out.Topo, f) + ": "
		}
		all = append(all, at+f.String())
	}
	for i := range out.Failures {
		add(&out.Failures[i])
		// what excludes a port is a failure, or a table that light sweeps ask for; a Set that was late is sent again
		kind := out.Failures[i].Kind
		t.unconfirmed = t.unconfirmed || kind != finding.Excluded && kind != finding.SlowAgent
	}
	t.unconfirmed = t.unconfirmed || out.Found.Moved || len(out.Found.Unread) > 0
	t.everywhere = out.Found.Contested || out.Err != nil
	for i := range out.Found.Findings {
		switch f := &out.Found.Findings[i]; f.Kind {
		case finding.SlowAgent:
			if f.Unread == 0 {
				continue
			}
			t.unconfirmed = true // the next walk asks first for ports that are not known
			fallthrough
		case finding.Unresponsive, finding.Incomplete, finding.GetRefused, finding.PKeysRefused, finding.PKeysUnread:
			at := f.Finding()
			add(&at)
		}
	}
	if out.Found.Moved {
		all = append(all, "links changed during the sweep")
	}
	if len(out.Found.Unread) > 0 {
		all = append(all, "ports that are new or may have changed are not known")
	}
	if out.Err != nil {
		all = append(all, out.Err.Error())
	}
	sort.Strings(all)
	t.text = strings.Join(all, "; ")
	return t
}

// finished ends a heavy sweep. It reports whether the time of the next sweep by the clock stays as it is: traps may
// cause many quick sweeps a second, and these must not put off a sweep that tries again.
func (s *scheduler) finished(now time.Duration, out *sweep.Outcome, t trouble) (goesOn bool) {
	// the plan cleared it, with whatever happened since the walk; a quick one has few switches with it: see Unread
	s.needFull = t.everywhere || out.Changed && !out.Found.Quick
	s.unconfirmed, s.lasts = t.unconfirmed, s.lasts && t.text != "" && s.state != fullSweep
	quick, same := s.state == quickSweep, t.text == s.trouble
	switch {
	case t.text != "" && s.trouble == "":
		s.backoff = 0
		s.want(wishRetry, "links changed or Sets failed during the last sweep")
	case t.text != "" && !same:
		if s.backoff = time.Second; quick && s.next > 0 {
			s.next, goesOn = min(s.next, now+s.backoff), true
		}
	case t.text != "" && !quick:
		before := s.backoff
		s.backOff()
		s.lasts = s.lasts || t.unconfirmed && before < maxBackoff && s.backoff == maxBackoff
	case s.needFull:
		s.want(wishSecond, "possible missed changes during the last sweep")
	case out.Healed:
		s.want(wishRetry, "a switch accepts its forwarding table again, or a link has become ACTIVE")
	}
	s.trouble = t.text
	s.sweptLate(out)
	s.becomeIdle()
	return goesOn || quick && same && s.next > 0
}

// backOff makes the time longer until what went wrong is tried again.
func (s *scheduler) backOff() { s.backoff = min(max(2*s.backoff, time.Second), maxBackoff) }

// incomplete is the sweep that shows the state of the subnet where a light one does not.
func (s *scheduler) incomplete() wishes {
	switch {
	case s.needFull || s.lasts || !s.sweeper.Known():
		return wishFull
	case s.unconfirmed || s.sweeper.Waiting():
		return wishRetry
	}
	return 0
}
