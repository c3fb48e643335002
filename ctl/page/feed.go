package page

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/ctl"
	"ibsm/priority"
	"ibsm/rights"
)

// Change is what has changed since a version.
type Change struct {
	Version    string    `json:"version"` // to go on from
	Time       time.Time `json:"time"`    // when the manager's state was read
	State      string    `json:"state"`   // of the manager: MASTER, STANDBY, ...; "" without a port
	Generation uint64    `json:"generation"`
	Layout     string    `json:"layout"` // of the map; another one than the client has: it must be read again
	// Reset is set if the version that was named is none of this process: everything must be read again.
	Reset bool `json:"reset,omitempty"`
	// Switches and Trunks are MapSwitch.States and MapTrunk.States that have changed, by index.
	Switches map[int]string `json:"switches,omitempty"`
	Trunks   map[int]string `json:"trunks,omitempty"`
	Problems uint64         `json:"problems"` // the number of the list of problems, which increases with its changes
	Counts   map[string]int `json:"counts"`   // problems by whom they hurt
}

// Times between readings of the manager's state while pages are open.
const (
	leastGap   = 200 * time.Millisecond
	gapOfCost  = 10 // a reading takes at most one part in so many of a processor
	problemAge = 5 * time.Second
)

// versioned is a text with the version of its last change.
type versioned struct {
	text    string
	version uint64
}

// feed knows what pages show, and since which version. There is no list of changes: a reader that is behind gets what
// has changed since, however often it did.
type feed struct {
	source     ctl.Source
	counters   ctl.CounterSource
	partitions ctl.PartitionSource

	turn          chan struct{} // has a token while a goroutine uses the following
	epoch         string        // of this process
	version       uint64
	read          time.Time // the last reading
	cost          time.Duration
	state         string
	chart         *chart // nil while the subnet is not known
	text          []byte // the map as it is sent, which all pages share; nil until one asks for it
	switches      []versioned
	trunks        []versioned
	problems      []Problem
	kinds         []ProblemKind
	found         time.Time // when problems were found
	counted       bool      // counters are read
	listed        uint64    // version of problems
	numbered      []Problem // of which, with numberedKinds, listed is the version
	numberedKinds []ProblemKind
}

func newFeed(source ctl.Source, counters ctl.CounterSource, partitions ctl.PartitionSource) *feed {
	id := make([]byte, 6)
	rand.Read(id)
	return &feed{source: source, counters: counters, partitions: partitions, epoch: hex.EncodeToString(id),
		turn: make(chan struct{}, 1)}
}

// refresh reads the manager's state, unless it was read within least, or reading takes too much. The caller has the
// turn.
func (f *feed) refresh(least time.Duration) error {
	began := time.Now()
	if began.Sub(f.read) < max(least, gapOfCost*f.cost) {
		return nil
	}
	status, sub := f.source.Status(), f.source.Subnet()
	known := sub != nil && f.chart != nil && f.chart.Generation == sub.Generation() || sub == nil && f.chart == nil
	if known && status.State == f.state && began.Sub(f.found) < problemAge {
		f.read, f.cost = time.Now(), time.Since(began)
		return nil
	}
	var err error
	done := make(chan struct{})
	go priority.Compute(func() { // hosts are answered first
		defer close(done)
		defer func() { // as net/http does for a request: a page does not end the manager
			if p := recover(); p != nil {
				err = fmt.Errorf("the map cannot be made: %v", p)
			}
		}()
		err = f.reread(status, sub)
	})
	<-done
	f.read, f.cost = time.Now(), time.Since(began)
	return err
}

// reread makes the map and the list of problems again.
func (f *feed) reread(status *ctl.Status, sub ctl.Subnet) error {
	changed := status.State != f.state
	f.state = status.State
	next := f.chart
	if sub == nil {
		next = nil
	} else if f.chart == nil || f.chart.Generation != sub.Generation() {
		var err error
		if next, err = chartOf(sub, f.chart); err != nil {
			return err
		}
	}
	f.judge(status, sub, next)
	f.take(next, changed)
	return nil
}

// take compares a map and problems with those before, and numbers what has changed.
func (f *feed) take(next *chart, changed bool) {
	version := f.version + 1
	update := func(old *[]versioned, n int, text func(int) string, same bool) {
		all := *old
		if !same {
			all = make([]versioned, n)
		}
		for i := range n {
			if t := text(i); all[i].text != t {
				all[i] = versioned{t, version}
				changed = true
			}
		}
		*old = all
	}
	switch {
	case next == nil:
		changed = changed || f.chart != nil
		f.switches, f.trunks = nil, nil
	default:
		same := f.chart != nil && f.chart.Layout == next.Layout
		changed = changed || f.chart == nil || f.chart.Generation != next.Generation
		update(&f.switches, len(next.Switches), func(i int) string { return next.Switches[i].States }, same)
		update(&f.trunks, len(next.Trunks), func(i int) string { return next.Trunks[i].States }, same)
	}
	if !slices.Equal(f.numbered, f.problems) || !slices.Equal(f.numberedKinds, f.kinds) {
		f.numbered, f.numberedKinds, f.listed, changed = f.problems, f.kinds, version, true
	}
	f.chart = next
	if changed {
		f.version, f.text = version, nil
	}
}

// reader is a user that may read everything.
var reader = &rights.User{Name: "page", Role: rights.Reader}

// judge finds problems. Those that cannot be asked for now are left out: counters that are not read, and partitions of
// a manager that has none.
func (f *feed) judge(status *ctl.Status, sub ctl.Subnet, c *chart) {
	in := &facts{status: status, chart: c}
	if sub != nil {
		if rows, err := sub.Diagnose("", ""); err == nil {
			for d := range rows {
				in.diagnoses = append(in.diagnoses, d)
			}
		}
		in.cabling, in.security = sub.Cabling(), sub.Security()
		if f.counters != nil {
			// What they compute serves all readers: none of them ends it.
			in.sick, _ = f.counters.SickLinks(context.Background())
			in.congestion, _ = f.counters.Congestions(context.Background())
		}
		in.partitions = f.partitionsOf(reader)
	}
	f.problems, f.kinds = problemsOf(in)
	f.found = time.Now()
	f.counted = in.sick != nil && in.sick.Age >= 0
}

// partitionsOf are the partitions that a user may see, without members.
func (f *feed) partitionsOf(u *rights.User) (all []*ctl.Partition) {
	if f.partitions == nil {
		return nil
	}
	rows, err := f.partitions.Partitions(&ctl.PartitionQuery{By: u})
	if err != nil {
		return nil
	}
	for p := range rows {
		one := *p
		all = append(all, &one)
	}
	return all
}

// at is the present version, to go on from.
func (f *feed) at() string { return f.epoch + "-" + strconv.FormatUint(f.version, 10) }

// since is what has changed since a version, nil for nothing; "" is the present one, of which there is always a reply.
func (f *feed) since(version string) (*Change, error) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	if err := f.refresh(leastGap); err != nil {
		return nil, err
	}
	c := &Change{Version: f.at(), Time: f.read.UTC(), State: f.state, Problems: f.listed, Counts: map[string]int{}}
	for i := range f.kinds {
		c.Counts[f.kinds[i].Hurts.String()] += f.kinds[i].Count
	}
	if f.chart != nil {
		c.Layout, c.Generation = f.chart.Layout, f.chart.Generation
	}
	if version == "" {
		return c, nil
	}
	epoch, number, _ := strings.Cut(version, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if epoch != f.epoch || err != nil || n > f.version {
		c.Reset = true
		return c, nil
	}
	if n == f.version {
		return nil, nil
	}
	pick := func(all []versioned) (texts map[int]string) {
		for i := range all {
			if all[i].version > n {
				if texts == nil {
					texts = map[int]string{}
				}
				texts[i] = all[i].text
			}
		}
		return texts
	}
	c.Switches, c.Trunks = pick(f.switches), pick(f.trunks)
	return c, nil
}

// mapText is the map as it is sent.
func (f *feed) mapText() ([]byte, error) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	c, err := f.mapNow()
	if err != nil {
		return nil, err
	}
	if f.text == nil {
		f.text, err = json.Marshal(&c.Map)
	}
	return f.text, err
}

// mapOf is the chart in force, with its version.
func (f *feed) mapOf() (*chart, error) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	return f.mapNow()
}

// mapNow is mapOf for who has the turn.
func (f *feed) mapNow() (*chart, error) {
	if err := f.refresh(leastGap); err != nil {
		return nil, err
	}
	if f.chart == nil {
		return nil, errUnknown
	}
	c := *f.chart
	c.Version = f.at()
	return &c, nil
}

// Problems are the problems of a subnet.
type Problems struct {
	Time  time.Time `json:"time"` // when they were looked for
	State string    `json:"state"`
	// Problems are the first of each kind, Kinds how many there are.
	Problems []Problem     `json:"problems"`
	Kinds    []ProblemKind `json:"kinds"`
	// Sweep is when the last heavy sweep of this master has ended, Known whether it knows the subnet at all.
	Sweep time.Time `json:"sweep,omitzero"`
	Known bool      `json:"known"`
	// Counters says whether counters are read, without which neither sick links nor congestion are found.
	Counters bool `json:"counters"`
}

// list are the problems now.
func (f *feed) list() (*Problems, error) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	if err := f.refresh(leastGap); err != nil {
		return nil, err
	}
	p := &Problems{Time: f.found.UTC(), State: f.state, Problems: f.problems, Kinds: f.kinds,
		Known: f.chart != nil, Counters: f.counted}
	if st := f.source.Status(); st.Sweep != nil {
		p.Sweep = st.Sweep.Ended.UTC()
	}
	return p, nil
}
