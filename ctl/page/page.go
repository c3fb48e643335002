// Package page is the page that a browser shows of a subnet: what is wrong, tables, and a map. It has the page's files,
// and the requests that the page makes beside those of the control protocol. What the requests answer is computed here
// from the values of the control protocol alone.
package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"ibsm/ctl"
	"ibsm/rights"
)

// Config of a Page.
type Config struct {
	Source     ctl.Source
	Counters   ctl.CounterSource   // nil: no performance manager
	Partitions ctl.PartitionSource // nil: no partitions
}

// Page answers the requests of pages. It is safe for concurrent use.
type Page struct {
	cfg     Config
	feed    *feed
	lists   chan struct{} // has a token for each list that is searched
	streams atomic.Int64  // that are open
}

// Limits of requests.
const (
	maxStreams = 24 // streams of changes at a time: each holds a connection
	maxLists   = 2  // lists that are searched at a time
)

// New returns a Page.
func New(cfg Config) *Page {
	return &Page{cfg: cfg, feed: newFeed(cfg.Source, cfg.Counters, cfg.Partitions),
		lists: make(chan struct{}, maxLists)}
}

//go:embed web
var web embed.FS

// policy is the Content-Security-Policy of the page: nothing from elsewhere, no script and no style in a text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const (
	jsonType = "application/json"
	csvType  = "text/csv; charset=utf-8"
)

// Routes are the requests of the page.
func (p *Page) Routes() []ctl.Route {
	value := func(of any) ctl.Content { return ctl.Content{Type: jsonType, Of: of} }
	return []ctl.Route{
		{Method: "GET", Path: "/{$}", Right: rights.ReadOwn, Does: "returns the page for browsers", Lenient: true,
			Reply: ctl.Content{Type: "text/html; charset=utf-8"}, Handle: p.root},
		{Method: "GET", Path: "/page/{file...}", Right: rights.ReadOwn, Does: "returns a file of the page",
			Reply: ctl.Content{Type: "text/javascript; charset=utf-8"}, Handle: p.file},
		{Method: "GET", Path: "/v1/problems", Right: rights.Read, Does: "lists what is wrong, by whom it hurts",
			Reply: value(Problems{}), Handle: answer(p.problems)},
		{Method: "GET", Path: "/v1/map", Right: rights.Read, Does: "returns the map of the subnet",
			Reply: value(Map{}), Handle: func(w http.ResponseWriter, _ *http.Request) error {
				text, err := p.feed.mapText()
				if err == nil {
					send(w, jsonType, text)
				}
				return err
			}},
		{Method: "GET", Path: "/v1/map/{layer}", Right: rights.Read,
			Does:   "returns what the map shows of links beside their states: load, errors, or members of a partition",
			Params: []ctl.Param{{Name: "partition", Text: "its name, for the layer partition"}},
			Reply:  value(Layer{}), Handle: answer(p.layer)},
		{Method: "GET", Path: "/v1/find", Right: rights.Read, Does: "finds nodes, ports, partitions and multicast groups",
			Params: []ctl.Param{{Name: "text", Text: "a part of a name, GUID or MGID, or a LID, GID or P_Key", Required: true}},
			Reply:  ctl.Content{Type: jsonType, Of: Found{}, List: "found"}, Handle: answer(p.find)},
		{Method: "GET", Path: "/v1/table/{list}", Right: rights.Read, Does: "returns a part of a list as texts",
			Params: []ctl.Param{{Name: "filter", Text: "words that a row must have; COLUMN:TEXT for one column"},
				{Name: "sort", Text: "a column, with - before it for the greatest first"},
				{Name: "offset", Text: "rows to pass over"}, {Name: "count", Text: "how many rows, 50 without it, at most 1000"},
				{Name: "format", Text: "csv: all rows that match, for spreadsheets"}},
			Reply: ctl.Content{Type: jsonType, Of: Table{}, Or: &ctl.Content{Type: csvType}}, Handle: p.table},
		{Method: "GET", Path: "/v1/changes", Right: rights.Read,
			Does:   "returns changes of the map and of problems as they happen, as server-sent events",
			Params: []ctl.Param{{Name: "since", Text: "a version of the map, or that of the last change that was read"}},
			Reply:  ctl.Content{Type: "text/event-stream"}, Handle: p.changes},
	}
}

// errUnknown is that of a manager that does not know the subnet.
var errUnknown = fmt.Errorf("%w: the subnet is not known: only a master that has completed a sweep knows it",
	ctl.ErrNotNow)

// mostListed bounds the problems of a kind in a reply.
const mostListed = 200

// problems answers with the first problems of each kind.
func (p *Page) problems(*http.Request) (any, error) {
	list, err := p.feed.list()
	if err != nil {
		return nil, err
	}
	seen := map[kindOf]int{}
	list.Problems = slices.DeleteFunc(slices.Clone(list.Problems), func(is Problem) bool {
		kind := kindOf{is.Hurts, is.Kind}
		seen[kind]++
		return seen[kind] > mostListed
	})
	return list, nil
}

// answer is a handler that replies with a value.
func answer(of func(*http.Request) (any, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := of(r)
		if err != nil {
			return err
		}
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		send(w, jsonType, append(text, '\n'))
		return nil
	}
}

// send writes a reply, piece by piece, so that each has its time to be taken.
func send(w http.ResponseWriter, media string, text []byte) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	for piece := range slices.Chunk(text, ctl.Piece) {
		if _, err := w.Write(piece); err != nil {
			panic(http.ErrAbortHandler) // so that the client detects the incomplete reply
		}
	}
}

// media are the types of the page's files.
var media = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}

func (p *Page) root(w http.ResponseWriter, _ *http.Request) error { return sendFile(w, "index.html") }

func (p *Page) file(w http.ResponseWriter, r *http.Request) error {
	return sendFile(w, r.PathValue("file"))
}

func sendFile(w http.ResponseWriter, name string) error {
	text, err := fs.ReadFile(web, path.Join("web", path.Clean("/"+name)))
	kind := media[path.Ext(name)]
	if err != nil || kind == "" {
		return fmt.Errorf("%w: the page has no file %.80q", ctl.ErrNotFound, name)
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	send(w, kind, text)
	return nil
}

// found is the reply of find.
type found struct {
	Found []Found `json:"found"`
}

func (p *Page) find(r *http.Request) (any, error) {
	text := r.URL.Query().Get("text")
	if len(text) > maxText {
		return nil, fmt.Errorf("%w: parameter text has more than %d bytes", ctl.ErrBadRequest, maxText)
	}
	leave, err := p.enter(r)
	if err != nil {
		return nil, err
	}
	defer leave()
	all, err := find(p.cfg.Source.Subnet(), p.feed.partitionsOf(rights.Of(r.Context())), text)
	if c, unknown := p.feed.mapOf(); err == nil && unknown == nil {
		c.addLinks(all)
	}
	return &found{all}, err
}

// maxText bounds what is searched for, in bytes.
const maxText = 256

// enter waits for a turn to search a list.
func (p *Page) enter(r *http.Request) (leave func(), err error) {
	select {
	case p.lists <- struct{}{}:
		return func() { <-p.lists }, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// stillThere is how long a stream may be without a byte.
const stillThere = 10 * time.Second

// changes streams changes until the client leaves, or does not read.
func (p *Page) changes(w http.ResponseWriter, r *http.Request) error {
	defer p.streams.Add(-1)
	if p.streams.Add(1) > maxStreams {
		w.Header().Set("Retry-After", "10")
		return fmt.Errorf("%w: %d pages are open already", ctl.ErrNotNow, maxStreams)
	}
	version := r.URL.Query().Get("since")
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(leastGap)
	defer tick.Stop()
	for last := (time.Time{}); ; { // a client that has missed nothing is answered at once as well
		c, err := p.feed.since(version)
		if err != nil {
			if version == r.URL.Query().Get("since") {
				return err
			}
			return nil
		}
		var text []byte
		if c != nil {
			version = c.Version
			body, err := json.Marshal(c)
			if err != nil {
				return nil
			}
			text = fmt.Appendf(nil, "id: %s\nevent: change\ndata: %s\n\n", version, body)
		} else if time.Since(last) >= stillThere {
			text = []byte(": nothing has changed\n\n")
		}
		if text != nil {
			last = time.Now()
			if _, err := w.Write(text); err != nil || control.Flush() != nil {
				return nil
			}
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-tick.C:
		}
	}
}

// number is a number in the query, or another one without it.
func number(r *http.Request, name string, without, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%w: parameter %s=%.40q: expected 0 to %d", ctl.ErrBadRequest, name, text, most)
	}
	return n, nil
}
