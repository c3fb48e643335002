package ctl

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"
)

// CounterSource is the performance manager. All methods are safe for concurrent use.
type CounterSource interface {
	// CounterStatus is where the performance manager stands.
	CounterStatus(ctx context.Context) (*CounterStatus, error)
	// Counters are those of a port or of all ports of a node, given as for Diagnose; "" for all. Brief rows
	// have no PortCounters.Counters.
	Counters(ctx context.Context, port string, brief bool) (iter.Seq[*PortCounters], error)
	// TopCounters are the ports that have most of something, at most so many.
	TopCounters(ctx context.Context, by Top, most int) (*TopPorts, error)
	// Congestions are what ports wait for.
	Congestions(ctx context.Context) (*Congestions, error)
	// SickLinks are the links that the rules find sick.
	SickLinks(ctx context.Context) (*SickLinks, error)
	// IsolateLink has routes avoid the link of a port, given as for Diagnose, for a time, or for good if that is 0.
	IsolateLink(ctx context.Context, port string, last time.Duration) (*IsolatedLink, error)
	// HealLink has the link of a port return that was repaired, and forgets what was found of it.
	HealLink(ctx context.Context, port string) (*IsolatedLink, error)
	// ClearCounters counts from zero, for a port or all of them.
	ClearCounters(ctx context.Context, port string) (*ClearedCounters, error)
}

// Top is what ports are ranked by.
type Top string

// Ranks.
const (
	TopErrors     Top = "errors"     // of the last hour
	TopTraffic    Top = "traffic"    // share of what the link can carry, since the reading before
	TopCongestion Top = "congestion" // share of the time in which data waited for credits
)

// Tops are all ranks.
func Tops() []Top { return []Top{TopErrors, TopTraffic, TopCongestion} }

// CounterStatus is where the performance manager stands.
type CounterStatus struct {
	Enabled     bool    `json:"enabled"`
	Interval    float64 `json:"interval"` // seconds between sweeps
	Sweeping    bool    `json:"sweeping"`
	Age         float64 `json:"age"`  // seconds since the last sweep has ended; -1 if none has
	Took        float64 `json:"took"` // seconds
	Ports       int     `json:"ports"`
	Answered    int     `json:"answered"` // in the last sweep
	Outstanding int     `json:"outstanding"`
	Images      int     `json:"images"` // that are kept
	Bytes       int     `json:"bytes"`  // that they take
	Absent      int     `json:"absent"` // ports of nodes that have gone, whose totals are kept
	Sweeps      uint64  `json:"sweeps"`
	Late        uint64  `json:"late"`       // sweeps that began late
	Asked       uint64  `json:"asked"`      // requests
	Unanswered  uint64  `json:"unanswered"` // of them
	Resets      uint64  `json:"resets"`     // of them
	Findings    uint64  `json:"findings"`   // readings that were not as they should be
}

// PortCounters are the counters of a port.
type PortCounters struct {
	PortOf
	Read     time.Time `json:"read"`    // zero if the port was not read yet
	Age      float64   `json:"age"`     // seconds since then
	Span     float64   `json:"span"`    // seconds from the reading before to that one, 0 if there was none
	Since    time.Time `json:"since"`   // when totals began
	Reading  string    `json:"reading"` // what is special about the last reading, or "sound"
	Answered bool      `json:"answered"`
	// Complete says that the last reading was whole, and that nothing is Incomplete.
	Complete bool `json:"complete"`
	// Incomplete are counters of which more may have been counted than Total says, or that the device
	// lacks or did not show in the last reading.
	Incomplete []string `json:"incomplete,omitempty"`
	// Utilization and Waiting are shares of what the link can carry, and of the time, in the last
	// Span: the greater one of both directions, and PortXmitWait in units of four octets. -1 if
	// that is not known.
	Utilization float64   `json:"utilization"`
	Waiting     float64   `json:"waiting"`
	Sent        float64   `json:"sent"` // bytes a second in Span; -1 if that is not known, as Received
	Received    float64   `json:"received"`
	Errors      uint64    `json:"errors"` // of all error counters together, since Since
	Counters    []Counter `json:"counters,omitempty"`
}

// Counter is one counter of a port.
type Counter struct {
	Name    string `json:"name"`               // in the architecture
	Value   uint64 `json:"value"`              // that the device has shown
	Total   uint64 `json:"total"`              // what it showed first, and has counted since
	AtLeast bool   `json:"at_least,omitempty"` // more may have been counted than Total says
	Rose    uint64 `json:"rose"`               // by how much in Span
	Error   bool   `json:"error,omitempty"`    // it counts errors
}

// TopPorts are ports with the most of something.
type TopPorts struct {
	By      Top       `json:"by"`
	Seconds float64   `json:"seconds"` // that are ranked
	Age     float64   `json:"age"`     // seconds since their end
	Ports   []TopPort `json:"ports"`
	More    int       `json:"more"` // ports that have some, and are not shown
}

// TopPort is one of them.
type TopPort struct {
	PortOf
	Share   float64  `json:"share"`   // of traffic and congestion, 0 to 1
	Errors  uint64   `json:"errors"`  // all of them together
	Reasons []string `json:"reasons"` // what was counted, what that means, and what to do
}

// SickLinks are links that are beyond the limits of rules, and what is done about them.
type SickLinks struct {
	Rules []SickRule `json:"rules"`
	Since time.Time  `json:"since"` // of the first reading that is judged; zero before it
	Age   float64    `json:"age"`   // seconds since the last one; -1 before the first
	Links []SickLink `json:"links"`
	More  int        `json:"more"` // links beyond these, which are not listed
	// Excluded are the links that are out of use.
	Excluded []ExcludedLink `json:"excluded"`
}

// SickRule is a rule.
type SickRule struct {
	Name     string   `json:"name"`
	Counters []string `json:"counters"` // or the name of what is found in readings
	Limit    string   `json:"limit"`    // a number, or a share of the bits such as 1e-12/bit
	Window   float64  `json:"window"`   // seconds
	Action   string   `json:"action"`   // report, avoid or disable
}

// SickLink is a port that receives badly from the other end of its link.
type SickLink struct {
	PortOf
	Rule     string    `json:"rule"`
	Counted  uint64    `json:"counted"` // in the rule's window
	Most     uint64    `json:"most"`    // that it may count
	Since    time.Time `json:"since"`   // when it was found
	Last     time.Time `json:"last"`    // when it was beyond the limit last
	Clean    time.Time `json:"clean"`   // when it is no finding any more at the earliest
	Relapses int       `json:"relapses"`
	Action   string    `json:"action"`   // what is done: report, avoid or disable
	Would    string    `json:"would"`    // what would be done if sick_links permitted it
	Obstacle string    `json:"obstacle"` // why that is less than the rule asks for; "" if it is not
}

// ExcludedLink is a link that is out of use.
type ExcludedLink struct {
	PortOf
	Action  string    `json:"action"` // avoid or disable
	State   string    `json:"state"`  // "out of use", or "returning" while its port is enabled again
	Routes  string    `json:"routes"` // "drained", "still needed" or "absent"; "" before the first sweep
	ByHand  bool      `json:"by_hand,omitempty"`
	Since   time.Time `json:"since"`
	Returns time.Time `json:"returns"` // at the earliest; zero for not by itself
}

// IsolatedLink is the link that an order was about.
type IsolatedLink struct {
	PortOf
	Until time.Time `json:"until"` // zero for no end
}

// ClearedCounters says whose totals begin anew.
type ClearedCounters struct {
	Ports int `json:"ports"`
}

// mostTop bounds the ports of a rank.
const mostTop = 10000

func (s *Server) counterSource() error { return has(s.cfg.Counters != nil, "performance manager") }

func (s *Server) counterStatus(r *http.Request) (any, error) {
	if err := s.counterSource(); err != nil {
		return nil, err
	}
	return s.cfg.Counters.CounterStatus(r.Context())
}

func (s *Server) sickLinks(r *http.Request) (any, error) {
	if err := s.counterSource(); err != nil {
		return nil, err
	}
	return s.cfg.Counters.SickLinks(r.Context())
}

// maxIsolation is the longest time for which a link is isolated.
const maxIsolation = 10 * 365 * 24 * time.Hour

func (s *Server) isolateLink(r *http.Request) (any, error) {
	last, wrong := number(r, "seconds", 32)
	if err := cmp.Or(wrong, s.counterSource()); err != nil {
		return nil, err
	}
	port := r.URL.Query().Get("port")
	done, err := s.cfg.Counters.IsolateLink(r.Context(), port, min(time.Duration(last)*time.Second, maxIsolation))
	if err == nil {
		s.cfg.Logger.Info("link isolated over the control socket", "port", port)
	}
	return done, err
}

func (s *Server) healLink(r *http.Request) (any, error) {
	if err := s.counterSource(); err != nil {
		return nil, err
	}
	port := r.URL.Query().Get("port")
	done, err := s.cfg.Counters.HealLink(r.Context(), port)
	if err == nil {
		s.cfg.Logger.Info("link healed over the control socket", "port", port)
	}
	return done, err
}

func (s *Server) counters(w http.ResponseWriter, r *http.Request) error {
	brief, wrong := flag(r, "brief")
	if err := cmp.Or(wrong, s.counterSource()); err != nil {
		return err
	}
	rows, err := s.cfg.Counters.Counters(r.Context(), r.URL.Query().Get("port"), brief)
	if err != nil {
		return err
	}
	sendList(w, "ports", nil, rows)
	return nil
}

func (s *Server) topCounters(r *http.Request) (any, error) {
	most, wrong := number(r, "most", 32)
	by := Top(r.URL.Query().Get("by"))
	if err := cmp.Or(wrong, s.counterSource()); err != nil {
		return nil, err
	}
	if !slices.Contains(Tops(), by) {
		return nil, fmt.Errorf("%w: parameter by=%q: expected errors, traffic or congestion", ErrBadRequest, by)
	}
	if most == 0 {
		most = 20
	}
	return s.cfg.Counters.TopCounters(r.Context(), by, int(min(most, mostTop)))
}

func (s *Server) clearCounters(r *http.Request) (any, error) {
	if err := s.counterSource(); err != nil {
		return nil, err
	}
	port := r.URL.Query().Get("port")
	done, err := s.cfg.Counters.ClearCounters(r.Context(), port)
	if err == nil {
		s.cfg.Logger.Info("counters cleared over the control socket", "port", cmp.Or(port, "all"), "ports", done.Ports)
	}
	return done, err
}
