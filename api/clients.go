package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/api/users"
	"ibsm/connlimit"
)

// connection is what is known of a connection: its requests share the check of the client's certificate.
type connection struct {
	net.Conn // as connlimit has accepted it
	turns    *turnConn
	kept     atomic.Bool // it has had a user

	mu    sync.Mutex // guards the following
	pool  *x509.CertPool
	names []string
	until time.Time // the first end of a certificate of the chain
	err   error
}

type connectionKey struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, is := c.(*tls.Conn); is {
		c = secure.NetConn()
	}
	turns := c.(*turnConn) // as the listener has accepted it
	return context.WithValue(ctx, connectionKey{}, &connection{Conn: turns.Conn, turns: turns})
}

// keep protects the connection of a request from being closed for another client's. From then on its turns count for
// the user.
func keep(r *http.Request, user string) {
	if c := connectionOf(r); !c.kept.Swap(true) {
		connlimit.Keep(c.Conn, user)
		c.turns.turn.rename("user " + user)
	}
}

// connectionOf is the connection of a request.
func connectionOf(r *http.Request) *connection {
	return r.Context().Value(connectionKey{}).(*connection)
}

// errNoAuthority refuses client certificates where none can be checked.
var errNoAuthority = errors.New("client certificates are not accepted: the manager has no api_client_ca_file")

// names are the names of the client's certificate; nil without a certificate. The error says why it is not valid.
func (s *Server) names(r *http.Request) ([]string, error) {
	c := connectionOf(r)
	switch {
	case r.TLS == nil || len(r.TLS.PeerCertificates) == 0:
		return nil, nil
	case s.authorities == nil:
		return nil, errNoAuthority
	}
	pool, now := s.authorities.get(), time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool != pool || now.After(c.until) {
		c.pool = pool
		c.names, c.until, c.err = verify(r.TLS, pool, now)
	}
	return c.names, c.err
}

// verify checks the certificate of a client.
func verify(state *tls.ConnectionState, pool *x509.CertPool, now time.Time) (names []string, until time.Time,
	err error) {
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	leaf := state.PeerCertificates[0]
	chains, err := leaf.Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return nil, now.Add(lookEvery), fmt.Errorf("the client certificate is not valid: %w", err)
	}
	for _, chain := range chains { // the one that is valid for the longest time
		end := leaf.NotAfter
		for _, c := range chain {
			if c.NotAfter.Before(end) {
				end = c.NotAfter
			}
		}
		if end.After(until) {
			until = end
		}
	}
	return users.CertificateNames(leaf), until, nil
}
