package ctl

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"ibsm/conf/diag"
)

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	if err := known(r); err != nil {
		s.fail(w, err, "")
		return
	}
	s.reply(w, http.StatusOK, s.cfg.Source.Status())
}

// subnet returns the subnet, or replies with an error if there is none.
func (s *Server) subnet(w http.ResponseWriter) (sub Subnet, ok bool) {
	if sub = s.cfg.Source.Subnet(); sub == nil {
		s.fail(w, fmt.Errorf("%w: the subnet is not known", ErrNotNow), "only a master that has completed a sweep knows the subnet; see ibsmctl status")
		return nil, false
	}
	return sub, true
}

func (s *Server) saStats(w http.ResponseWriter, r *http.Request) {
	if err := known(r); err != nil {
		s.fail(w, err, "")
		return
	}
	s.reply(w, http.StatusOK, s.cfg.Source.SAStats())
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, l List, filter []string) {
	if err := known(r, filter...); err != nil {
		s.fail(w, err, "")
		return
	}
	sub, ok := s.subnet(w)
	if !ok {
		return
	}
	query := r.URL.Query()
	routes, err := flag(r, "routes")
	var rows iter.Seq[any]
	if err == nil {
		rows, err = sub.Rows(l, Filter{Type: query.Get("type"), Node: query.Get("node"), State: query.Get("state"), Group: query.Get("group"), Routes: routes})
	}
	if err != nil {
		s.fail(w, err, "")
		return
	}
	sendList(w, string(l), fmt.Sprintf(`"generation":%d`, sub.Generation()), rows)
}

func (s *Server) path(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if err := known(r, "from", "to"); err != nil || query.Get("from") == "" || query.Get("to") == "" {
		if err == nil {
			err = fmt.Errorf("%w: parameters from and to are required", ErrBadRequest)
		}
		s.fail(w, err, "each is a LID, GUID, GID or NodeDescription")
		return
	}
	sub, ok := s.subnet(w)
	if !ok {
		return
	}
	path, err := sub.Path(query.Get("from"), query.Get("to"))
	if err != nil {
		s.fail(w, err, "")
		return
	}
	s.reply(w, http.StatusOK, path)
}

func (s *Server) dump(w http.ResponseWriter, r *http.Request) {
	kind := r.PathValue("kind")
	if err := known(r); err != nil {
		s.fail(w, err, "")
		return
	}
	sub, ok := s.subnet(w)
	if !ok {
		return
	}
	if kinds := sub.Dumps(); !slices.Contains(kinds, kind) {
		s.fail(w, fmt.Errorf("%w: no dump %q", ErrNotFound, kind), "dumps are "+strings.Join(kinds, ", "))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out := newBuffer(w)
	err := sub.Dump(r.Context(), out, kind)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		panic(http.ErrAbortHandler) // so that the client detects the incomplete reply
	}
}

func (s *Server) sweep(w http.ResponseWriter, r *http.Request) {
	o, err := Order(r.URL.Query().Get("kind")), known(r, "kind")
	switch o {
	case "":
		o = HeavySweep
	case LightSweep, HeavySweep:
	default:
		err = fmt.Errorf("%w: parameter kind=%q: expected light or heavy", ErrBadRequest, o)
	}
	s.order(w, r, o, err)
}

func (s *Server) reroute(w http.ResponseWriter, r *http.Request) {
	s.order(w, r, Reroute, known(r))
}

// Accepted is the reply to a request for a sweep. Its effects are events after Events.
type Accepted struct {
	Order  Order  `json:"order"`
	Events uint64 `json:"events"`
}

// order passes a request for a sweep on, unless err is set.
func (s *Server) order(w http.ResponseWriter, r *http.Request, o Order, err error) {
	if err != nil {
		s.fail(w, err, "")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Patience)
	defer cancel()
	done := &Accepted{o, s.cfg.Events.Last()}
	// Logged first: the sweep may be over before Order returns.
	s.cfg.Logger.Info("sweep requested over the control socket", "kind", string(o))
	if err := s.cfg.Source.Order(ctx, o); err != nil {
		s.fail(w, err, "")
		return
	}
	s.reply(w, http.StatusAccepted, done)
}

// plan answers with a plan; one at a time.
func (s *Server) plan(w http.ResponseWriter, r *http.Request) {
	err := known(r, "reroute")
	reroute, wrong := flag(r, "reroute")
	switch {
	case err != nil:
	case wrong != nil:
		err = wrong
	case s.cfg.Planner == nil:
		err = fmt.Errorf("%w: this manager does not plan", ErrNotFound)
	}
	if err != nil {
		s.fail(w, err, "")
		return
	}
	if !s.begin(w) {
		return
	}
	defer s.end()
	steps, err := s.cfg.Planner.Plan(r.Context(), reroute)
	if err != nil {
		s.fail(w, err, "")
		return
	}
	sendList(w, "steps", "", steps)
}

// begin reserves the only slot for plans, each of which is as large as a sweep, or replies
// with an error.
func (s *Server) begin(w http.ResponseWriter) bool {
	select {
	case s.busy <- struct{}{}:
		return true
	default:
		s.fail(w, fmt.Errorf("%w: another plan is in progress", ErrNotNow), "try again when it is complete")
		return false
	}
}

// end releases the slot.
func (s *Server) end() { <-s.busy }

// Reloaded is the reply to a reload.
type Reloaded struct {
	File string `json:"file"` // "" for none
	// Refused is set if the file has errors; then nothing has changed.
	Refused  bool      `json:"refused"`
	Changed  []string  `json:"changed"` // settings, by OpenSM's names
	Findings []Finding `json:"findings"`
}

// Finding is a note, warning or error about a configuration file.
type Finding struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity"` // note, warning, error
	Key      string `json:"key,omitempty"`
	Text     string `json:"text"`
}

// String formats the finding as compilers do.
func (f Finding) String() string {
	return fmt.Sprintf("%v: %s: %s", diag.Position{File: f.File, Line: f.Line, Col: f.Column}, f.Severity, f.Text)
}

// reload reloads the configuration.
func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	err := known(r)
	if err == nil && s.cfg.Reloader == nil {
		err = fmt.Errorf("%w: this manager has no configuration", ErrNotFound)
	}
	if err != nil {
		s.fail(w, err, "")
		return
	}
	s.cfg.Logger.Info("configuration reload requested over the control socket")
	s.reply(w, http.StatusOK, s.cfg.Reloader.Reload())
}

// Configuration is the configuration in force.
type Configuration struct {
	Settings []Setting `json:"settings"`
}

func (s *Server) config(w http.ResponseWriter, r *http.Request) {
	err := known(r)
	if err == nil && s.cfg.Reloader == nil {
		err = fmt.Errorf("%w: this manager has no configuration", ErrNotFound)
	}
	if err != nil {
		s.fail(w, err, "")
		return
	}
	s.reply(w, http.StatusOK, &Configuration{s.cfg.Reloader.Settings()})
}

// LogFlags is the log level.
type LogFlags struct {
	Flags uint8 `json:"flags"` // OpenSM's
}

func (s *Server) logLevel(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Log == nil {
		s.fail(w, fmt.Errorf("%w: this manager has no log", ErrNotFound), "")
		return
	}
	s.reply(w, http.StatusOK, &LogFlags{s.cfg.Log.LogFlags()})
}

func (s *Server) setLogLevel(w http.ResponseWriter, r *http.Request) {
	err := known(r, "flags")
	flags, wrong := number(r, "flags", 8)
	if err == nil {
		err = wrong
	}
	if err == nil && r.URL.Query().Get("flags") == "" {
		err = fmt.Errorf("%w: parameter flags is required", ErrBadRequest)
	}
	if err != nil {
		s.fail(w, err, "OpenSM's log flags, 0x00 to 0xff")
		return
	}
	if s.cfg.Log != nil {
		before := s.cfg.Log.LogFlags()
		s.cfg.Log.SetLogFlags(uint8(flags))
		s.cfg.Logger.Info("log flags changed over the control socket", "from", fmt.Sprintf("0x%02x", before), "to", fmt.Sprintf("0x%02x", flags))
	}
	s.logLevel(w, r)
}
