package ctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"ibsm/partitions/callers"
)

// routes are the requests of the control socket.
func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	for l, filter := range map[List][]string{
		Nodes: append(byNode[:3:3], "absent"), Ports: byNode, Links: append(byNode[:3:3], "routes", "absent"),
		PKeys: byNode[1:2], Groups: nil, Members: {"group"}, Services: nil, Subscriptions: nil, Refusals: {"group"},
		DrainedPorts: nil, Cables: nil, Offenders: nil, PortGroups: {"group"}, Hosts: {"name"},
	} {
		m.HandleFunc("GET /v1/"+string(l), s.answer(func(w http.ResponseWriter, r *http.Request) error {
			return s.list(w, r, l, filter)
		}))
	}
	for pattern, value := range map[string]func(*http.Request) (any, error){
		"GET /v1/status": s.status, "GET /v1/sa-stats": s.saStats, "GET /v1/activity": s.activity,
		"GET /v1/path": s.path, "GET /v1/qos": s.qos, "GET /v1/quality": s.quality, "GET /v1/rails": s.rails,
		"GET /v1/topology": s.topology, "GET /v1/security": s.security,
		"GET /v1/counters/status": s.counterStatus, "GET /v1/counters/top": s.topCounters,
		"POST /v1/counters/clear": s.clearCounters, "GET /v1/counters/congestion": s.congestions,
		"GET /v1/links/sick": s.sickLinks, "POST /v1/links/isolate": s.isolateLink, "POST /v1/links/heal": s.healLink,
		"GET /v1/congestion-control": s.congestionControl,
		"GET /v1/config":             s.config,
		"POST /v1/drain":             s.drain, "POST /v1/undrain": s.drain,
		"POST /v1/reload": s.reload, "POST /v1/security/rotate": s.rotate, "GET /v1/partitions/why": s.why,
		"GET /v1/log-level": s.logLevel, "POST /v1/log-level": s.setLogLevel,
	} {
		m.HandleFunc(pattern, s.answer(func(w http.ResponseWriter, r *http.Request) error {
			v, err := value(r)
			if err == nil {
				s.reply(w, http.StatusOK, v)
			}
			return err
		}))
	}
	for pattern, h := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /v1/names": s.names, "GET /v1/why": s.diagnose, "GET /v1/path-record": s.pathRecord,
		"GET /v1/counters": s.counters, "GET /v1/generations": s.generations, "GET /v1/diff": s.diff,
		"GET /v1/dump/{kind}": s.dump, "GET /v1/events": s.events,
		"POST /v1/sweep": s.sweep, "POST /v1/reroute": s.reroute, "POST /v1/capture": s.capture,
		"POST /v1/plan": s.plan, "POST " + partitionPlan: s.planPartitions,
		"POST /v1/partitions/apply": s.applyPartitions, "GET /v1/partitions/export": s.exportPartitions,
		"GET /v1/partition": s.partitionList, "GET /v1/partition/{name}": s.partition,
		"PUT /v1/partition/{name}": s.putPartition, "PATCH /v1/partition/{name}": s.patchPartition,
		"DELETE /v1/partition/{name}": s.deletePartition,
		"GET " + partitionHistory:     s.partitionEdits, "POST " + partitionUndo: s.undoPartition,
		"GET /metrics": s.metrics, "GET /leader": s.leader,
		"/": unknown,
	} {
		m.HandleFunc(pattern, s.answer(h))
	}
	return m
}

// answer makes a handler of a function that replies to a request, or returns the error to
// reply with.
func (s *Server) answer(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, err)
		}
	}
}

// partitionPlan is the path at which a request may have a partition file as its body.
const partitionPlan = "/v1/partitions/plan"

// byNode are the parameters of lists of nodes, ports and links.
var byNode = []string{"type", "node", "state"}

// Failure is an error reply.
type Failure struct {
	Err  string `json:"error"`
	Hint string `json:"hint,omitempty"`
	// Field is the field of the request that is wrong.
	Field string `json:"field,omitempty"`
}

func (f *Failure) Error() string { return f.Err }

// hinted is an error with what to do about it.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// hint adds to an error what to do about it.
func hint(err error, text string) error { return &hinted{err, text} }

// has is the error that the manager lacks something, nil if it is there.
func has(there bool, what string) error {
	if there {
		return nil
	}
	return fmt.Errorf("%w: this manager has no %s", ErrNotFound, what)
}

// fail replies with an error of the Source or of an invalid request.
func (s *Server) fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	reply := &Failure{Err: err.Error()}
	if h := (*hinted)(nil); errors.As(err, &h) {
		reply.Hint = h.hint
	}
	if refused := (*callers.Refusal)(nil); errors.As(err, &refused) {
		status, reply.Field = refusalStatus[refused.Kind], refused.Field
	}
	for sentinel, code := range map[error]int{
		ErrBadRequest: http.StatusBadRequest, ErrNotFound: http.StatusNotFound,
		ErrNotNow: http.StatusServiceUnavailable,
	} {
		if errors.Is(err, sentinel) {
			status, reply.Err = code, strings.TrimPrefix(reply.Err, sentinel.Error()+": ")
		}
	}
	s.reply(w, status, reply)
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

func unknown(_ http.ResponseWriter, r *http.Request) error {
	return hint(fmt.Errorf("%w: no such request: %s %s", ErrNotFound, r.Method, r.URL.Path),
		"docs/ctl.md lists the requests; paths begin with /v1/")
}

// known rejects unknown and repeated parameters. A name with ... after it may be repeated.
func known(r *http.Request, names ...string) error {
	for name, values := range r.URL.Query() {
		switch {
		case slices.Contains(names, name+"..."):
		case len(values) > 1:
			return fmt.Errorf("%w: repeated parameter %s", ErrBadRequest, name)
		case !slices.Contains(names, name):
			return fmt.Errorf("%w: unknown parameter %q", ErrBadRequest, name)
		}
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
