// Package sick judges links by what their ports count, and decides which of them are taken out of use. It
// changes nothing itself.
//
// A Rule has a limit for what a port may count in a time: a number, or a share of the bits that the link
// carries. A Watch takes one reading of all ports after the other, and has the ports that are beyond a
// limit, until they have been clean for long enough. Decide says what is done for them: a link is only taken
// out of use where there is another way, and no more than so many at a time.
//
// The counters are those of errors that a port sees on its own link as the receiver, so that the right
// end of the right link is found. What another port has marked (PortRcvRemotePhysicalErrors), and what
// congestion causes (PortXmitDiscards), say nothing about the link.
package sick

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/conf/diag"
	"ibsm/mad/pma"
)

// Rule is a limit for what a port may count.
type Rule struct {
	Name     string
	Counters pma.Counters // counted together
	Count    uint64       // the limit, if PerBit is 0
	PerBit   float64      // of the bits that the link carries in Window
	Window   time.Duration
	State    State  // what is counted where there are no Counters
	Action   Action // what is done for a port beyond the limit
}

// State is what a Rule counts that no counter has: the readings in which it is found.
type State uint8

// States.
const (
	NoState     State = iota
	BelowBest         // the link is narrower or slower than both ends have enabled
	Reboots           // the node has rebooted; of one port of the node
	LostReplies       // the agent did not answer, though most did; of one port of the agent
)

var stateNames = [...]string{BelowBest: "below-best", Reboots: "reboots", LostReplies: "lost-replies"}

// Measures are the names of what is counted.
func (r *Rule) Measures() (names []string) {
	if r.State != NoState {
		return []string{stateNames[r.State]}
	}
	for c := range r.Counters.All {
		names = append(names, c.String())
	}
	return names
}

// Action is what is done for a sick link. A later one is more.
type Action uint8

// Actions.
const (
	Report  Action = iota
	Avoid          // no route passes the link while there is another way; it stays up and is watched
	Disable        // the same, and the port is disabled
)

var actionNames = [...]string{"report", "avoid", "disable"}

func (a Action) String() string { return actionNames[a] }

// ActionNamed is the inverse of String.
func ActionNamed(name string) (a Action, ok bool) {
	i := slices.Index(actionNames[:], name)
	return Action(max(i, 0)), i >= 0
}

// Limit is the limit in words.
func (r *Rule) Limit() string {
	if r.PerBit > 0 {
		return strconv.FormatFloat(r.PerBit, 'g', -1, 64) + "/bit"
	}
	return strconv.FormatUint(r.Count, 10)
}

// leastPerBit is the least number of errors that a limit per bit needs: one or two errors say nothing
// about a rate.
const leastPerBit = 3

// most is how much a port may count in a time on a link of so many bits a second; ok is false if that is
// not known.
func (r *Rule) most(bits uint64, window time.Duration) (most uint64, ok bool) {
	if r.PerBit == 0 {
		longer := max(1, window.Seconds()/r.Window.Seconds())
		return max(r.Count, uint64(min(float64(r.Count)*longer, math.MaxInt64))), true
	}
	return max(leastPerBit-1, uint64(min(r.PerBit*float64(bits)*window.Seconds(), math.MaxInt64))), bits > 0
}

// Receiver are the counters that a Rule may be about.
const Receiver = pma.ErrorCounters &^ (1<<pma.PortRcvRemotePhysicalErrors | 1<<pma.PortXmitDiscards |
	1<<pma.PortRcvSwitchRelayErrors |
	1<<pma.PortXmitConstraintErrors | 1<<pma.PortRcvConstraintErrors | 1<<pma.VL15Dropped)

// Defaults is the table of the rules that apply without a file.
const Defaults = `# rule           counters                      more than   within  action
link-downs         LinkDownedCounter             2           1h      avoid
recoveries         LinkErrorRecoveryCounter      3           1h      avoid
bit-errors         SymbolErrorCounter            1e-12/bit   12m     avoid
damaged-packets    PortRcvErrors                 1e-13/bit   1h      avoid
integrity          LocalLinkIntegrityErrors      3           1h      avoid
buffer-overruns    ExcessiveBufferOverrunErrors  10          1h      avoid
slow-link          below-best                    2           1h      report
reboots            reboots                       3           1h      report
no-replies         lost-replies                  5           1h      report
`

// UFM is the table with the figures that the plug-in of NVIDIA's UFM publishes for NDR.
const UFM = `# rule           counters                      more than   within  action
bit-errors         SymbolErrorCounter            1e-14/bit   12m     avoid
few-bit-errors     SymbolErrorCounter            1e-15/bit   125m    avoid
link-downs         LinkDownedCounter             2           125m    avoid
`

// Limits of a table.
const (
	maxRules  = 64
	maxWindow = 24 * time.Hour
	maxErrors = 20
)

// Parse reads a table: lines of name, counters with commas between, or the name of a State, limit, time and
// action, report if there is none; # begins a comment.
func Parse(file, text string) (rules []Rule, errs diag.List) {
	names, num := map[string]bool{}, 0
	for line := range strings.Lines(text) {
		num++
		words := split(line)
		if len(words) == 0 {
			continue
		}
		at := func(i int) diag.Position {
			return diag.Position{File: file, Line: num, Col: words[min(i, len(words)-1)].col}
		}
		switch r, wrong, err := parseRule(words); {
		case err != "":
			errs.Add(at(wrong), "%s", err)
		case names[r.Name]:
			errs.Add(at(0), "the rule %q is there twice", r.Name)
		case len(rules) == maxRules:
			errs.Add(at(0), "more than %d rules", maxRules)
			return rules, errs
		default:
			names[r.Name] = true
			rules = append(rules, r)
		}
		if len(errs) == maxErrors {
			return rules, errs
		}
	}
	return rules, errs
}

// word is a word of a line, and its column.
type word struct {
	text string
	col  int
}

func split(line string) (words []word) {
	line, _, _ = strings.Cut(line, "#")
	rest := line
	for {
		rest = strings.TrimLeft(rest, " \t\r\n")
		if rest == "" {
			return words
		}
		text := rest
		if i := strings.IndexAny(rest, " \t\r\n"); i >= 0 {
			text = rest[:i]
		}
		words = append(words, word{text, len(line) - len(rest) + 1})
		rest = rest[len(text):]
	}
}

// parseRule reads a line; wrong is the index of the word that err is about.
func parseRule(words []word) (r Rule, wrong int, err string) {
	if len(words) != 4 && len(words) != 5 {
		return r, 4, fmt.Sprintf("expected a name, counters, a limit, a time and an action, not %d words", len(words))
	}
	r.Name = words[0].text
	if i := slices.Index(stateNames[:], words[1].text); i > 0 {
		r.State = State(i)
		return parseLimits(r, words)
	}
	for name := range strings.SplitSeq(words[1].text, ",") {
		c, known := counterNamed(name)
		if !known || !Receiver.Has(c) {
			return r, 1, fmt.Sprintf("%q is no counter of errors that a port sees on its own link%s", name,
				diag.Meant(name, measureNames()))
		}
		r.Counters |= 1 << c
	}
	return parseLimits(r, words)
}

// parseLimits reads the words after what is counted.
func parseLimits(r Rule, words []word) (_ Rule, wrong int, err string) {
	var bad error
	if share, perBit := strings.CutSuffix(words[2].text, "/bit"); perBit && r.State == NoState {
		r.PerBit, bad = strconv.ParseFloat(share, 64)
		if bad != nil || !(r.PerBit > 0 && r.PerBit < 1) {
			return r, 2, fmt.Sprintf("%q: expected a share of the bits between 0 and 1, such as 1e-12/bit",
				words[2].text)
		}
	} else if r.Count, bad = strconv.ParseUint(words[2].text, 10, 63); bad != nil {
		return r, 2, fmt.Sprintf("%q: expected a number, or a share of the bits such as 1e-12/bit", words[2].text)
	}
	if r.Window, bad = time.ParseDuration(words[3].text); bad != nil || r.Window < time.Minute || r.Window > maxWindow {
		return r, 3, fmt.Sprintf("%q: expected a time from 1m to 24h", words[3].text)
	}
	if len(words) == 5 {
		known := false
		if r.Action, known = ActionNamed(words[4].text); !known {
			return r, 4, fmt.Sprintf("%q: expected report, avoid or disable", words[4].text)
		}
		if r.Action > Report && r.State > BelowBest {
			return r, 4, fmt.Sprintf("%s says nothing of the link: it can only be reported", stateNames[r.State])
		}
	}
	return r, 0, ""
}

func counterNamed(name string) (pma.Counter, bool) {
	for c := range pma.AllCounters.All {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}

func measureNames() []string {
	names := slices.Clone(stateNames[1:])
	for c := range Receiver.All {
		names = append(names, c.String())
	}
	return names
}
