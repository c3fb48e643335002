package ctl

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"ibsm/rights"
)

// Route is a request that a server answers. The table of routes is what requests are checked by, and what describes
// them to clients.
type Route struct {
	Method string
	Path   string // {name} stands for one segment
	Right  rights.Right
	Does   string // what the request does, in a sentence without its end
	Params []Param
	Body   Content
	Reply  Content
	Status []int // that Reply may have; nil for 200
	// Tagged requests have replies with the header ETag, and if they change something may have If-Match and
	// If-None-Match.
	Tagged bool
	// Lenient requests may have parameters and a body that are not in the table: they are ignored.
	Lenient bool
	// Handle replies, or returns the error that Fail replies with and has written nothing.
	Handle func(http.ResponseWriter, *http.Request) error
	Fail   func(http.ResponseWriter, error)
}

// Param is a parameter of the query.
type Param struct {
	Name     string
	Text     string // what it may be
	Many     bool   // it may be repeated
	Required bool   // without it the request is refused
}

// Content is a body, or a reply; the zero Content is none.
type Content struct {
	Type string // such as application/json
	Of   any    // a value of the type of a JSON object, or of the elements of List; nil for text
	List string // the member of the object that has a list of Of; "" for none
	Head any    // a struct with the members before List; nil for none
	Rows bool   // one value Of per line
	// Array is a JSON array of Of, Map an object with a value Of by each name.
	Array, Map bool
	Or         *Content // the reply may be this in its place; nil for no other
}

// String is the method and the path, which name the request in an audit.
func (rt *Route) String() string { return rt.Method + " " + rt.Path }

// Changes reports whether the request changes something.
func (rt *Route) Changes() bool {
	return rt.Method != http.MethodGet &&
		(rt.Right == rights.ChangeOwn || rt.Right == rights.Operate || rt.Right == rights.Administer)
}

// check reports what is wrong with a request: the user's rights, its body or its parameters.
func (rt *Route) check(w http.ResponseWriter, r *http.Request) error {
	if u := rights.Of(r.Context()); !u.May(rt.Right) {
		if u == nil {
			u = new(rights.User)
		}
		return hint(fmt.Errorf("%w: user %s may not do this: %s", ErrForbidden, u.Name, rt),
			fmt.Sprintf("the role %v has no right to %v", u.Role, rt.Right))
	}
	if rt.Lenient {
		return nil
	}
	if r.ContentLength != 0 && rt.Body == (Content{}) {
		w.Header().Set("Connection", "close")
		return hint(fmt.Errorf("%w: the request has a body", ErrBadRequest), "parameters belong in the query")
	}
	return checkParams(r, rt.Params)
}

// checkParams rejects unknown and repeated parameters, and a request without one that is required.
func checkParams(r *http.Request, params []Param) error {
	query := r.URL.Query()
	for _, p := range params {
		if p.Required && query.Get(p.Name) == "" {
			return hint(fmt.Errorf("%w: parameter %s is required", ErrBadRequest, p.Name), p.Text)
		}
	}
	for name, values := range query {
		i := slices.IndexFunc(params, func(p Param) bool { return p.Name == name })
		switch {
		case i >= 0 && params[i].Many:
		case len(values) > 1:
			return fmt.Errorf("%w: repeated parameter %s", ErrBadRequest, name)
		case i < 0 && len(params) == 0:
			return hint(fmt.Errorf("%w: unknown parameter %q", ErrBadRequest, name), "the request takes no parameter")
		case i < 0:
			names := make([]string, len(params))
			for i, p := range params {
				names[i] = p.Name
			}
			return hint(fmt.Errorf("%w: unknown parameter %q", ErrBadRequest, name),
				"parameters are "+strings.Join(names, ", "))
		}
	}
	return nil
}

// Audited is a change, or a refusal, as an audit has it.
type Audited struct {
	Time    time.Time `json:"time"` // of the reply
	ID      string    `json:"id,omitempty"`
	User    string    `json:"user"`
	Role    string    `json:"role"`
	From    string    `json:"from"`            // address of the client; "" for the control socket
	Request string    `json:"request"`         // Route.String
	Path    string    `json:"path"`            // with the query
	Status  int       `json:"status"`          // of the reply
	Error   string    `json:"error,omitempty"` // why it was refused
	// Before and After are what has changed, as far as the request knows it.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
}

// Guard checks requests by their routes, and has changes and refusals recorded.
type Guard struct {
	Audit func(*Audited) // safe for concurrent use; nil: nothing is recorded
}

// Handler answers the requests of a route, with the writers of Server.Patient. The user is that of the context.
func (g Guard) Handler(rt *Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := rt.check(w, r)
		if err == nil {
			if r.ContentLength == 0 {
				// the request is complete, and the reply may take long
				w.(*patient).control.SetReadDeadline(time.Time{})
			}
			err = rt.Handle(w, r)
		}
		if err != nil {
			rt.Fail(w, err)
		}
		p := w.(*patient)
		if g.Audit == nil || !rt.Changes() && p.status != http.StatusForbidden {
			return
		}
		a := NewAudited(r, rt.String())
		a.Status, a.Before, a.After = cmp.Or(p.status, http.StatusOK), p.before, p.after
		if err != nil {
			a.Error = err.Error()
		}
		g.Audit(a)
	}
}

// NewAudited is the beginning of an Audited about a request.
func NewAudited(r *http.Request, request string) *Audited {
	a := &Audited{Time: time.Now().UTC(), ID: RequestID(r.Context()), Request: request, Path: r.URL.RequestURI()}
	if u := rights.Of(r.Context()); u != nil {
		a.User, a.Role = u.Name, u.Role.String()
	}
	if r.RemoteAddr != "@" { // a unix socket
		a.From = r.RemoteAddr
	}
	return a
}

// requestID is the key of a context's request ID.
type requestID struct{}

// WithRequestID is a context of a request with an ID, which is shown in an audit.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestID{}, id)
}

// RequestID is the ID of a request; "" for none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestID{}).(string)
	return id
}

// NoteChange has the audit of a request of a Guard show what it changed; nil is nothing.
func NoteChange[T any](w http.ResponseWriter, before, after *T) {
	p := w.(*patient)
	if before != nil {
		p.before = before
	}
	if after != nil {
		p.after = after
	}
}
