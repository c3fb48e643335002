package txn

import "time"

// Config of a Table. The zero value means the stated defaults.
type Config struct {
	Timeout time.Duration // of one attempt; 200 ms
	// Retries is how many attempts follow the first: 3; negative for none, at
	// most 14.
	Retries int
	// PortRetries says that the port sends a request again by itself, Retries times after
	// Timeout each, and bounces it after that. Then a request is given to the port once.
	PortRetries bool
	// MaxWindow bounds the window: DefaultMaxWindow, at most 2048. How much of it is used
	// adapts to the fabric. The window never falls below MinWindow: 4, or MaxWindow if that is
	// less.
	MaxWindow, MinWindow int
	// Chosen says that MaxWindow is an operator's choice: only losses, and queues while the window
	// yields, make the window smaller. Otherwise it is small while switches seem to pass SMPs on in their agents, too.
	Chosen    bool
	PerDevice int // requests by directed route under way at one device; 2
}

const (
	// maxParked is how many requests may wait for their devices before Room is 0.
	maxParked = 1024
	// maxOnWire bounds the requests that wait for an answer, those included that have left the
	// window, unless MaxWindow is larger.
	maxOnWire = DefaultMaxWindow
)

func (c Config) withDefaults() Config {
	if c.Timeout <= 0 {
		c.Timeout = 200 * time.Millisecond
	}
	if c.Retries == 0 {
		c.Retries = 3
	}
	c.Retries = min(max(c.Retries, 0), maxAttempts-1)
	if c.MaxWindow <= 0 {
		c.MaxWindow = DefaultMaxWindow
	}
	c.MaxWindow = min(c.MaxWindow, maxMaxWindow)
	if c.MinWindow <= 0 {
		c.MinWindow = minWindow
	}
	c.MinWindow = min(c.MinWindow, c.MaxWindow)
	if c.PerDevice <= 0 {
		c.PerDevice = perDevice
	}
	return c
}
