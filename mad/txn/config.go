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
	// MaxWindow bounds the packets on the wire: DefaultMaxWindow, at most 2048.
	// How many of them are used adapts to the fabric.
	MaxWindow int
	PerNode   int // requests under way at one node; 4
}

// maxParked is how many requests may wait for their nodes before Room is 0.
const maxParked = 1024

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
	if c.PerNode <= 0 {
		c.PerNode = 4
	}
	return c
}
