package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"ibsm/view"
)

// Limits of a Log. Older Steps are forgotten, and of those that are kept the older ones
// lose their Changes first. A Change takes some 200 bytes.
const (
	MaxSteps = 256
	MaxKept  = 20_000
)

// Log is the last Steps, and what was lost. It is owned by one goroutine.
type Log struct {
	*Past
	steps []Step // by generation
	kept  int    // Changes in them
}

// NewLog is empty.
func NewLog() *Log { return &Log{Past: NewPast()} }

// Begin starts with a view that follows none.
func (l *Log) Begin(first *view.View, at time.Time) {
	l.Settle(first.Topo)
	if n := len(l.steps); n > 0 && l.steps[n-1].Last >= first.Gen { // of another manager, which counts anew
		l.steps, l.kept = nil, 0
	}
	l.append(Step{Gen: first.Gen, Last: first.Gen, At: at})
}

// Add adds a Step. One without changes only moves the generation on.
func (l *Log) Add(s *Step, losses *Losses, at time.Time) {
	l.Take(losses, at)
	if n := len(l.steps); n > 0 && s.Total() == 0 {
		l.steps[n-1].Last = s.Last
		return
	}
	s.At = at
	l.append(*s)
}

func (l *Log) append(s Step) {
	if len(l.steps) == MaxSteps {
		l.kept -= len(l.steps[0].Changes)
		l.steps = slices.Delete(l.steps, 0, 1)
	}
	l.steps = append(l.steps, s)
	l.kept += len(s.Changes)
	for i := 0; l.kept > MaxKept; i++ {
		l.kept -= len(l.steps[i].Changes)
		l.steps[i].Changes = nil
	}
}

// Steps are those that are kept, the oldest first. Their Changes must not be written.
func (l *Log) Steps() []Step { return slices.Clone(l.steps) }

// Errors of Between.
var (
	ErrUnknown = errors.New("no such generation")
	ErrGap     = errors.New("this manager was not master in between")
)

// Between are the Steps that lead from one generation to a later one, and the changes that
// remain when all of them are taken together: what came and went again is none.
func (l *Log) Between(from, to uint64) (steps []Step, changes []Change, err error) {
	if len(l.steps) == 0 {
		return nil, nil, fmt.Errorf("%w: there is none yet", ErrUnknown)
	}
	oldest := cmp.Or(l.steps[0].From, l.steps[0].Gen)
	if newest := l.steps[len(l.steps)-1].Last; from < oldest || to > newest || from > to {
		return nil, nil, fmt.Errorf("%w: generations %d to %d are stored", ErrUnknown, oldest, newest)
	}
	for _, s := range l.steps {
		if s.Gen <= from || s.Gen > to {
			continue
		}
		if s.From == 0 {
			return nil, nil, fmt.Errorf(
				"%w: changes before generation %d are not stored, because this manager became master then", ErrGap,
				s.Gen)
		}
		steps = append(steps, s)
	}
	return steps, condense(steps), nil
}

// condense takes the changes of Steps together.
func condense(steps []Step) (all []Change) {
	type subject struct {
		kind Kind
		End
		name string
	}
	at := map[subject]int{}
	for _, s := range steps {
		for _, c := range s.Changes {
			about := subject{c.Kind, End{c.Node, c.Port}, ""}
			if c.Node == 0 {
				about.name = c.Name
			}
			i, known := at[about]
			if !known {
				at[about] = len(all)
				all = append(all, c)
				continue
			}
			all[i].To, all[i].ToPeer, all[i].Name = c.To, c.ToPeer, c.Name
			all[i].Count += c.Count
		}
	}
	all = slices.DeleteFunc(all, func(c Change) bool { return c.Kind != Routes && c.From == c.To })
	slices.SortStableFunc(all, func(a, b Change) int { return int(a.Kind) - int(b.Kind) })
	return all
}
