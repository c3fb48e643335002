package ctl

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"ibsm/conf/diag"
)

func (s *Server) status(r *http.Request) (any, error) { return s.cfg.Source.Status(), nil }

// subnet returns the subnet.
func (s *Server) subnet() (Subnet, error) {
	sub := s.cfg.Source.Subnet()
	if sub == nil {
		return nil, hint(fmt.Errorf("%w: the subnet is not known", ErrNotNow),
			"only a master that has completed a sweep knows the subnet; see ibsmctl status")
	}
	return sub, nil
}

func (s *Server) saStats(r *http.Request) (any, error) { return s.cfg.Source.SAStats(), nil }

func (s *Server) list(w http.ResponseWriter, r *http.Request, l List) error {
	sub, err := s.subnet()
	if err != nil {
		return err
	}
	query := r.URL.Query()
	routes, err := flag(r, "routes")
	if err != nil {
		return err
	}
	absent, err := flag(r, "absent")
	if err != nil {
		return err
	}
	filter := Filter{Type: query.Get("type"), Node: query.Get("node"), State: query.Get("state"),
		Group: query.Get("group"), Name: query.Get("name"), Routes: routes, Absent: absent}
	var rows iter.Seq[any]
	switch l {
	case Hosts:
		rows, err = s.hosts(r, sub, &filter)
	case VPorts:
		rows, err = s.vPorts(r, sub, &filter)
	default:
		rows, err = sub.Rows(l, filter)
	}
	if err != nil {
		return err
	}
	sendList(w, string(l), &listHead{sub.Generation()}, rows)
	return nil
}

func (s *Server) path(r *http.Request) (any, error) {
	from, to := r.URL.Query().Get("from"), r.URL.Query().Get("to")
	sub, err := s.subnet()
	if err != nil {
		return nil, err
	}
	return sub.Path(from, to)
}

func (s *Server) dump(w http.ResponseWriter, r *http.Request) error {
	kind := r.PathValue("kind")
	sub, err := s.named(w, r)
	if err != nil {
		return err
	}
	if kinds := sub.Dumps(); !slices.Contains(kinds, kind) {
		return hint(fmt.Errorf("%w: no dump %q", ErrNotFound, kind), "dumps are "+strings.Join(kinds, ", "))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out := newBuffer(w)
	if err = sub.Dump(r.Context(), out, kind); err == nil {
		err = out.Flush()
	}
	if err != nil {
		panic(http.ErrAbortHandler) // so that the client detects the incomplete reply
	}
	return nil
}

func (s *Server) sweep(w http.ResponseWriter, r *http.Request) error {
	o := cmp.Or(Order(r.URL.Query().Get("kind")), HeavySweep)
	if o != LightSweep && o != HeavySweep {
		return fmt.Errorf("%w: parameter kind=%q: expected light or heavy", ErrBadRequest, o)
	}
	return s.order(w, r, o)
}

func (s *Server) reroute(w http.ResponseWriter, r *http.Request) error {
	return s.order(w, r, Reroute)
}

// capture records a heavy sweep, and answers with the file.
func (s *Server) capture(w http.ResponseWriter, r *http.Request) error {
	if err := has(s.cfg.Capture != nil, "recorder of packets"); err != nil {
		return err
	}
	s.cfg.Logger.Info("capture requested over the control socket")
	file, err := s.cfg.Capture(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/gzip")
	w.Header().Set("Content-Length", strconv.Itoa(len(file)))
	for piece := range slices.Chunk(file, Piece) {
		if _, err := w.Write(piece); err != nil {
			panic(http.ErrAbortHandler) // so that the client detects the incomplete reply
		}
	}
	return nil
}

// Accepted is the reply to a request for a sweep. Its effects are events after Events.
type Accepted struct {
	Order  Order  `json:"order"`
	Events uint64 `json:"events"`
}

// order passes a request for a sweep on.
func (s *Server) order(w http.ResponseWriter, r *http.Request, o Order) error {
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Patience)
	defer cancel()
	done := &Accepted{o, s.cfg.Events.Last()}
	// Logged first: the sweep may be over before Order returns.
	s.cfg.Logger.Info("sweep requested over the control socket", "kind", string(o))
	if err := s.cfg.Source.Order(ctx, o); err != nil {
		return err
	}
	s.reply(w, http.StatusAccepted, done)
	return nil
}

// plan answers with a plan, when it has its turn.
func (s *Server) plan(w http.ResponseWriter, r *http.Request) error {
	reroute, err := flag(r, "reroute")
	if err != nil {
		return err
	}
	q := PlanQuery{Reroute: reroute, Without: r.URL.Query()["without"]}
	switch profile := r.URL.Query().Get("security"); profile {
	case "":
	case "tenants":
		q.Tenants = true
	default:
		return fmt.Errorf("%w: parameter security=%q: expected tenants", ErrBadRequest, profile)
	}
	if list := r.URL.Query().Get("engine"); list != "" {
		q.Engines = strings.Split(list, ",")
	}
	if s.cfg.Plan == nil {
		return fmt.Errorf("%w: this manager does not plan", ErrNotFound)
	}
	if err := s.plans.take(r.Context()); err != nil {
		return err
	}
	defer s.plans.end()
	plan, err := s.cfg.Plan(r.Context(), q)
	if err != nil {
		return err
	}
	head := plan.PlanHead
	if q.Tenants && head.Settings == nil {
		head.Settings = []SettingChange{} // none changes
	}
	sendList(w, "steps", head, plan.Steps)
	return nil
}

// Reloaded is the reply to a reload.
type Reloaded struct {
	File string `json:"file"` // "" for none
	// Refused is set if the file has errors; then nothing has changed.
	Refused  bool      `json:"refused"`
	Changed  []string  `json:"changed"` // settings, by OpenSM's names
	Findings []Finding `json:"findings"`
	// Partitions are those of the partition file; nil if it is not in force, or there is none.
	Partitions *ReloadedPartitions `json:"partitions,omitempty"`
}

// ReloadedPartitions is a partition file that was read again and is in force.
type ReloadedPartitions struct {
	File    string `json:"file"`
	Changed bool   `json:"changed"` // it has another text than the one that was in force
	Count   int    `json:"count"`   // of partitions
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
	at := diag.Position{File: f.File, Line: f.Line, Col: f.Column}
	if at == (diag.Position{}) {
		return fmt.Sprintf("%s: %s", f.Severity, f.Text)
	}
	return fmt.Sprintf("%v: %s: %s", at, f.Severity, f.Text)
}

// reload reloads the configuration.
func (s *Server) reload(r *http.Request) (any, error) {
	if err := has(s.cfg.Reload != nil, "configuration"); err != nil {
		return nil, err
	}
	s.cfg.Logger.Info("configuration reload requested over the control socket")
	return s.cfg.Reload(), nil
}

// Configuration is the configuration in force.
type Configuration struct {
	Settings []Setting `json:"settings"`
}

func (s *Server) config(r *http.Request) (any, error) {
	if err := has(s.cfg.Settings != nil, "configuration"); err != nil {
		return nil, err
	}
	return &Configuration{s.cfg.Settings()}, nil
}

// LogFlags is the log level.
type LogFlags struct {
	Flags uint8 `json:"flags"` // OpenSM's
}

func (s *Server) logLevel(*http.Request) (any, error) {
	if s.cfg.LogFlags == nil {
		return nil, has(false, "log")
	}
	return &LogFlags{s.cfg.LogFlags()}, nil
}

func (s *Server) setLogLevel(r *http.Request) (any, error) {
	flags, err := number(r, "flags", 8)
	if err != nil {
		return nil, hint(err, "OpenSM's log flags, 0x00 to 0xff")
	}
	if s.cfg.SetLogFlags != nil {
		before := s.cfg.LogFlags()
		s.cfg.SetLogFlags(uint8(flags))
		s.cfg.Logger.Info("log flags changed over the control socket", "from", fmt.Sprintf("0x%02x", before), "to",
			fmt.Sprintf("0x%02x", flags))
	}
	return s.logLevel(r)
}
