// Package profile reads profiles of managers that ibsmctl asks over the network: their addresses, how their
// certificates are checked, and the credential. Docs/api.md describes the file.
package profile

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/regularfile"
)

// FileEnv is the environment variable that names the file of profiles.
const FileEnv = "IBSMCTL_PROFILES"

// Limits of a file of profiles, and of the files that it names.
const (
	maxFile    = 1 << 20
	maxServers = 16
)

// Profile is how the managers of a subnet are asked. Names of files are absolute, or relative to the working directory.
type Profile struct {
	Name         string   // "" for one that is of no file
	Servers      []string // URLs
	CA           string   // PEM file of the authorities of the servers; "" for those of the host
	Fingerprints []ctl.Fingerprint
	Certificate  string // PEM files of the client's certificate and its key
	Key          string
	Token        string // or in the first line of TokenFile
	TokenFile    string
	User         string
	PasswordFile string // the first line is the password
}

// Format hides the token, whatever the verb.
func (p Profile) Format(f fmt.State, _ rune) {
	io.WriteString(f, cmp.Or(p.Name, strings.Join(p.Servers, ",")))
}

// HasCredential reports whether the profile has a token, a user or a certificate.
func (p *Profile) HasCredential() bool {
	return p.Token != "" || p.TokenFile != "" || p.User != "" || p.Certificate != ""
}

// Remotes reads the files of the profile, and returns its servers in their order.
func (p *Profile) Remotes() ([]ctl.Remote, error) {
	r := ctl.Remote{TLS: &tls.Config{}, Fingerprints: p.Fingerprints, Token: p.Token, User: p.User}
	if p.CA != "" {
		text, err := read(p.CA, false)
		if err != nil {
			return nil, err
		}
		if r.TLS.RootCAs = x509.NewCertPool(); !r.TLS.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: no certificate in PEM form", p.CA)
		}
	}
	if p.Certificate != "" {
		certificate, err := read(p.Certificate, false)
		if err != nil {
			return nil, err
		}
		key, err := read(p.Key, true)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", p.Certificate, p.Key, err)
		}
		r.TLS.Certificates = []tls.Certificate{pair}
	}
	var err error
	if p.TokenFile != "" {
		if r.Token, err = firstLine(p.TokenFile); err != nil {
			return nil, err
		}
	}
	if p.PasswordFile != "" {
		if r.Password, err = firstLine(p.PasswordFile); err != nil {
			return nil, err
		}
	}
	all := make([]ctl.Remote, len(p.Servers))
	for i, url := range p.Servers {
		all[i] = r
		all[i].URL = url
	}
	return all, nil
}

// firstLine is the secret in a file.
func firstLine(file string) (string, error) {
	text, err := read(file, true)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("%s: the first line is empty", file)
	}
	return line, nil
}

// read reads a file that not everybody can change or, if it is secret, read.
func read(file string, secret bool) ([]byte, error) {
	var files regularfile.Reader
	return files.ReadIf(file, maxFile, func(info fs.FileInfo) error { return isPrivate(file, info, secret) })
}

// isPrivate is an error where users can change a file, or read a secret one, that are neither its owner nor in its
// group.
func isPrivate(file string, info fs.FileInfo, secret bool) error {
	mode := info.Mode().Perm()
	switch {
	case secret && mode&0o007 != 0:
		return fmt.Errorf("all users can read or change %s (mode %04o): chmod o= %s, and revoke what they may have read",
			file, mode, file)
	case mode&0o002 != 0:
		return fmt.Errorf("all users can change %s (mode %04o): chmod o-w %s", file, mode, file)
	}
	return nil
}

// Profiles are those of a file.
type Profiles struct {
	file  string
	named map[string]*Profile
}

// Usual are the files of which the first that exists is read, where the environment names none.
func Usual() (files []string) {
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "ibsmctl.toml"))
	}
	return append(files, "/etc/ibsm/ibsmctl.toml")
}

// Read reads the file that the environment names, or else the first of the usual ones; without any it has no profiles.
func Read(usual []string) (*Profiles, error) {
	if file := os.Getenv(FileEnv); file != "" {
		return readFile(file)
	}
	for _, file := range usual {
		if p, err := readFile(file); !errors.Is(err, fs.ErrNotExist) {
			return p, err
		}
	}
	return &Profiles{file: strings.Join(usual, " or ")}, nil
}

func readFile(file string) (*Profiles, error) {
	var info fs.FileInfo
	var files regularfile.Reader
	text, err := files.ReadIf(file, maxFile, func(of fs.FileInfo) error {
		info = of
		return isPrivate(file, of, false)
	})
	if err != nil {
		return nil, err
	}
	p, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	for _, of := range p.named {
		if of.Token != "" {
			return p, isPrivate(file, info, true)
		}
	}
	return p, nil
}

// Names are the names of the profiles.
func (p *Profiles) Names() []string { return slices.Sorted(maps.Keys(p.named)) }

// Named returns the profile of a name.
func (p *Profiles) Named(name string) (*Profile, error) {
	if of := p.named[name]; of != nil {
		return of, nil
	}
	if p.named == nil {
		return nil, fmt.Errorf("there is no profile %.100q, as there is no file %s", name, p.file)
	}
	return nil, fmt.Errorf("%s has no profile %.100q%s", p.file, name, diag.Meant(name, p.Names()))
}
