package ufm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"ibsm/ctl"
	"ibsm/rights"
)

// Release is the release of UFM whose calls these are.
const Release = "6.23.1-6"

// Config of a Server.
type Config struct {
	Partitions ctl.PartitionSource
	Source     ctl.Source
	Counters   ctl.CounterSource // nil: no links are isolated
	SMConf     func() SMConf
	Tokens     *Tokens // nil: there are none
	Logger     *slog.Logger
}

// Tokens are the credentials that users have beside certificates and passwords. All functions are safe for concurrent
// use.
type Tokens struct {
	// Make makes a token of a user, the only one that has a Secret.
	Make func(context.Context, *rights.User) (*Token, error)
	// List are those of a user.
	List func(context.Context, *rights.User) ([]Token, error)
	// Revoke revokes the token of a user with an ID or secret. The error is ctl.ErrNotFound if there is none.
	Revoke func(ctx context.Context, u *rights.User, token string) error
}

// Token is a credential.
type Token struct {
	ID     string
	Secret string
	Made   time.Time
	Until  time.Time
}

// Server answers UFM's calls. It is safe for concurrent use.
type Server struct {
	cfg Config
	// bodies are long ones that are read, and lists those that are made.
	bodies, lists turns
}

// turns bound what is done at a time: each has a token in it.
type turns chan struct{}

// take waits for a turn, for half of the time that a call may take.
func (t turns) take(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience/2)
	defer cancel()
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %d long requests or lists are under way", ctl.ErrNotNow, cap(t))
	}
}

func (t turns) end() { <-t }

// New returns a Server.
func New(cfg Config) *Server {
	const atATime = 4
	return &Server{cfg: cfg, bodies: make(turns, atATime), lists: make(turns, atATime)}
}

// Bases are the beginnings of paths, under which the calls are the same.
func Bases() []string { return []string{"/ufmRest", "/ufmRestV2", "/ufmRestV3"} }

// Routes are the calls, under each base.
func (s *Server) Routes() (all []ctl.Route) {
	for _, base := range Bases() {
		for _, routes := range [][]ctl.Route{s.appRoutes(), s.pkeyRoutes(), s.pkeyChangeRoutes(), s.subnetRoutes(),
			unservedRoutes()} {
			for _, rt := range routes {
				rt.Path, rt.Lenient, rt.Fail = base+rt.Path, true, s.fail
				all = append(all, rt)
			}
		}
	}
	return all
}

// patience is how long a call may take: clients give up after ten seconds.
const patience = 8 * time.Second

// appRoutes are calls about the manager and its users.
func (s *Server) appRoutes() []ctl.Route {
	return []ctl.Route{
		{Method: "GET", Path: "/app/ufm_version", Right: rights.ReadOwn, Does: "returns the release of UFM that is answered for",
			Reply: value(Version{}), Handle: s.version},
		{Method: "GET", Path: "/app/smconf", Right: rights.ReadOwn, Does: "returns which keys of the subnet manager are set",
			Reply: value(smConf{}), Handle: s.smConf},
		{Method: "GET", Path: "/app/tokens", Right: rights.ReadOwn, Does: "lists the user's tokens, without their secrets",
			Reply: array(token{}), Handle: s.tokens},
		{Method: "POST", Path: "/app/tokens", Right: rights.ChangeOwn, Does: "makes a token of the user",
			Reply: value(token{}), Handle: s.makeToken},
		{Method: "POST", Path: "/app/tokens/revoke", Right: rights.ChangeOwn, Does: "revokes a token of the user",
			Body: ctl.Content{Type: "multipart/form-data"}, Reply: value(struct{}{}), Handle: s.revokeToken},
		{Method: "GET", Path: "/app/unhealthy_ports", Right: rights.Read, Does: "lists ports that routes avoid",
			Reply: array(unhealthyPort{}), Handle: s.unhealthyPorts},
		{Method: "PUT", Path: "/app/unhealthy_ports", Right: rights.Operate,
			Does: "has routes avoid links, or use them again", Body: value(portsPolicy{}), Reply: value(struct{}{}),
			Handle: s.setUnhealthyPorts},
	}
}

// unservedRoutes are calls that OpenStack's driver without UFM gives up at status 501, and at no other one.
func unservedRoutes() (all []ctl.Route) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		all = append(all, ctl.Route{Method: method, Path: "/cloudx/{path...}", Right: rights.ReadOwn,
			Does: "is not implemented: status 501", Status: []int{http.StatusNotImplemented}, Reply: value(ctl.Failure{}),
			Handle: func(http.ResponseWriter, *http.Request) error {
				return fmt.Errorf("%w: networks of OpenStack are not kept here: use resources/pkeys", errNotImplemented)
			}})
	}
	return all
}

// Version is the reply to GET app/ufm_version.
type Version struct {
	Release string `json:"ufm_release_version"`
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) error {
	return s.reply(w, &Version{Release})
}

// SMConf says what of the subnet manager's configuration is a default that everybody knows. Keys themselves are not
// answered.
type SMConf struct {
	SubnetPrefix uint64
	// MKey, SMKey and SAKey say that the key is not the default.
	MKey, SMKey, SAKey bool
	MKeyPerPort        bool
}

// smConf is the reply to GET app/smconf.
type smConf struct {
	SubnetPrefix string `json:"subnet_prefix"`
	MKey         string `json:"m_key"`
	SMKey        string `json:"sm_key"`
	SAKey        string `json:"sa_key"`
	MKeyPerPort  bool   `json:"m_key_per_port"`
}

func (s *Server) smConf(w http.ResponseWriter, _ *http.Request) error {
	c := s.cfg.SMConf()
	shown := func(set bool, known string) string {
		if set {
			return "hidden"
		}
		return known
	}
	return s.reply(w, &smConf{fmt.Sprintf("0x%016x", c.SubnetPrefix), shown(c.MKey, "0x0"), shown(c.SMKey, "0x1"),
		shown(c.SAKey, "0x1"), c.MKeyPerPort})
}

// value is a body or reply that is one object.
func value(of any) ctl.Content { return ctl.Content{Type: "application/json", Of: of} }

// array is a reply that is a list.
func array(of any) ctl.Content { return ctl.Content{Type: "application/json", Of: of, Array: true} }

// or is a reply that may be another one.
func or(c, other ctl.Content) ctl.Content {
	c.Or = &other
	return c
}

// flag reports whether a parameter of the query is true, in any of the forms that programs send.
func flag(r *http.Request, name string) bool { return isTrue(r.URL.Query().Get(name)) }

// Limits of bodies, in bytes.
const (
	maxBody   = 8 << 20
	shortBody = 64 << 10 // of which any number is read at a time
)

// readBody reads the body of a request.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	from := http.MaxBytesReader(w, r.Body, maxBody)
	body, err := io.ReadAll(io.LimitReader(from, shortBody+1))
	if err == nil && len(body) > shortBody {
		if err := s.bodies.take(r.Context()); err != nil {
			return nil, err
		}
		defer s.bodies.end()
		control.SetReadDeadline(time.Now().Add(patience / 2))
		body, err = io.ReadAll(io.MultiReader(bytes.NewReader(body), from))
	}
	if large := (*http.MaxBytesError)(nil); err != nil && !errors.As(err, &large) {
		err = fmt.Errorf("%w: the body ends after %d bytes: %w", ctl.ErrBadRequest, len(body), err)
	}
	if err != nil {
		return nil, err
	}
	control.SetReadDeadline(time.Time{}) // the request is complete
	return body, nil
}

// errNotImplemented is answered with status 501.
var errNotImplemented = errors.New("not implemented")

// retryAfter is the header of a reply that the same request may have another one later, in seconds.
func retryAfter(w http.ResponseWriter) { w.Header().Set("Retry-After", strconv.Itoa(1)) }
