package ctl

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Remote is a server of the control protocol that is reached over the network, and the credential for it.
type Remote struct {
	URL string // such as https://sm1.example.com:8443; http is for addresses of this host alone
	TLS *tls.Config
	// Fingerprints are of the certificates that the server may have: if there are some, it must have one of them, and
	// no authority is asked unless TLS.RootCAs is set.
	Fingerprints []Fingerprint
	Token        string // or User and Password, or a certificate in TLS
	User         string
	Password     string
}

// Format hides the credential, whatever the verb.
func (r Remote) Format(f fmt.State, _ rune) { io.WriteString(f, r.URL) }

// Fingerprint is the SHA-256 of a certificate.
type Fingerprint [sha256.Size]byte

// ParseFingerprint parses 64 hexadecimal digits, which may have colons between pairs of them.
func ParseFingerprint(text string) (f Fingerprint, err error) {
	b, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	if err != nil || len(b) != len(f) {
		return f, fmt.Errorf("%.100q is not the SHA-256 fingerprint of a certificate: expected 64 hexadecimal digits, as "+
			"ibsmctl api fingerprint prints them", text)
	}
	return Fingerprint(b), nil
}

// String has colons between pairs of digits.
func (f Fingerprint) String() string {
	return strings.TrimSuffix(strings.ReplaceAll(fmt.Sprintf("% X:", f[:]), " ", ":"), ":")
}

// connectPatience is how long a connection may take, with TLS.
const connectPatience = 10 * time.Second

// Times of a connection.
const (
	silence = 15 * time.Second // without a packet, before the connection is probed, and then until it is given up
	reuse   = 5 * time.Second  // for which a connection that nothing uses is kept; servers keep it longer
)

// CheckURL reports what is wrong with the address of a server.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}

func parseURL(text string) (*url.URL, error) {
	if strings.Contains(text, "@") {
		return nil, errors.New("the address of a server has no user and password: use a profile")
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%.200q is not the address of a server: expected https://HOST:PORT", text)
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return nil, fmt.Errorf("%s: a credential would be sent in plain text: use https", text)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || host == "localhost"
}

// NewTLSClient returns a Client of a server over the network. It follows no redirect and uses no proxy.
func NewTLSClient(r Remote) (*Client, error) {
	base, err := parseURL(r.URL)
	if err != nil {
		return nil, err
	}
	c := &Client{base: base, address: base.String(), remote: true, patience: connectPatience}
	switch {
	case strings.ContainsFunc(r.Token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, fmt.Errorf("%s: the token has characters that no token has", c.address)
	case r.Token != "":
		c.authorization = "Bearer " + r.Token
	case r.User != "":
		c.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(r.User+":"+r.Password))
	}
	conf := &tls.Config{}
	if r.TLS != nil {
		conf = r.TLS.Clone()
	}
	conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12)
	conf.ServerName = cmp.Or(conf.ServerName, base.Hostname())
	conf.NextProtos = []string{"h2", "http/1.1"}
	if len(r.Fingerprints) > 0 {
		pin(conf, r.Fingerprints)
	}
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence, Interval: silence / 3,
		Count: 3}}
	c.http = http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, c.patience)
				defer cancel()
				conn, err := dialer.DialContext(ctx, network, addr)
				return conn, c.unreached(err)
			},
			DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, c.patience)
				defer cancel()
				conn, err := dialTLS(ctx, dialer, conf, network, addr)
				if err != nil {
					return nil, c.unreached(err)
				}
				return conn, nil
			},
			ForceAttemptHTTP2: true, HTTP2: &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence},
			DisableCompression: true, IdleConnTimeout: reuse, ReadBufferSize: 1 << 16,
		}}
	return c, nil
}

func dialTLS(ctx context.Context, d *net.Dialer, conf *tls.Config, network, addr string) (*tls.Conn, error) {
	raw, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, conf)
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}

// errFingerprint is of a certificate that has another fingerprint than those that are expected.
type errFingerprint struct{ got Fingerprint }

func (e *errFingerprint) Error() string {
	return "its certificate has another fingerprint than the expected one: " + e.got.String()
}

// pin has a server show a certificate with one of some fingerprints. It need not be valid otherwise, unless conf has
// authorities.
func pin(conf *tls.Config, to []Fingerprint) {
	conf.InsecureSkipVerify = conf.RootCAs == nil
	conf.VerifyConnection = func(s tls.ConnectionState) error {
		got := FingerprintOf(s.PeerCertificates[0])
		for _, f := range to {
			if got == f {
				return nil
			}
		}
		return &errFingerprint{got}
	}
}

// FingerprintOf is the fingerprint of a certificate.
func FingerprintOf(c *x509.Certificate) Fingerprint { return sha256.Sum256(c.Raw) }

// unreached is the error of a connection that failed, in words.
func (c *Client) unreached(err error) error {
	if err == nil {
		return nil
	}
	f := &Failure{cause: errors.Join(ErrUnreachable, err)}
	f.Err, f.Hint = c.reason(err)
	f.Err = c.address + ": " + f.Err
	return f
}

// reason is why no connection came about, and what to do.
func (c *Client) reason(err error) (text, hint string) {
	var (
		unverified *tls.CertificateVerificationError
		pinned     *errFingerprint
		record     tls.RecordHeaderError
		op         *net.OpError
		timeout    interface{ Timeout() bool }
	)
	isOp := errors.As(err, &op)
	switch {
	case errors.As(err, &pinned):
		return err.Error(), "if the manager has a new certificate, ibsmctl api fingerprint on its host prints this: then " +
			"change the fingerprint of the profile; otherwise another program answers"
	case errors.As(err, &unverified):
		return notTrusted(unverified)
	case errors.As(err, &record) && bytes.HasPrefix(record.RecordHeader[:], []byte("HTTP/")):
		return "plain HTTP is spoken there, not TLS", "name the port of api_addr; those of metrics_addr and leader_addr are others"
	case errors.As(err, &record):
		return "TLS is not spoken there", "name the port of api_addr"
	case isOp && op.Op == "remote error":
		return fmt.Sprintf("the server refuses the connection: %v", op.Err), "see certificate and key of the profile: the " +
			"certificate must be valid, and of an authority that the manager accepts"
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no answer within %v", c.patience), "see whether the host is up, and whether a firewall is " +
			"between"
	case isOp:
		err = op.Err // without the address, which the error has already
	}
	return fmt.Sprintf("%v: %v", ErrUnreachable, err), "see whether the manager runs and has api_addr set to this address"
}

// notTrusted is why a certificate is not accepted.
func notTrusted(err *tls.CertificateVerificationError) (text, hint string) {
	var (
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	leaf := err.UnverifiedCertificates[0]
	switch {
	case errors.As(err, &name):
		return "its certificate is for another name: " + strings.TrimPrefix(name.Error(), "x509: "),
			"use a name that the certificate has, or a certificate with this name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("its certificate is valid from %s to %s only", leaf.NotBefore.Format(time.RFC3339),
			leaf.NotAfter.Format(time.RFC3339)), "see the clocks of both hosts; otherwise the manager needs a new certificate"
	}
	return "its certificate is not of a known authority",
		"set ca in the profile, or --ca, to the file of its authority; if the certificate is self-signed, compare " +
			FingerprintOf(leaf).String() + " with ibsmctl api fingerprint on the manager's host, and set fingerprint to it"
}

// broken is the error of a request that got no reply.
func (c *Client) broken(err error) error {
	f := &Failure{Err: "the manager closed the connection", cause: err,
		Hint: "it has too many connections or is exiting: try again later"}
	if !c.remote {
		return f
	}
	f.Hint = "it has too many connections, is exiting, or wants a client certificate: try again later"
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" { // TLS 1.3 refuses a certificate late
		f.Err, f.Hint = c.reason(err)
	}
	f.Err = c.address + ": " + f.Err
	return f
}

// refused is the error of a reply without a body of the protocol.
func (c *Client) refused(path string, resp *http.Response) string {
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized:
		return c.address + ": the credential is no user's"
	case status == http.StatusForbidden:
		return c.address + ": the user may not do this"
	case status == http.StatusTooManyRequests:
		return c.address + ": too many requests"
	case status == http.StatusServiceUnavailable:
		return c.address + ": the manager cannot do this now"
	case status < http.StatusBadRequest:
		return fmt.Sprintf("%s: a redirect, which is not followed: %s", c.address, resp.Status)
	}
	return fmt.Sprintf("%s: the server answers %s", path, resp.Status)
}

// Leader asks in one word where the manager stands in the election, and whether it is the master whose SA answers. It
// sends no credential.
func (c *Client) Leader(ctx context.Context) (word string, leads bool, err error) {
	resp, err := c.do(ctx, http.MethodGet, "/leader", nil, nil, "")
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	leads = resp.StatusCode == http.StatusOK
	if !leads && (resp.StatusCode != http.StatusServiceUnavailable ||
		!strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain")) {
		return "", false, c.failure("/leader", resp)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 100))
	return strings.TrimSpace(string(text)), leads, err
}
