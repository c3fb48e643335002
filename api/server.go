package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"ibsm/api/users"
	"ibsm/connlimit"
	"ibsm/ctl"
	"ibsm/priority"
	"ibsm/rights"
)

// Config of a Server.
type Config struct {
	// Addr is what to listen at, HOST:PORT, or http://HOST:PORT without TLS, on the loopback alone.
	Addr string
	// Certificate and Key are PEM files of the server; "" for a certificate that is made in the directory Dir, or for
	// Dir "" in memory.
	Certificate, Key, Dir string
	ClientCA              string // PEM file of the authorities of client certificates; "" accepts none
	// Users is the file of users; nil: every client that sends a credential is Double.
	Users  *users.Keeper
	Double *rights.User // for simulated fabrics
	// Control serves the control protocol, and Routes are all that is served: those of Control and others.
	Control *ctl.Server
	Routes  []ctl.Route
	// Audit records changes and refusals; it is safe for concurrent use.
	Audit  func(*ctl.Audited)
	Logger *slog.Logger
}

// Limits of the listener.
const (
	maxConns     = 1024 // connections at a time, of which one address has at most half
	userConns    = 128  // of a user; further ones, and those without a user, are closed when there are too many
	maxHeader    = 16 << 10
	maxRequests  = 256      // handled at a time; a user has at most as many as there is room for
	maxStreams   = 64       // requests at a time on a connection of HTTP/2
	maxFrame     = 16 << 10 // bytes of a frame of HTTP/2
	maxReceived  = 64 << 10 // bytes of bodies that a connection of HTTP/2 holds
	headerTime   = 10 * time.Second
	idleTime     = 2 * time.Minute
	userRequests = 1000 // of a user a second, and twice as many at once
)

// Server serves the API. It is safe for concurrent use.
type Server struct {
	cfg         Config
	listener    net.Listener
	plain       bool // without TLS
	certificate *watched[tls.Certificate]
	authorities *watched[x509.CertPool] // nil: no client certificate is accepted
	users       *users.Authenticator
	limits      limits
	routes      *http.ServeMux
	byPattern   map[string]*ctl.Route
	handler     http.Handler // of requests whose path and user were checked

	turns  *turns
	conns  connlimit.Counters
	counts counts
}

// Listen opens the listener, and reads certificates and users.
func Listen(cfg Config) (_ *Server, err error) {
	s := &Server{cfg: cfg, limits: newLimits(), turns: newTurns()}
	addr, plain := strings.CutPrefix(cfg.Addr, "http://")
	if s.plain = plain; plain && !isLoopback(addr) {
		return nil, fmt.Errorf("%s: without TLS passwords can be read on the way: use a loopback address, such as "+
			"http://127.0.0.1:8080, or leave http:// out", cfg.Addr)
	}
	if !s.plain {
		if s.certificate, err = certificates(&cfg); err != nil {
			return nil, err
		}
		if s.authorities, err = clientCAs(cfg.ClientCA, cfg.Logger); err != nil {
			return nil, err
		}
	}
	if cfg.Users != nil {
		if err := cfg.Users.Load(); err != nil {
			return nil, fmt.Errorf("users: %w", err)
		}
		s.users = users.NewAuthenticator(cfg.Users.Users, time.Now, sleep)
	}
	s.routes, s.byPattern = http.NewServeMux(), map[string]*ctl.Route{}
	guard := ctl.Guard{Audit: cfg.Audit}
	for i := range cfg.Routes {
		rt := &cfg.Routes[i]
		s.byPattern[rt.String()] = rt
		s.routes.HandleFunc(rt.String(), guard.Handler(rt))
	}
	s.handler = cfg.Control.Patient(http.HandlerFunc(s.serve))
	s.listener, err = net.Listen("tcp", addr)
	return s, err
}

// sleep waits for a time, or for the end of a context.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isLoopback reports whether an address with a port is one of the loopback.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip, notIP := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || notIP == nil && ip.Unmap().IsLoopback())
}

// Addr is the address of the listener.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is what clients reach it with, if the name of this host leads to it.
func (s *Server) URL() string {
	scheme := map[bool]string{true: "http", false: "https"}[s.plain]
	host, port, _ := net.SplitHostPort(s.Addr())
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		name, _ := os.Hostname()
		host = cmp.Or(name, "localhost")
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// Fingerprint is the SHA-256 of the certificate in force; "" without TLS.
func (s *Server) Fingerprint() string {
	if s.plain {
		return ""
	}
	return Fingerprint(s.certificate.get().Certificate[0])
}

// OwnCertificate reports whether the certificate is one that signs itself, which was made here.
func (s *Server) OwnCertificate() bool { return !s.plain && s.cfg.Certificate == "" }

// suites are those of TLS 1.2 with forward secrecy and authenticated encryption; those of TLS 1.3 all have both.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// Serve serves until ctx is done, or the listener fails. It closes the listener.
func (s *Server) Serve(ctx context.Context) error {
	srv := &http.Server{
		Handler: http.HandlerFunc(s.first), ReadHeaderTimeout: headerTime, ReadTimeout: headerTime,
		IdleTimeout:    idleTime,
		MaxHeaderBytes: maxHeader, ConnContext: withConnection,
		ErrorLog:    slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReadFrameSize: maxFrame,
			MaxReceiveBufferPerConnection: maxReceived, MaxReceiveBufferPerStream: maxReceived,
			SendPingTimeout: headerTime, PingTimeout: headerTime, // which end a frame that is sent slowly
			WriteByteTimeout: headerTime}, // and this ends a client that reads nothing of what waits for it
	}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	priority.AnswerFirst() // handshakes of clients must not keep packets waiting
	limits := connlimit.Limits{Total: maxConns, Peer: maxConns / 2, Kept: userConns}
	l := turnListener{connlimit.New(s.listener, limits, nil, &s.conns), s.turns}
	var err error
	if s.plain {
		err = srv.Serve(l)
	} else {
		srv.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: suites,
			ClientAuth: tls.RequestClientCert,
			NextProtos: []string{"h2", "http/1.1"},
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				return s.certificate.get(), nil
			}}
		err = srv.ServeTLS(l, "", "")
	}
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close closes the listener of a Server that does not serve.
func (s *Server) Close() { s.listener.Close() }
