package sick

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ibsm/perf"
)

// Saved is what outlives a restart, and what standbys get: what was found, and what is out of use. It does
// not change. Times are in seconds since 1970.
type Saved struct {
	Found    []SavedFinding `json:"found,omitempty"`
	Relapses []Relapse      `json:"relapses,omitempty"`
	Excluded []Excluded     `json:"excluded,omitempty"`
}

// SavedFinding is a Finding, of which the clean time is not kept: it begins again.
type SavedFinding struct {
	Port     perf.Key `json:"port"`
	Peer     perf.Key `json:"peer"`
	Rule     string   `json:"rule"`
	Since    int64    `json:"since"`
	Counted  uint64   `json:"counted"`
	Most     uint64   `json:"most"`
	Relapses int      `json:"relapses"`
}

// Relapse is how often a port was clean again by a rule.
type Relapse struct {
	Port  perf.Key `json:"port"`
	Rule  string   `json:"rule"`
	Times int      `json:"times"`
}

// MaxSaved bounds each list of Saved, and the relapses that a Watch knows.
const MaxSaved = 4096

// Same reports whether as much is known: the counts of findings do not matter.
func (k *Saved) Same(o *Saved) bool {
	return slices.Equal(k.Excluded, o.Excluded) && slices.Equal(k.Relapses, o.Relapses) &&
		slices.EqualFunc(k.Found, o.Found, func(a, b SavedFinding) bool {
			return a.Port == b.Port && a.Rule == b.Rule && a.Relapses == b.Relapses
		})
}

// Encode is the text of Saved, nil for nothing.
func (k *Saved) Encode() []byte {
	if len(k.Found)+len(k.Relapses)+len(k.Excluded) == 0 {
		return nil
	}
	text, err := json.Marshal(k)
	if err != nil {
		panic(err) // it has numbers and strings only
	}
	return text
}

// Decode is the inverse of Encode. The error is for what nobody has written.
func Decode(text []byte) (*Saved, error) {
	k := &Saved{}
	if len(text) == 0 {
		return k, nil
	}
	if err := json.Unmarshal(text, k); err != nil {
		return &Saved{}, fmt.Errorf("sick links: %w", err)
	}
	if max(len(k.Found), len(k.Relapses), len(k.Excluded)) > MaxSaved {
		return &Saved{}, fmt.Errorf("sick links: more than %d", MaxSaved)
	}
	for i := range k.Excluded {
		if e := &k.Excluded[i]; e.Action == Report || e.Action > Disable || e.State > Returning {
			return &Saved{}, fmt.Errorf("sick links: %v port %d has no known action", e.Port.Node, e.Port.Port)
		}
	}
	return k, nil
}

// Without is k without what was found at the ends of a link, which returns.
func (k *Saved) Without(port, peer perf.Key) *Saved {
	is := func(p perf.Key) bool { return p == port || p == peer }
	next := &Saved{
		Found:    slices.DeleteFunc(slices.Clone(k.Found), func(f SavedFinding) bool { return is(f.Port) }),
		Relapses: slices.DeleteFunc(slices.Clone(k.Relapses), func(r Relapse) bool { return is(r.Port) }),
	}
	for _, e := range k.Excluded {
		switch {
		case !is(e.Port) && !is(e.Peer):
		case e.Action == Disable:
			e.State = Returning
		default:
			continue
		}
		next.Excluded = append(next.Excluded, e)
	}
	return next
}

// Save adds what w has found to what is excluded. at is the time of day, in seconds since 1970, of a time of w.
func (w *Watch) Save(excluded []Excluded, at func(time.Duration) int64) *Saved {
	k := &Saved{Excluded: excluded}
	for _, f := range w.Findings() {
		if len(k.Found) < MaxSaved {
			k.Found = append(k.Found, SavedFinding{f.Port, f.Peer, f.Rule.Name, at(f.Since), f.Counted, f.Most,
				f.Relapses})
		}
	}
	for at, times := range w.relapses {
		if len(k.Relapses) < MaxSaved {
			k.Relapses = append(k.Relapses, Relapse{at.port, w.rules[at.rule].Name, times})
		}
	}
	slices.SortFunc(k.Found, func(a, b SavedFinding) int {
		return cmp.Or(a.Port.Compare(b.Port), cmp.Compare(a.Rule, b.Rule))
	})
	slices.SortFunc(k.Relapses, func(a, b Relapse) int {
		return cmp.Or(a.Port.Compare(b.Port), cmp.Compare(a.Rule, b.Rule))
	})
	return k
}

// Restore has w know what was found before, or by another manager, by the rules that are still there, and nothing else:
// what it found by itself was healed there, or is found again. of is a time of w for seconds since 1970.
func (w *Watch) Restore(k *Saved, of func(int64) time.Duration) {
	place := map[string]int{}
	for i := range w.rules {
		place[w.rules[i].Name] = i
	}
	found := map[spot]bool{}
	for i := range k.Found {
		if rule, known := place[k.Found[i].Rule]; known {
			found[spot{k.Found[i].Port, rule}] = true
		}
	}
	for at := range w.found {
		if !found[at] {
			w.forget(at)
		}
	}
	clear(w.relapses)
	for i := range k.Found {
		f := &k.Found[i]
		rule, known := place[f.Rule]
		at := spot{f.Port, rule}
		if !known || w.found[at] != nil {
			continue
		}
		since := of(f.Since)
		w.found[at] = &Finding{Port: f.Port, Peer: f.Peer, Rule: &w.rules[rule], Since: since, Last: since,
			Counted: f.Counted, Most: f.Most,
			Relapses: max(f.Relapses, 0), place: rule}
	}
	for _, r := range k.Relapses {
		if rule, known := place[r.Rule]; known {
			at := spot{r.Port, rule}
			w.relapses[at] = max(w.relapses[at], r.Times)
		}
	}
}

// Heal ends what was found at ports, and what is known of their past: they were repaired.
func (w *Watch) Heal(ports ...perf.Key) {
	for i := range w.rules {
		for _, k := range ports {
			w.forget(spot{k, i})
		}
	}
}

// forget ends a finding, and forgets what else is known of the port by its rule.
func (w *Watch) forget(at spot) {
	delete(w.found, at)
	delete(w.relapses, at)
	delete(w.events, at)
	delete(w.held, at.port)
	w.unconfirmed = slices.DeleteFunc(w.unconfirmed, func(d unconfirmed) bool { return d.spot == at })
}
