// Package userstest makes users with a credential of each kind, and certificates, for tests.
package userstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"ibsm/api/users"
	"ibsm/rights"
)

// Password is that of each user.
const Password = "correct horse"

var hashed = sync.OnceValues(func() (users.Password, error) { return users.NewPassword(Password) })

// CertificateName is the name in a user's client certificate.
func CertificateName(user string) string { return "spiffe://cluster/" + user }

// Account is a user with Password, a token, which a client sends, and CertificateName.
func Account(tb testing.TB, u rights.User) (a users.Account, token string) {
	tb.Helper()
	hash, err := hashed()
	if err != nil {
		tb.Fatal(err)
	}
	t, token, err := users.NewToken(time.Now(), 1, "")
	if err != nil {
		tb.Fatal(err)
	}
	return users.Account{User: u, Password: hash, Tokens: []users.Token{t},
		Certificates: []string{CertificateName(u.Name)}}, token
}

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	PEM         []byte
	key         *ecdsa.PrivateKey
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// NewAuthority makes an authority with a name.
func NewAuthority(tb testing.TB, name string) *Authority {
	tb.Helper()
	a := &Authority{key: newKey(tb)}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if a.Certificate, err = x509.ParseCertificate(der); err != nil {
		tb.Fatal(err)
	}
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// AuthorityOf is an authority with a certificate of its own authority, such as one that Authority.Of made.
func AuthorityOf(tb testing.TB, c *tls.Certificate) *Authority {
	tb.Helper()
	key, is := c.PrivateKey.(*ecdsa.PrivateKey)
	if !is {
		tb.Fatalf("the key is a %T", c.PrivateKey)
	}
	return &Authority{Certificate: c.Leaf, key: key}
}

// SignsItself is a DNS name with which Authority.Of makes a certificate that signs itself, without the name.
const SignsItself = "signs itself"

// Of makes a certificate of a client with a name, a URI or a DNS name; "" for none. change may be nil.
func (a *Authority) Of(tb testing.TB, name string, change func(*x509.Certificate)) *tls.Certificate {
	tb.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if u, err := url.Parse(name); err == nil && u.Scheme != "" {
		template.URIs = []*url.URL{u}
	} else if name != "" {
		template.DNSNames = []string{name}
	}
	if change != nil {
		change(template)
	}
	key, parent, signer := newKey(tb), a.Certificate, a.key
	if slices.Contains(template.DNSNames, SignsItself) {
		template.DNSNames, parent, signer = nil, template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		tb.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// PEM are a certificate and its key in PEM form.
func PEM(tb testing.TB, c *tls.Certificate) (certificate, key []byte) {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}
