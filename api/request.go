package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ibsm/api/users"
	"ibsm/ctl"
	"ibsm/rights"
)

// first is the beginning of a request.
func (s *Server) first(w http.ResponseWriter, r *http.Request) {
	id := make([]byte, 8)
	rand.Read(id)
	r = r.WithContext(ctl.WithRequestID(r.Context(), hex.EncodeToString(id)))
	h := w.Header()
	h.Set("X-Request-Id", ctl.RequestID(r.Context()))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	t := s.handlerTurn(r)
	defer t.finish()
	r = r.WithContext(context.WithValue(r.Context(), turnKey{}, t))
	counted := &statusWriter{ResponseWriter: w, turn: t}
	defer func(path string) { s.counts.count(path, counted.status) }(r.URL.Path)
	s.handler.ServeHTTP(counted, r)
}

// serve checks a request, and has its route answer it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if reason := s.foreignPage(r); reason != "" {
		s.counts.foreign.Add(1)
		s.record(r, http.StatusForbidden, reason, "")
		fail(w, http.StatusForbidden, reason, "send requests from a program, or open the address of the manager itself")
		return
	}
	path, valid := cleaned(r.URL)
	if !valid {
		notServed(w, r)
		return
	}
	r.URL.Path, r.URL.RawPath = path, ""
	_, pattern := s.routes.Handler(r)
	rt := s.byPattern[pattern]
	user := ""
	if rt == nil || rt.Right != rights.Anyone {
		set := s.accounts()
		u, err := s.authenticate(r)
		if err != nil {
			if r.Context().Err() == nil {
				s.refuse(w, r, err)
			}
			return
		}
		r = r.WithContext(rights.With(r.Context(), u))
		if s.users != nil && rt != nil && !rt.Changes() {
			ctx, end := context.WithCancel(r.Context())
			defer end()
			r = r.WithContext(ctx)
			watch := time.AfterFunc(lookEvery, func() { s.watch(r, u, set, end) })
			defer watch.Stop()
		}
		user = u.Name
		s.counts.right.Add(1)
		keep(r, user)
	}
	leave, ok := s.enter(w, user)
	if !ok {
		return
	}
	defer leave()
	if rt == nil {
		s.unserved(w, r)
		return
	}
	if !rt.Changes() { // a change waits until it is on disk
		turnOf(r.Context()).enter()
	}
	s.routes.ServeHTTP(w, r)
}

// enter has a request be one of those that are handled, until leave; otherwise the reply is written.
func (s *Server) enter(w http.ResponseWriter, user string) (leave func(), ok bool) {
	leave, v := s.limits.enter(user)
	if v == admitted {
		return leave, true
	}
	of, status, reason := "user "+user, http.StatusTooManyRequests, ""
	if user == "" {
		of = "requests without a credential"
	}
	switch v {
	case full:
		s.counts.full.Add(1)
		status, reason = http.StatusServiceUnavailable, "too many requests at a time"
	case crowded:
		s.counts.limited.Add(1)
		reason = of + ": too many requests at a time"
	case hasty:
		s.counts.limited.Add(1)
		reason = of + ": more than " + strconv.Itoa(userRequests) + " requests a second"
	}
	w.Header().Set("Retry-After", "1")
	fail(w, status, reason, "try again later")
	return nil, false
}

// authenticate returns the user whose credential a request has.
func (s *Server) authenticate(r *http.Request) (*rights.User, error) {
	header := r.Header.Get("Authorization")
	if s.users == nil {
		if header == "" {
			return nil, errors.New("no credential: on this simulated fabric any will do, such as curl -u admin:admin")
		}
		return s.cfg.Double, nil
	}
	s.refreshUsers()
	c, err := s.credential(r)
	if err != nil {
		return nil, err
	}
	turnOf(r.Context()).leave() // a password may wait for long
	return s.users.Authenticate(r.Context(), c)
}

// credential is the credential of a request: its Authorization header, its address and the names of its certificate.
func (s *Server) credential(r *http.Request) (c users.Credential, err error) {
	header := r.Header.Get("Authorization")
	c.Authorization = header
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		c.From = from.Addr().Unmap()
	}
	if c.Names, err = s.names(r); err != nil && strings.TrimSpace(header) == "" {
		return c, err
	}
	if _, sent := r.Header["Authorization"]; sent && strings.TrimSpace(header) == "" && c.Names == nil {
		return c, errNoCertificate
	}
	return c, nil
}

// watch ends a request that takes long, such as a stream of changes, when its credential is not valid any more, or its
// user has another role. set are the users with which it was checked.
func (s *Server) watch(r *http.Request, u *rights.User, set *users.Set, end context.CancelFunc) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for s.isStill(r, u, &set) {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
	end()
}

// isStill reports whether the credential of a request still belongs to its user, with the same role. set are the users
// with which it was checked last.
func (s *Server) isStill(r *http.Request, u *rights.User, set **users.Set) bool {
	c, err := s.credential(r)
	if err != nil {
		return false
	}
	s.refreshUsers()
	now := s.accounts()
	if now == *set && (u.Until.IsZero() || time.Now().Before(u.Until)) {
		return true
	}
	if _, is := now.Find(u.Name); !is {
		return false
	}
	is, err := s.users.Authenticate(r.Context(), c)
	if err == nil {
		*set = now
		return is.Name == u.Name && is.Role == u.Role
	}
	refused := (*users.Refused)(nil)
	return !errors.As(err, &refused)
}

// accounts are the users by now; nil on a simulated fabric, where there are none.
func (s *Server) accounts() *users.Set {
	if s.users == nil {
		return nil
	}
	return s.cfg.Users.Users()
}

// refreshUsers reads the file of users again if it has changed.
func (s *Server) refreshUsers() {
	if changed, err := s.cfg.Users.Refresh(); err != nil {
		s.cfg.Logger.Error("a changed file of the API is not used", "what", "users", "reason", err)
	} else if changed {
		s.cfg.Logger.Info("a changed file of the API is in force", "what", "users")
	}
}

// refuse replies that a credential is no user's.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if busy := (*users.Busy)(nil); errors.As(err, &busy) {
		s.counts.busy.Add(1)
		w.Header().Set("Retry-After", strconv.Itoa(int(busy.RetryAfter.Seconds())))
		fail(w, http.StatusTooManyRequests, err.Error(), "")
		return
	}
	s.counts.wrong.Add(1)
	w.Header().Set("WWW-Authenticate", `Basic realm="ibsm", charset="UTF-8"`)
	fail(w, http.StatusUnauthorized, err.Error(), "")
	user := ""
	if refused := (*users.Refused)(nil); errors.As(err, &refused) {
		user = refused.User
	}
	s.record(r, http.StatusUnauthorized, err.Error(), user)
}

// record has the audit record a refusal before its user is known, unless there are too many. user is one whose password
// another one was sent for.
func (s *Server) record(r *http.Request, status int, reason, user string) {
	if !s.limits.listed() {
		s.counts.unlisted.Add(1)
		return
	}
	a := ctl.NewAudited(r, r.Method)
	a.Status, a.Error, a.User = status, reason, user
	s.cfg.Audit(a)
}

// methods are the methods that a route may have.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// unserved replies to a request without a route.
func (s *Server) unserved(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, m := range methods {
		other := *r
		other.Method = m
		if _, pattern := s.routes.Handler(&other); s.byPattern[pattern] != nil {
			allowed = append(allowed, m)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		fail(w, http.StatusMethodNotAllowed, "the method "+r.Method+" is not allowed here", "use "+
			strings.Join(allowed, " or "))
		return
	}
	notServed(w, r)
}

// notServed replies to a request whose path nothing is served at.
func notServed(w http.ResponseWriter, r *http.Request) {
	path, page := strings.ToLower(r.URL.Path), "docs/api-requests.md lists the requests"
	if strings.HasPrefix(path, "/ufmrest") || path == "/dologin" {
		page = "docs/ufm.md lists UFM's calls that are served"
	}
	fail(w, http.StatusNotFound, "no such request: "+r.Method+" "+shown(r.URL.Path), page)
}

// shown is a text of a request for a message.
func shown(text string) string {
	const most = 80
	if len(text) > most {
		text = text[:most] + "..."
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// cleaned is the path of a request without empty segments and those that are a dot, so that no reply has to redirect. A
// path is not valid with two dots, or with a slash in a segment.
func cleaned(u *url.URL) (string, bool) {
	if strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") {
		return "", false
	}
	var path strings.Builder
	for segment := range strings.SplitSeq(u.Path, "/") {
		switch segment {
		case "", ".":
		case "..":
			return "", false
		default:
			path.WriteString("/" + segment)
		}
	}
	if path.Len() == 0 {
		return "/", true
	}
	return path.String(), true
}

// foreignPage is why a request is refused that a browser sent for a page of another site; "" if it is not. Other
// clients send neither of the headers.
func (s *Server) foreignPage(r *http.Request) string {
	const reason = "the request comes from a page of another site"
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if site != "" && site != "same-origin" && site != "none" && !opensPage(r) {
		return reason
	}
	if origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return reason
		}
	}
	// A page that had its own name lead to the address of the manager has that name in the header Host.
	if (site != "" || origin != "" || s.plain) && !s.isOwnName(r.Host) {
		return "the header Host has a name that is not this server's"
	}
	return ""
}

// opensPage reports whether a browser opens the page for its user, who may have followed a link of another site: what
// it gets is the same for everybody, and in no frame.
func opensPage(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}

// isOwnName reports whether a header Host is an address, localhost, or a name of the certificate.
func (s *Server) isOwnName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if ip, err := netip.ParseAddr(host); err == nil {
		return !s.plain || ip.Unmap().IsLoopback()
	}
	if host == "localhost" || s.plain {
		return host == "localhost"
	}
	leaf := s.certificate.get().Leaf
	return leaf != nil && leaf.VerifyHostname(host) == nil
}

// quoted is a text as JSON.
func quoted(text string) string {
	json, err := json.Marshal(text)
	if err != nil {
		return `"internal error"`
	}
	return string(json)
}

// errNoCertificate refuses a client with an empty header, which means a certificate.
var errNoCertificate = errors.New("no client certificate")

// fail replies with an error.
func fail(w http.ResponseWriter, status int, reason, hint string) {
	body := []byte(`{"error": ` + quoted(reason)) // with a blank, as clients of UFM's calls get it
	if hint != "" {
		body = append(body, `, "hint": `+quoted(hint)...)
	}
	body = append(body, '}')
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
