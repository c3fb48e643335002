package ctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// routes are the requests of the control socket.
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

// partitionPlan is the path at which a request may have a body.
const partitionPlan = "/v1/partitions/plan"

// byNode are the parameters of lists of nodes, ports and links.
var byNode = []string{"type", "node", "state"}

// Failure is an error reply.
type Failure struct {
	Err  string `json:"error"`
	Hint string `json:"hint,omitempty"`
}

func (f *Failure) Error() string { return f.Err }

// fail replies with an error of the Source or of an invalid request.
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

// reply replies with a value as one line of JSON.
func (s *Server) reply(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"cannot encode the reply as JSON"}`)
		s.cfg.Logger.Error("control socket: a reply cannot be encoded", "error", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	s.fail(w, fmt.Errorf("%w: no such request: %s %s", ErrNotFound, r.Method, r.URL.Path), "docs/ctl.md lists the requests; paths begin with /v1/")
}

// known rejects unknown and repeated parameters.
func known(r *http.Request, names ...string) error {
	query := r.URL.Query()
next:
	for name, values := range query {
		if len(values) > 1 {
			return fmt.Errorf("%w: repeated parameter %s", ErrBadRequest, name)
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

// flag is a parameter that is 1, 0 or missing.
func flag(r *http.Request, name string) (bool, error) {
	switch v := r.URL.Query().Get(name); v {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	default:
		return false, fmt.Errorf("%w: parameter %s=%q: expected 0 or 1", ErrBadRequest, name, v)
	}
}

// number is a decimal or hexadecimal (0x) parameter; 0 if missing.
func number(r *http.Request, name string, bits int) (uint64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%w: parameter %s=%q: expected a number of up to %d bits", ErrBadRequest, name, v, bits)
	}
	return n, nil
}
