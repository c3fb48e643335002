package main

import (
	"cmp"
	"slices"
	"time"

	"ibsm/ctl"
)

// page is what the lower part of the screen shows.
type page uint8

// Pages, in the order of their keys from 1 on.
const (
	pageOverview page = 0
	pageSA       page = 1
	pageClients  page = 2
	pageChanges  page = 3
	pageEvents   page = 4
	pageManagers page = 5
	numPages          = 6
)

var pageNames = [numPages]string{"overview", "SA", "clients", "changes", "events", "managers"}

// order is what lists are sorted by.
type order uint8

// Orders.
const (
	byRate    order = 0
	byTotal   order = 1
	byName    order = 2
	numOrders       = 3
)

var orderNames = [numOrders]string{"rate", "total", "name"}

// topView is the data of ibsmctl top and its presentation.
type topView struct {
	names       names
	was, now    *ctl.Activity    // was is nil before the second answer
	generations []ctl.Generation // the newest last
	events      []ctl.Event      // the newest last, topEvents of them at most
	page        page
	order       order
	paused      bool
	trouble     string // why there is no newer answer; "" for none
	takeover    string // that another manager is asked since; "" for none
}

// topEvents is how many events are held to be shown.
const topEvents = 500

// take takes an answer, the events after the last one, and the generations.
func (v *topView) take(a *ctl.Activity, generations []ctl.Generation, events []ctl.Event) {
	if v.now != nil && v.now.Status.Started.Equal(a.Status.Started) {
		v.was = v.now
	} else {
		v.was, v.events = nil, nil // another process
	}
	v.now, v.generations, v.trouble = a, generations, ""
	v.events = append(v.events, events...)
	v.events = slices.Delete(v.events, 0, max(0, len(v.events)-topEvents))
}

// since is the number of the last event that is held.
func (v *topView) since() uint64 {
	if n := len(v.events); n > 0 {
		return v.events[n-1].Seq
	}
	return 0
}

// press takes a key, and reports whether it ends the program.
func (v *topView) press(key byte) (quit bool) {
	switch key {
	case 'q', 'Q', 3, 4: // Ctrl-C, Ctrl-D
		return true
	case 'p', ' ':
		v.paused = !v.paused
	case 's':
		v.order = (v.order + 1) % numOrders
	case '\t':
		v.page = (v.page + 1) % numPages
	default:
		if n := page(key - '1'); key >= '1' && n < numPages {
			v.page = n
		}
	}
	return false
}

// seconds is the time between the two answers, 0 where there is one only.
func (v *topView) seconds() float64 {
	if v.was == nil {
		return 0
	}
	return v.now.Time.Sub(v.was.Time).Seconds()
}

// rate is by how much a count grew in a second; below 0 where that is not known.
func (v *topView) rate(count func(*ctl.Activity) uint64) float64 {
	took := v.seconds()
	if took <= 0 {
		return -1
	}
	was, now := count(v.was), count(v.now)
	if now < was { // a manager that began anew
		was = 0
	}
	return float64(now-was) / took
}

// saRow is how often subnet administration gave an answer, or none.
type saRow struct {
	attribute, answer string
	total             uint64
	rate              float64
}

// saRows are the kinds of answers in the order that was chosen.
func (v *topView) saRows() []saRow {
	var rows []saRow
	for _, r := range v.now.SA.Replies {
		rows = append(rows, saRow{r.Attribute, r.Status, r.Count, v.rate(func(a *ctl.Activity) uint64 {
			return replies(a, r.Attribute, r.Status)
		})})
	}
	for _, d := range v.now.SA.Dropped {
		rows = append(rows, saRow{"(dropped)", d.Reason, d.Count, v.rate(func(a *ctl.Activity) uint64 {
			return drops(a, d.Reason)
		})})
	}
	slices.SortStableFunc(rows, func(a, b saRow) int {
		name := cmp.Or(cmp.Compare(a.attribute, b.attribute), cmp.Compare(a.answer, b.answer))
		switch v.order {
		case byRate:
			return cmp.Or(cmp.Compare(b.rate, a.rate), cmp.Compare(b.total, a.total), name)
		case byTotal:
			return cmp.Or(cmp.Compare(b.total, a.total), name)
		}
		return name
	})
	return rows
}

// ok is the status of an answer that is no error.
const ok = "ok"

// replies counts answers of a kind; "" is any attribute.
func replies(a *ctl.Activity, attribute, status string) (n uint64) {
	for _, r := range a.SA.Replies {
		if (attribute == "" || r.Attribute == attribute) && r.Status == status {
			n += r.Count
		}
	}
	return n
}

// refusals counts answers that are errors.
func refusals(a *ctl.Activity) (n uint64) {
	for _, r := range a.SA.Replies {
		if r.Status != ok {
			n += r.Count
		}
	}
	return n
}

// drops counts requests without an answer; "" is any reason.
func drops(a *ctl.Activity, reason string) (n uint64) {
	for _, d := range a.SA.Dropped {
		if reason == "" || d.Reason == reason {
			n += d.Count
		}
	}
	return n
}

// traps counts all traps.
func traps(a *ctl.Activity) (n uint64) {
	for _, count := range a.Traps {
		n += count
	}
	return n
}

// clients are those of the SA in the order that was chosen.
func (v *topView) clients() []ctl.SAClient {
	rows := slices.Clone(v.now.Clients.Most)
	if v.order == byName {
		slices.SortStableFunc(rows, func(a, b ctl.SAClient) int {
			return cmp.Or(cmp.Compare(v.names.of(a.Node, a.Desc), v.names.of(b.Node, b.Desc)),
				cmp.Compare(a.LID, b.LID))
		})
	}
	return rows
}

// warnings are the events that are more than a notice.
func (v *topView) warnings() (all []ctl.Event) {
	for _, e := range v.events {
		if e.Level == "warn" || e.Level == "error" {
			all = append(all, e)
		}
	}
	return all
}

// ago is how long before the answer something was.
func (v *topView) ago(at time.Time) time.Duration {
	return max(v.now.Time.Sub(at).Round(time.Second), 0)
}
