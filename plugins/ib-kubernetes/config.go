package ibsm

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Config says where the managers are and who asks.
type Config struct {
	Servers []string // https://HOST:PORT of each manager, or of one address that leads to the master
	// CA is the authorities of the managers' certificates in PEM form; "" for those of the system.
	CA string
	// Token is the credential, or else TokenFile has it and is read for each request, or else CertFile and KeyFile have
	// the client's certificate and are read for each connection.
	Token, TokenFile  string
	CertFile, KeyFile string
	// Devices are the adapters of a node that GetNodeIBDevices returns: names, or patterns such as mlx5_[0-7]; none for
	// all.
	Devices []string
}

// FromEnv is the Config of environment variables, as getenv returns them.
func FromEnv(getenv func(string) string) Config {
	return Config{Servers: list(getenv("IBSM_SERVERS")), CA: getenv("IBSM_CERTIFICATE"), Token: getenv("IBSM_TOKEN"),
		TokenFile: getenv("IBSM_TOKEN_FILE"), CertFile: getenv("IBSM_CLIENT_CERT_FILE"),
		KeyFile: getenv("IBSM_CLIENT_KEY_FILE"), Devices: list(getenv("IBSM_DEVICES"))}
}

// list are the parts of a text between commas.
func list(text string) (parts []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// check reports what is wrong with the Config, by its variables.
func (c *Config) check() error {
	if len(c.Servers) == 0 {
		return errors.New("IBSM_SERVERS is not set: expected https://HOST:PORT of the managers, such as https://ibsm.ibsm.svc")
	}
	for _, server := range c.Servers {
		u, err := url.Parse(server)
		if err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
			u.User != nil {
			return fmt.Errorf("IBSM_SERVERS: %q: expected https://HOST:PORT", server)
		}
	}
	credentials := 0
	for _, given := range []string{c.Token, c.TokenFile, c.CertFile} {
		if given != "" {
			credentials++
		}
	}
	if credentials != 1 || (c.CertFile == "") != (c.KeyFile == "") {
		return errors.New("set one of IBSM_TOKEN, IBSM_TOKEN_FILE, and IBSM_CLIENT_CERT_FILE with IBSM_CLIENT_KEY_FILE")
	}
	return nil
}

// tls is how the managers are verified, and what they verify.
func (c *Config) tls() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM([]byte(c.CA)) {
			return nil, errors.New("IBSM_CERTIFICATE has no certificate in PEM form")
		}
	}
	if c.CertFile == "" {
		return t, nil
	}
	read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		return &cert, err
	}
	t.GetClientCertificate = read
	_, err := read(nil)
	return t, err
}
