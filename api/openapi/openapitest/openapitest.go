// Package openapitest checks the replies that tests get against the description of the requests.
package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Reply is a request and its reply.
type Reply struct {
	Method, Path string // with the query
	BodyType     string
	Body         []byte
	Status       int
	Type         string
	Reply        []byte
	// Lenient has the request not checked: the server accepts more than the description says.
	Lenient bool
}

// Recorder keeps replies, equal ones once. The zero value is ready. Its methods are safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex
	seen   map[string]bool
	text   []byte   // replies as JSON, one after the other
	bodies [][]byte // of replies
}

// Add keeps a reply.
func (r *Recorder) Add(of Reply) error {
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	if !r.seen[string(text)] {
		r.seen[string(text)] = true
		r.text = append(r.text, text...)
		r.bodies = append(r.bodies, of.Reply)
	}
	return nil
}

// Len is the number of replies that are kept.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen)
}

// Text is all replies in some form, one after the other.
func (r *Recorder) Text() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.bodies...)
}

// Transport keeps the replies that another transport gets, except those without an end.
func (r *Recorder) Transport(to http.RoundTripper) http.RoundTripper { return transport{r, to} }

type transport struct {
	*Recorder
	to http.RoundTripper
}

// CloseIdleConnections is for http.Client.
func (t transport) CloseIdleConnections() {
	if to, is := t.to.(interface{ CloseIdleConnections() }); is {
		to.CloseIdleConnections()
	}
}

// RoundTrip sends a request, and reads the whole reply.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Has("follow") {
		return t.to.RoundTrip(req)
	}
	of := Reply{Method: req.Method, Path: req.URL.RequestURI(), BodyType: req.Header.Get("Content-Type")}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		of.Body = body
		if req = req.Clone(req.Context()); len(body) > 0 {
			req.Body = io.NopCloser(bytes.NewReader(body))
		}
	}
	resp, err := t.to.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	of.Reply, err = io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(of.Reply))
	of.Status, of.Type = resp.StatusCode, resp.Header.Get("Content-Type")
	return resp, t.Add(of)
}

// ErrNoValidator is the error where the validator cannot be had.
var ErrNoValidator = errors.New("the modules of the validator of OpenAPI cannot be downloaded")

// Validate checks a description, and the replies against it. The error says what is wrong.
func (r *Recorder) Validate(document []byte) error {
	list, err := exec.Command("go", "list", "-f", "{{.Dir}}", "ibsm/api/openapi/openapitest").Output()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "openapi-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "openapi.json")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		return err
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command("go", args...)
		cmd.Dir = filepath.Join(strings.TrimSpace(string(list)), "testdata/validate") // a module of its own
		return cmd
	}
	if out, err := command("mod", "download").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %v: %s", ErrNoValidator, err, out)
	}
	cmd := command("run", ".", file)
	r.mu.Lock()
	cmd.Stdin = bytes.NewReader(r.text)
	r.mu.Unlock()
	if out, err := cmd.CombinedOutput(); err != nil {
		const most = 20_000
		return fmt.Errorf("the description, or a reply, is not valid (%w):\n%.*s", err, most, out)
	}
	return nil
}

// Check is Validate for a test, which is skipped where the validator cannot be had.
func (r *Recorder) Check(t *testing.T, document []byte) {
	t.Helper()
	switch err := r.Validate(document); {
	case errors.Is(err, ErrNoValidator):
		t.Skip(err)
	case err != nil:
		t.Error(err)
	}
}
