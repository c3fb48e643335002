package ctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// routes is what is served on the control socket.
func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/status", s.status)
	for l, filter := range map[List][]string{
		Nodes: byNode, Ports: byNode, Links: append(byNode[:3:3], "routes"), PKeys: byNode[1:2], Groups: nil, Members: {"group"}, Services: nil, Subscriptions: nil,
	} {
		m.HandleFunc("GET /v1/"+string(l), func(w http.ResponseWriter, r *http.Request) { s.list(w, r, l, filter) })
	}
	m.HandleFunc("GET /v1/sa-stats", s.saStats)
	m.HandleFunc("GET /v1/activity", s.activity)
	m.HandleFunc("GET /v1/path", s.path)
	m.HandleFunc("GET /v1/why", s.diagnose)
	m.HandleFunc("GET /v1/generations", s.generations)
	m.HandleFunc("GET /v1/diff", s.diff)
	m.HandleFunc("GET /v1/dump/{kind}", s.dump)
	m.HandleFunc("GET /v1/events", s.events)
	m.HandleFunc("POST /v1/sweep", s.sweep)
	m.HandleFunc("POST /v1/reroute", s.reroute)
	m.HandleFunc("POST /v1/plan", s.plan)
	m.HandleFunc("GET /v1/config", s.config)
	m.HandleFunc("POST /v1/reload", s.reload)
	m.HandleFunc("GET /v1/partitions/why", s.why)
	m.HandleFunc("POST "+partitionPlan, s.planPartitions)
	m.HandleFunc("POST /v1/partitions/apply", s.applyPartitions)
	m.HandleFunc("GET /v1/log-level", s.logLevel)
	m.HandleFunc("POST /v1/log-level", s.setLogLevel)
	m.HandleFunc("GET /metrics", s.metrics)
	m.HandleFunc("/", s.unknown)
	return m
}

// partitionPlan is where a request may have a body.
const partitionPlan = "/v1/partitions/plan"

// byNode are the parameters of lists of nodes and of what belongs to them.
var byNode = []string{"type", "node", "state"}

// Failure is the reply to a request that could not be answered.
type Failure struct {
	Err  string `json:"error"`
	Hint string `json:"hint,omitempty"`
}

func (f *Failure) Error() string { return f.Err }

// fail answers with an error: the Source's own, or one of a request that makes no sense.
func (s *Server) fail(w http.ResponseWriter, err error, hint string) {
	status := http.StatusInternalServerError
	text := err.Error()
	for sentinel, code := range map[error]int{
		ErrBadRequest: http.StatusBadRequest, ErrNotFound: http.StatusNotFound, ErrNotNow: http.StatusServiceUnavailable,
	} {
		if errors.Is(err, sentinel) {
			status, text = code, strings.TrimPrefix(text, sentinel.Error()+": ")
		}
	}
	s.reply(w, status, &Failure{text, hint})
}

// reply answers with a value as one line of JSON.
func (s *Server) reply(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"the reply is not to be had as JSON"}`)
		s.cfg.Logger.Error("control socket: a reply cannot be encoded", "error", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	s.fail(w, fmt.Errorf("%w: nothing is served at %s %s", ErrNotFound, r.Method, r.URL.Path), "docs/ctl.md lists what is; paths begin with /v1/")
}

// known refuses parameters other than those named, and more than one of a name.
func known(r *http.Request, names ...string) error {
	query := r.URL.Query()
next:
	for name, values := range query {
		if len(values) > 1 {
			return fmt.Errorf("%w: parameter %s is given more than once", ErrBadRequest, name)
		}
		for _, n := range names {
			if n == name {
				continue next
			}
		}
		return fmt.Errorf("%w: unknown parameter %q", ErrBadRequest, name)
	}
	return nil
}

// flag is a parameter that is 1, or 0, or not there.
func flag(r *http.Request, name string) (bool, error) {
	switch v := r.URL.Query().Get(name); v {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	default:
		return false, fmt.Errorf("%w: parameter %s=%q: want 0 or 1", ErrBadRequest, name, v)
	}
}

// number is a parameter in base 10, or 0x and base 16; 0 when it is not there.
func number(r *http.Request, name string, bits int) (uint64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%w: parameter %s=%q: want a number of up to %d bits", ErrBadRequest, name, v, bits)
	}
	return n, nil
}
