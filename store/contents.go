package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"ibsm/mad"
	"ibsm/registry"
)

// LID is what an end port was given.
type LID struct {
	Port mad.GUID
	Base mad.LID
	LMC  uint8
	// Absent is when the port was missed first, in seconds since 1970; 0 while it is
	// there. What is written at each change is thus nothing in a quiet subnet.
	Absent int64
}

// Term is a mastership term: a time in which the manager was master, or was not.
type Term struct {
	Number uint64 // raised with each
	Master bool
	Began  int64 // seconds since 1970
}

// maxTerms is how many terms are stored; older ones are forgotten.
const maxTerms = 64

// Contents is what Open found.
type Contents struct {
	Prefix   mad.Prefix // that the subnet had; 0 for a new store
	LIDs     []LID      // in order of GUID
	Registry *registry.Registry
	Terms    []Term // the last ones, oldest first

	// The last good configuration and partitions; nil if none were kept.
	Configuration []byte
	Partitions    []byte
	// Keys says which M_Keys ports have, without any secret; nil if that was never kept.
	Keys []byte
	// Routes says which engine computed the routes in force where nobody chose one; nil if that was never kept.
	Routes []byte
	// Links says which links are sick, and which are out of use for it; nil if that was never kept.
	Links []byte

	// Damage says what was wrong with the file that was there, and SetAside where it
	// is now. Then everything else is empty.
	Damage   error
	SetAside string // "" while it could not be moved

	// Interrupted is when the process that had the store before was last alive, if it
	// did not close it; else the zero time.
	Interrupted time.Time

	found         bool // there was a file with contents
	snapshot, log int  // bytes of the registry in the file
	schema        uint64
}

// NewContents is what a new store holds.
func NewContents() *Contents { return &Contents{Registry: registry.New()} }

// Batch is what one call of Put adds. Batches are written whole or not at all.
type Batch struct {
	Prefix mad.Prefix // of the subnet; 0 to leave it
	LIDs   []LID      // new or changed; with a Base
	Forget []mad.GUID

	// Registry is the State after Changes. Without Changes, or when they do not lead
	// from the State before to this one, it replaces the registry.
	Changes  []registry.Change
	Registry *registry.State

	Term          *Term
	Configuration []byte // nil to leave it
	Partitions    []byte // nil to leave it
	Keys          []byte // nil to leave it
	Routes        []byte // nil to leave it
	Links         []byte // nil to leave it
}

// held is everything that belongs in the file.
type held struct {
	prefix   mad.Prefix
	lids     map[mad.GUID]LID
	registry *registry.State
	terms    []Term
	texts    map[string][]byte
}

// Names of texts.
const (
	textConfiguration = "configuration"
	textPartitions    = "partitions"
	textKeys          = "keys"
	textRoutes        = "routes"
	textLinks         = "links"
)

func (c *Contents) hold() held {
	h := held{prefix: c.Prefix, lids: make(map[mad.GUID]LID, len(c.LIDs)), registry: c.Registry.Freeze(),
		terms: c.Terms, texts: map[string][]byte{}}
	for _, l := range c.LIDs {
		h.lids[l.Port] = l
	}
	for name, text := range map[string][]byte{textConfiguration: c.Configuration, textPartitions: c.Partitions,
		textKeys: c.Keys, textRoutes: c.Routes, textLinks: c.Links} {
		if text != nil {
			h.texts[name] = text
		}
	}
	return h
}

// contents is the inverse of hold.
func (h *held) contents() *Contents {
	c := &Contents{
		Prefix: h.prefix,
		LIDs: slices.SortedFunc(maps.Values(h.lids), func(a, b LID) int {
			return cmp.Compare(a.Port, b.Port)
		}),
		Terms:         slices.Clone(h.terms),
		Configuration: slices.Clone(h.texts[textConfiguration]),
		Partitions:    slices.Clone(h.texts[textPartitions]),
		Keys:          slices.Clone(h.texts[textKeys]),
		Routes:        slices.Clone(h.texts[textRoutes]),
		Links:         slices.Clone(h.texts[textLinks]),
	}
	every := func(yield func(registry.Change, error) bool) {
		for change := range h.registry.Changes() {
			if !yield(change, nil) {
				return
			}
		}
	}
	var err error
	if c.Registry, err = registry.Restore(h.registry.Seq(), every); err != nil {
		panic(fmt.Sprintf("store: a State does not make the Registry that it was made of: %v", err))
	}
	return c
}

// Add makes of c what a Store has after each batch was Put, without a file. It costs as
// much as all that c holds, however many batches there are.
func (c *Contents) Add(batches ...Batch) {
	h, d := c.hold(), newDelta()
	for i := range batches {
		h.add(&batches[i], &d)
	}
	interrupted := c.Interrupted
	*c = *h.contents()
	c.Interrupted = interrupted
}

// clone shares nothing that changes.
func (h *held) clone() held {
	return held{h.prefix, maps.Clone(h.lids), h.registry, h.terms, maps.Clone(h.texts)}
}

// delta is what was put and not written yet.
type delta struct {
	prefix  mad.Prefix       // 0 if it did not change
	lids    map[mad.GUID]LID // Base is 0 in those that are forgotten
	texts   map[string][]byte
	terms   []Term // all, nil if there is no new one
	changes []byte // encoded
	first   uint64 // number of the first of changes
	whole   bool   // the registry was replaced
	done    []func(error)
	total   totals // when this is written
}

// totals is how much the file holds.
type totals struct{ lids, terms, texts, last uint64 }

func (h *held) totals() totals {
	return totals{uint64(len(h.lids)), uint64(len(h.terms)), uint64(len(h.texts)), h.registry.Seq()}
}

func newDelta() delta { return delta{lids: map[mad.GUID]LID{}, texts: map[string][]byte{}} }

func (d *delta) empty() bool {
	return d.prefix == 0 && len(d.lids) == 0 && len(d.texts) == 0 && d.terms == nil && len(d.changes) == 0 && !d.whole
}

// all is the delta that makes everything but the registry of nothing.
func (h *held) all() delta {
	return delta{prefix: h.prefix, lids: h.lids, texts: h.texts, terms: h.terms, total: h.totals()}
}

// add takes a Batch in.
func (h *held) add(b *Batch, d *delta) {
	if b.Prefix != 0 && b.Prefix != h.prefix {
		h.prefix, d.prefix = b.Prefix, b.Prefix
	}
	for _, l := range b.LIDs {
		if h.lids[l.Port] != l {
			h.lids[l.Port], d.lids[l.Port] = l, l
		}
	}
	for _, port := range b.Forget {
		if _, had := h.lids[port]; had {
			delete(h.lids, port)
			d.lids[port] = LID{Port: port}
		}
	}
	if b.Registry != nil {
		if n := uint64(len(b.Changes)); n == 0 || b.Registry.Seq() != h.registry.Seq()+n {
			d.whole = true
		}
		if len(d.changes) == 0 {
			d.first = h.registry.Seq() + 1
		}
		for _, c := range b.Changes {
			d.changes = c.AppendTo(d.changes)
		}
		h.registry = b.Registry
	}
	if b.Term != nil {
		h.terms = append(slices.Clone(h.terms), *b.Term)
		h.terms = h.terms[max(0, len(h.terms)-maxTerms):]
		d.terms = h.terms
	}
	for name, text := range map[string][]byte{textConfiguration: b.Configuration, textPartitions: b.Partitions,
		textKeys: b.Keys, textRoutes: b.Routes, textLinks: b.Links} {
		if text != nil {
			text = append([]byte{}, text...)
			h.texts[name], d.texts[name] = text, text
		}
	}
}
