package api

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ibsm/atomicfile"
)

// Names of the certificate that is made, and of its key, in Config.Dir.
const (
	certificateName = "api.crt"
	keyName         = "api.key"
)

// ownLifetime is how long a certificate that is made is valid.
const ownLifetime = 10 * 365 * 24 * time.Hour

// Fingerprint is the SHA-256 of a certificate, as openssl x509 -fingerprint -sha256 prints it.
func Fingerprint(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	text := strings.ToUpper(hex.EncodeToString(sum[:]))
	pairs := make([]string, 0, len(sum))
	for i := 0; i < len(text); i += 2 {
		pairs = append(pairs, text[i:i+2])
	}
	return strings.Join(pairs, ":")
}

// certificates are the server's certificate, which is read again when its files change. Without files one is made in a
// directory, or for dir "" in memory alone.
func certificates(cfg *Config) (*watched[tls.Certificate], error) {
	w := &watched[tls.Certificate]{what: "certificate", paths: []string{cfg.Certificate, cfg.Key}, check: isPrivateKey(cfg),
		parse: parsePair, logger: cfg.Logger}
	if cfg.Certificate != "" {
		return w, w.load()
	}
	if cfg.Dir == "" {
		certificate, key, err := newCertificate(cfg)
		if err != nil {
			return nil, err
		}
		pair, err := parsePair([][]byte{certificate, key})
		w.paths = nil
		w.value.Store(pair)
		return w, err
	}
	w.paths = []string{filepath.Join(cfg.Dir, certificateName), filepath.Join(cfg.Dir, keyName)}
	w.check = func(path string, info fs.FileInfo) error {
		if filepath.Base(path) == keyName {
			return isPrivate(path, info)
		}
		return nil
	}
	err := w.load()
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	certificate, key, err := newCertificate(cfg)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, err
	}
	// The certificate comes last: where it is missing, the pair is made again.
	for _, f := range []struct {
		path string
		mode os.FileMode
		text []byte
	}{{w.paths[1], 0o600, key}, {w.paths[0], 0o644, certificate}} {
		err := atomicfile.Replace(f.path, f.mode, true, func(to io.Writer) error {
			_, err := to.Write(f.text)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return w, w.load()
}

// isPrivateKey checks the owner and the mode of the key's file.
func isPrivateKey(cfg *Config) func(string, fs.FileInfo) error {
	return func(path string, info fs.FileInfo) error {
		if path != cfg.Key {
			return nil
		}
		return isPrivate(path, info)
	}
}

// isPrivate refuses a key that users other than root and that of this process, or its group, can read or change.
func isPrivate(path string, info fs.FileInfo) error {
	st, known := info.Sys().(*syscall.Stat_t)
	switch {
	case known && st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, who can read and change it: chown it to root", path, st.Uid)
	case info.Mode().Perm()&0o037 != 0:
		return fmt.Errorf("other users can read or change %s (mode %04o): chmod 600 %s", path, info.Mode().Perm(), path)
	}
	return nil
}

// parsePair parses a certificate with its chain, and its key.
func parsePair(texts [][]byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return nil, fmt.Errorf("the certificate and its key: %w", err)
	}
	return &pair, nil
}

// newCertificate makes a certificate that signs itself, for the names and addresses of this host, and its key.
func newCertificate(cfg *Config) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	host, _ := os.Hostname()
	names := []string{"localhost"}
	if host != "" {
		names = append(names, host)
	}
	addrs := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	if bound, _, err := net.SplitHostPort(cfg.Addr); err == nil {
		if ip := net.ParseIP(bound); ip != nil && !ip.IsUnspecified() && !ip.IsLoopback() {
			addrs = append(addrs, ip)
		}
	}
	template := &x509.Certificate{SerialNumber: serial,
		Subject:   pkix.Name{CommonName: "ibsm " + cmp.Or(host, "localhost")},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(ownLifetime),
		DNSNames: names, IPAddresses: addrs,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}

// clientCAs are the authorities of client certificates; nil where there are none.
func clientCAs(path string, logger *slog.Logger) (*watched[x509.CertPool], error) {
	if path == "" {
		return nil, nil
	}
	w := &watched[x509.CertPool]{what: "authorities of client certificates", paths: []string{path}, logger: logger,
		parse: func(texts [][]byte) (*x509.CertPool, error) {
			pool := x509.NewCertPool()
			if !pool.AppendCertsFromPEM(texts[0]) {
				return nil, fmt.Errorf("%s has no certificate in PEM form", path)
			}
			return pool, nil
		}}
	return w, w.load()
}
