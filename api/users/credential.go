package users

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/netip"
	"strings"
)

// Credential is what a client presents.
type Credential struct {
	From netip.Addr // the client's address

	// Names are the names of the client's certificate, which was verified: nil without one. CertificateNames makes
	// them. A credential in the header takes precedence.
	Names []string

	// Authorization is the value of the header, "" without one. It is a secret.
	Authorization string `json:"-"`
}

// Format hides the header, whatever the verb.
func (c Credential) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "credential from %v, certificate %q", c.From, c.Names)
}

// CertificateNames are the DNS and URI SANs of a certificate, not nil. A URI without :// and a DNS name with it are
// left out: each could pass for the other kind.
func CertificateNames(c *x509.Certificate) []string {
	names := []string{}
	for _, name := range c.DNSNames {
		if !strings.Contains(name, "://") {
			names = append(names, name)
		}
	}
	for _, uri := range c.URIs {
		if name := uri.String(); strings.Contains(name, "://") {
			names = append(names, name)
		}
	}
	return names
}

// kind is a form of the header.
type kind uint8

const (
	noHeader kind = iota
	withPassword
	withToken
	otherHeader // of no known form
)

// header is a parsed header.
type header struct {
	kind           kind
	user, password string // of withPassword
	token          string // of withToken
}

// Format hides the header, whatever the verb.
func (header) Format(f fmt.State, _ rune) { io.WriteString(f, "hidden") }

// longestHeader is the longest header that is looked at, in bytes: longer than any valid one.
const longestHeader = 1024

// parseHeader parses the value of a header Authorization. UFM's clients send a token also as Basic, as it is or in
// place of a user.
func parseHeader(text string) header {
	text = strings.Trim(text, " \t")
	if text == "" {
		return header{}
	}
	scheme, rest, _ := strings.Cut(text, " ")
	rest = strings.Trim(rest, " \t")
	switch {
	case len(text) > longestHeader || rest == "":
		return header{kind: otherHeader}
	case strings.EqualFold(scheme, "Bearer"), strings.EqualFold(scheme, "Basic") && strings.HasPrefix(rest, tokenPrefix):
		return header{kind: withToken, token: rest}
	case !strings.EqualFold(scheme, "Basic"):
		return header{kind: otherHeader}
	}
	pair, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(rest, "="))
	user, password, both := strings.Cut(string(pair), ":")
	switch {
	case err != nil || !both:
		return header{kind: otherHeader}
	case password == "" && strings.HasPrefix(user, tokenPrefix):
		return header{kind: withToken, token: user}
	}
	return header{kind: withPassword, user: user, password: password}
}
