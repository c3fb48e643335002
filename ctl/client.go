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
	"strconv"
	"time"
)

// Client sends requests to the server of a socket, or to one over the network. It is safe for concurrent use.
type Client struct {
	base          *url.URL
	address       string
	remote        bool
	authorization string        // the header; "" for none
	patience      time.Duration // for a connection over the network
	names         []byte        // a node-name-map for replies with names in texts; nil for the manager's
	http          http.Client
}

// ErrUnreachable reports that no process serves the socket or the address, or that it denies access.
var ErrUnreachable = errors.New("no manager is running there")

// maxReply bounds a reply that the Client holds in memory, in bytes.
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
			err = op.Err // without the path, which the message has already
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return &Client{
		base: &url.URL{Scheme: "http", Host: "ibsm"}, address: path, http: http.Client{
			Transport: &http.Transport{DialContext: dial, DisableCompression: true, DisableKeepAlives: true,
				ReadBufferSize: 1 << 16},
		},
	}
}

// Address is the path of the socket, or the URL of the server.
func (c *Client) Address() string { return c.address }

// Remote reports whether the server is reached over the network.
func (c *Client) Remote() bool { return c.remote }

// Close ends connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get requests a value. query and into may be nil. The error is a *Failure if the server
// answered with an error.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	return c.value(ctx, http.MethodGet, path, query, into)
}

// Post requests an action; otherwise it is like Get.
func (c *Client) Post(ctx context.Context, path string, query url.Values, into any) error {
	return c.value(ctx, http.MethodPost, path, query, into)
}

func (c *Client) value(ctx context.Context, method, path string, query url.Values, into any) error {
	body, err := c.Open(ctx, method, path, query)
	if err != nil {
		return err
	}
	return readReply(path, body, into)
}

// readReply reads a reply of one value, and closes it. into may be nil.
func readReply(path string, body io.ReadCloser, into any) error {
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
		return fmt.Errorf("%s: invalid reply: %w", path, err)
	}
	return nil
}

// Named has nodes in the sentences and dumps of further replies have the names of a node-name-map, in place of the
// manager's. Call it before the Client is shared.
func (c *Client) Named(nodeNameMap []byte) { c.names = nodeNameMap }

// Open sends a request and returns the body of the reply, which the caller closes.
func (c *Client) Open(ctx context.Context, method, path string, query url.Values) (io.ReadCloser, error) {
	if takesNames(path) {
		return c.send(ctx, method, path, query, c.names)
	}
	return c.send(ctx, method, path, query, nil)
}

// Fetch sends a GET and returns the reply, whatever its status is. The caller closes its body.
func (c *Client) Fetch(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	return c.do(ctx, http.MethodGet, path, query, nil, c.authorization)
}

// send is Open with a request body.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, text []byte) (io.ReadCloser, error) {
	resp, err := c.do(ctx, method, path, query, text, c.authorization)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	return nil, c.failure(path, resp)
}

// do sends a request and returns the reply, whatever its status is.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, text []byte,
	authorization string) (*http.Response, error) {
	u := url.URL{Scheme: c.base.Scheme, Host: c.base.Host, Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the URL, which does not help
		}
		// net/http reports a reply before the request, as to a refused connection, with an
		// untyped error.
		if !errors.Is(err, ErrUnreachable) && ctx.Err() == nil {
			err = c.broken(err)
		}
		return nil, err
	}
	return resp, nil
}

// failure is the error of a reply.
func (c *Client) failure(path string, resp *http.Response) error {
	f := &Failure{}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(f); err != nil || f.Err == "" {
		f.Err = c.refused(path, resp)
	}
	f.Status = resp.StatusCode
	if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && f.Hint == "" {
		f.Hint = fmt.Sprintf("try again in %v", time.Duration(after)*time.Second)
	}
	return f
}

// All reads a list of elements of type T while it arrives, and passes each to a function,
// which may keep it. It returns an error if the list is incomplete.
func All[T any](ctx context.Context, c *Client, method, path string, query url.Values, each func(*T) error) error {
	body, err := c.Open(ctx, method, path, query)
	if err != nil {
		return err
	}
	return Elements(body, path, each)
}

// PlanPartitions makes a manager read the text of a partition file, or its own file for "",
// and passes on each row of the changes that it would make. Nothing changes.
func (c *Client) PlanPartitions(ctx context.Context, text []byte, each func(*PartitionRow) error) error {
	body, err := c.send(ctx, http.MethodPost, partitionPlan, nil, text)
	if err != nil {
		return err
	}
	return Elements(body, partitionPlan, each)
}

// ApplyPartitions makes a manager apply its own partition file, with force even with dangerous
// lines; rows are as for PlanPartitions.
func (c *Client) ApplyPartitions(ctx context.Context, force bool, each func(*PartitionRow) error) error {
	query := url.Values{}
	if force {
		query.Set("force", "1")
	}
	return All(ctx, c, http.MethodPost, "/v1/partitions/apply", query, each)
}

// ChangePartition sends a PUT, PATCH or DELETE of a partition of callers.
func (c *Client) ChangePartition(ctx context.Context, method, name string, query url.Values,
	text []byte) (*PartitionChanged, error) {
	path := partitionPath + name
	body, err := c.send(ctx, method, path, query, text)
	if err != nil {
		return nil, err
	}
	done := &PartitionChanged{}
	return done, readReply(path, body, done)
}

// NamedPartition requests a partition with its members; seconds is for how long to wait until it is ready, 0 for not.
func (c *Client) NamedPartition(ctx context.Context, name string, seconds int) (*Partition, error) {
	query := url.Values{}
	if seconds > 0 {
		query.Set("wait", "ready")
		query.Set("seconds", fmt.Sprint(min(seconds, maxReady)))
	}
	path := partitionPath + name
	body, err := c.Open(ctx, http.MethodGet, path, query)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	p := &Partition{} // which may have many members
	if err := json.NewDecoder(bufio.NewReaderSize(body, 1<<16)).Decode(p); err != nil {
		return nil, fmt.Errorf("%s: invalid reply: %w", path, err)
	}
	return p, nil
}

// Plan passes on each step of a plan, and returns the rest of it.
func (c *Client) Plan(ctx context.Context, query url.Values, each func(*string) error) (PlanHead, error) {
	const path = "/v1/plan"
	body, err := c.Open(ctx, http.MethodPost, path, query)
	if err != nil {
		return PlanHead{}, err
	}
	return elements(body, path, each)
}

// Elements reads the list in the body of a reply, as All does, and closes it.
func Elements[T any](body io.ReadCloser, path string, each func(*T) error) error {
	_, err := elements(body, path, each)
	return err
}

// elements also returns the members of a plan, which other lists do not have.
func elements[T any](body io.ReadCloser, path string, each func(*T) error) (head PlanHead, err error) {
	defer body.Close()
	d := json.NewDecoder(bufio.NewReaderSize(body, 1<<16))
	if _, err = d.Token(); err != nil { // the beginning of the object
		return head, fmt.Errorf("%s: invalid reply: %w", path, err)
	}
	for { // the list is the value of the last member
		key, err := d.Token()
		if err != nil {
			return head, fmt.Errorf("%s: invalid reply: %w", path, err)
		}
		if into := map[any]any{"unrouted": &head.Unrouted, "change": &head.Change,
			"settings": &head.Settings}[key]; into != nil {
			if err := d.Decode(into); err != nil {
				return head, fmt.Errorf("%s: invalid reply: %w", path, err)
			}
			continue
		}
		value, err := d.Token()
		if err != nil {
			return head, fmt.Errorf("%s: invalid reply: %w", path, err)
		}
		if value == json.Delim('[') {
			break
		}
		switch key {
		case "outdated":
			head.Outdated = value == true
		case "routes":
			head.Routes, _ = value.(string)
		}
	}
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			return head, fmt.Errorf("%s: incomplete reply: %w", path, err)
		}
		if err := each(&v); err != nil {
			return head, err
		}
	}
	for range 2 { // the end shows that the list is complete
		if _, err := d.Token(); err != nil {
			return head, fmt.Errorf("%s: incomplete reply: %w", path, err)
		}
	}
	return head, nil
}

// Follow reads events as they arrive, until ctx is done, the manager exits or each fails.
func (c *Client) Follow(ctx context.Context, since uint64, each func(*Event) error) error {
	return c.events(ctx, url.Values{"since": {fmt.Sprint(since)}, "follow": {"1"}}, each)
}

// Events reads the stored events after number since.
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
