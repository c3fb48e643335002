// Package ibsm is what ib-kubernetes needs of a subnet manager, with partitions of ibsm: P_Keys of ports by the control
// protocol over HTTPS (docs/ctl.md of ibsm). The package plugin makes a plug-in of it.
package ibsm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Client speaks to the managers of a subnet. It is safe for concurrent use.
type Client struct {
	cfg  Config
	http http.Client
	next atomic.Int64 // index of the server that answered last
}

// Limits of a request.
const (
	patience   = 30 * time.Second // for the whole reply: partitions have up to 250,000 members
	connecting = 5 * time.Second
	maxFailure = 64 << 10 // bytes of a reply that says what is wrong
)

// New is a Client. It asks no manager yet.
func New(cfg Config) (*Client, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	secure, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg}
	c.http = http.Client{
		Timeout: patience,
		Transport: &http.Transport{TLSClientConfig: secure, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: connecting, DialContext: (&net.Dialer{Timeout: connecting}).DialContext},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// Failure is the reply of a manager that refused a request.
type Failure struct {
	Status int    `json:"-"`
	Text   string `json:"error"`
	Hint   string `json:"hint"`
}

func (f *Failure) Error() string {
	text := f.Text
	if text == "" {
		text = http.StatusText(f.Status)
	}
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return fmt.Sprintf("%s, status %d", text, f.Status)
}

// is reports whether an error is a reply with a status.
func is(err error, status int) bool {
	var f *Failure
	return errors.As(err, &f) && f.Status == status
}

// request is a request that may be sent more than once: it has the same effect.
type request struct {
	method string
	path   string // with the query
	body   any    // nil for none
	absent bool   // only if there is no such partition
}

// do sends a request to the managers until one carries it out, and passes the body of the reply on. A manager that is
// not master, or does not answer, is asked once again after the others.
func (c *Client) do(r request, read func(io.Reader) error) error {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return err
		}
	}
	var failed []string
	first, n := int(c.next.Load()), len(c.cfg.Servers)
	for try := range 2 * n {
		i := (first + try) % n
		err := c.ask(c.cfg.Servers[i], &r, body, read)
		var f *Failure
		switch {
		case err == nil, errors.As(err, &f) && f.Status != http.StatusServiceUnavailable:
			c.next.Store(int64(i))
			if err != nil {
				err = fmt.Errorf("%s %s of %s: %w", r.method, r.path, c.cfg.Servers[i], err)
			}
			return err
		}
		// an address that leads to the master may lead elsewhere by now
		c.http.CloseIdleConnections()
		if try < n {
			failed = append(failed, fmt.Sprintf("%s: %v", c.cfg.Servers[i], err))
		}
	}
	return fmt.Errorf("%s %s: no manager carries it out: %s", r.method, r.path, strings.Join(failed, "; "))
}

// ask sends a request to one manager.
func (c *Client) ask(server string, r *request, body []byte, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(context.Background(), r.method, strings.TrimSuffix(server, "/")+r.path,
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.absent {
		req.Header.Set("If-None-Match", "*")
	}
	if token, err := c.token(); err != nil {
		return err
	} else if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var known *url.Error
		if errors.As(err, &known) {
			err = known.Err // without the address again
		}
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		f := &Failure{Status: resp.StatusCode}
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxFailure))
		json.Unmarshal(text, f) // or it is none of a manager's
		return f
	}
	if read == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	return read(resp.Body)
}

// token is the credential; "" for a client certificate.
func (c *Client) token() (string, error) {
	if c.cfg.TokenFile == "" {
		return c.cfg.Token, nil
	}
	text, err := os.ReadFile(c.cfg.TokenFile)
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = fmt.Errorf("%s is empty", c.cfg.TokenFile)
	}
	return string(bytes.TrimSpace(text)), err
}

// into reads a reply into a value.
func into(value any) func(io.Reader) error {
	return func(r io.Reader) error { return json.NewDecoder(r).Decode(value) }
}

// elements reads the elements of a list of a reply while it arrives.
func elements[T any](list string, each func(*T)) func(io.Reader) error {
	return func(r io.Reader) error {
		d := json.NewDecoder(r)
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return fmt.Errorf("the reply is no object: %v", err)
		}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if name != list {
				var other json.RawMessage
				if err := d.Decode(&other); err != nil {
					return err
				}
				continue
			}
			if t, err := d.Token(); err != nil || t != json.Delim('[') {
				return fmt.Errorf("%s is no list: %v", list, err)
			}
			for d.More() {
				var row T
				if err := d.Decode(&row); err != nil {
					return err
				}
				each(&row)
			}
			if _, err := d.Token(); err != nil {
				return err
			}
		}
		_, err := d.Token() // an incomplete list is an error
		return err
	}
}
