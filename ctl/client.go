package ctl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// Client asks the server of a socket. Any number of goroutines may use it.
type Client struct {
	path string
	http http.Client
}

// ErrUnreachable says that nobody serves the socket, or not us.
var ErrUnreachable = errors.New("no manager answers")

// maxReply bounds what a Client takes that it holds as a whole.
const maxReply = 1 << 20

// NewClient returns a Client of the socket at a path.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "unix", path)
		if err == nil {
			return c, nil
		}
		if op := (*net.OpError)(nil); errors.As(err, &op) {
			err = op.Err // without the path, which is told already
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return &Client{path: path, http: http.Client{Transport: &http.Transport{DialContext: dial, DisableCompression: true, ReadBufferSize: 1 << 16}}}
}

// Path is the socket's.
func (c *Client) Path() string { return c.path }

// Close ends connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get asks for a value; Post tells to do something. Query may be nil, and so may into.
// The error is a *Failure where the server answered with one.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	return c.value(ctx, http.MethodGet, path, query, into)
}

// Post is as Get.
func (c *Client) Post(ctx context.Context, path string, query url.Values, into any) error {
	return c.value(ctx, http.MethodPost, path, query, into)
}

func (c *Client) value(ctx context.Context, method, path string, query url.Values, into any) error {
	body, err := c.Open(ctx, method, path, query)
	if err != nil {
		return err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxReply+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case len(text) > maxReply:
		return fmt.Errorf("%s: the reply is longer than %d bytes", path, maxReply)
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: the reply is not understood: %w", path, err)
	}
	return nil
}

// Open asks, and returns the reply to be read by the caller, who closes it.
func (c *Client) Open(ctx context.Context, method, path string, query url.Values) (io.ReadCloser, error) {
	return c.send(ctx, method, path, query, nil)
}

// send is Open with a body.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, text []byte) (io.ReadCloser, error) {
	u := url.URL{Scheme: "http", Host: "ibsm", Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the URL, which is of no use to anybody
		}
		// Of a connection that is refused with a reply before there is a request, net/http
		// tells by an error of no type.
		if !errors.Is(err, ErrUnreachable) && ctx.Err() == nil {
			err = &Failure{"the manager closed the connection", "it has too many of them, or is about to end: try again later"}
		}
		return nil, err
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	f := &Failure{}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(f); err != nil || f.Err == "" {
		f.Err = fmt.Sprintf("%s: the server answers %s", path, resp.Status)
	}
	return nil, f
}

// All reads a list of elements of type T as it comes, and passes each, which is its to
// keep. An error says so when the list is not whole.
func All[T any](ctx context.Context, c *Client, method, path string, query url.Values, each func(*T) error) error {
	body, err := c.Open(ctx, method, path, query)
	if err != nil {
		return err
	}
	return Elements(body, path, each)
}

// PlanPartitions has a manager read the text of a partition file, or of "" its own file,
// and passes each row of what it would do. Nothing changes. ApplyPartitions has it bring
// its own file into force.
func (c *Client) PlanPartitions(ctx context.Context, text []byte, each func(*PartitionRow) error) error {
	body, err := c.send(ctx, http.MethodPost, partitionPlan, nil, text)
	if err != nil {
		return err
	}
	return Elements(body, partitionPlan, each)
}

// ApplyPartitions is as PlanPartitions.
func (c *Client) ApplyPartitions(ctx context.Context, each func(*PartitionRow) error) error {
	return All(ctx, c, http.MethodPost, "/v1/partitions/apply", nil, each)
}

// Elements reads the list that is the body of a reply, of elements of type T, as All does, and
// closes it.
func Elements[T any](body io.ReadCloser, path string, each func(*T) error) error {
	defer body.Close()
	d := json.NewDecoder(bufio.NewReaderSize(body, 1<<16))
	for { // the list is the value of the last member
		token, err := d.Token()
		if err != nil {
			return fmt.Errorf("%s: the reply is not understood: %w", path, err)
		}
		if token == json.Delim('[') {
			break
		}
	}
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			return fmt.Errorf("%s: the reply ends early: %w", path, err)
		}
		if err := each(&v); err != nil {
			return err
		}
	}
	for range 2 { // that it is whole is shown by its end
		if _, err := d.Token(); err != nil {
			return fmt.Errorf("%s: the reply ends early: %w", path, err)
		}
	}
	return nil
}

// Follow reads events as they come, until ctx is done, the manager ends or each fails.
func (c *Client) Follow(ctx context.Context, since uint64, each func(*Event) error) error {
	return c.events(ctx, url.Values{"since": {fmt.Sprint(since)}, "follow": {"1"}}, each)
}

// Events reads the events after number since that are still kept.
func (c *Client) Events(ctx context.Context, since uint64, each func(*Event) error) error {
	return c.events(ctx, url.Values{"since": {fmt.Sprint(since)}}, each)
}

func (c *Client) events(ctx context.Context, query url.Values, each func(*Event) error) error {
	body, err := c.Open(ctx, http.MethodGet, "/v1/events", query)
	if err != nil {
		return err
	}
	defer body.Close()
	d := json.NewDecoder(body)
	for {
		var e Event
		if err := d.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("events: %w", err)
		}
		if err := each(&e); err != nil {
			return err
		}
	}
}
