package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ibsm/atomicfile"
	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/mad/capture"
	"ibsm/manager"
)

// capturePatience is how long a requested sweep may take that is recorded.
const capturePatience = 2 * time.Minute

// captures records packets of the managers that run one after the other, one recording at a time. It is safe for
// concurrent use.
type captures struct {
	recorder capture.Recorder
	mu       sync.Mutex  // guards sweeping
	sweeping *sweepAwait // the recording that waits for a sweep; nil for none
}

// sweepAwait is the wait for a heavy sweep that begins after a time.
type sweepAwait struct {
	from  time.Time
	up    bool          // only one that brings the subnet up counts
	ended chan struct{} // closed by the end of the sweep
}

// wrap records the packets that a port sends and receives.
func (c *captures) wrap(p *Port) {
	p.SMI = c.recorder.Wrap(p.SMI)
	if p.GSI != nil {
		p.GSI = c.recorder.Wrap(p.GSI)
	}
}

// swept takes the end of a heavy sweep.
func (c *captures) swept(up manager.Up) {
	c.mu.Lock()
	w := c.sweeping
	ends := w != nil && !time.Now().Add(-up.Took).Before(w.from) && !(w.up && up.Errors)
	if ends {
		c.sweeping = nil
	}
	c.mu.Unlock()
	if ends {
		close(w.ended)
	}
}

// begin begins a recording of the next heavy sweep.
func (c *captures) begin(up bool) (*capture.Recording, *sweepAwait, error) {
	rec, err := c.recorder.Begin("ibsm " + conf.Version)
	if err != nil {
		return nil, nil, err
	}
	w := &sweepAwait{from: rec.Start(), up: up, ended: make(chan struct{})}
	c.mu.Lock()
	c.sweeping = w
	c.mu.Unlock()
	return rec, w, nil
}

// finish waits for the sweep, and for responses that come late, and returns the file. When ctx is done the recording
// ends with the cause.
func (c *captures) finish(ctx context.Context, rec *capture.Recording, w *sweepAwait) []byte {
	defer func() {
		c.mu.Lock()
		if c.sweeping == w {
			c.sweeping = nil
		}
		c.mu.Unlock()
	}()
	var late <-chan time.Time
	swept := w.ended
	for {
		select {
		case <-swept:
			swept, late = nil, time.After(capture.Tail)
		case <-late:
			return rec.End("the sweep has ended")
		case <-rec.Done():
			return rec.End("")
		case <-ctx.Done():
			return rec.End(context.Cause(ctx).Error())
		}
	}
}

// capture records a heavy sweep that it requests, for the client of the control socket.
func (d *daemon) capture(client context.Context) ([]byte, error) {
	rec, w, err := d.captures.begin(false)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ctl.ErrNotNow, err)
	}
	ctx, cancel := context.WithTimeoutCause(client, capturePatience,
		fmt.Errorf("the sweep has taken more than %v", capturePatience))
	defer cancel()
	if err := d.control.Order(ctx, ctl.HeavySweep); err != nil {
		rec.End("no sweep")
		return nil, err
	}
	file := d.captures.finish(ctx, rec, w)
	return file, client.Err()
}

var errEnding = errors.New("ibsm has ended")

// recordStart records the first heavy sweeps, until one brings the subnet up, if --record asks for it.
func (d *daemon) recordStart() error {
	name := d.conf.Record
	if name == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return &UsageError{Text: fmt.Sprintf("--record %s: %s is not a directory", name, filepath.Dir(name))}
	}
	rec, w, err := d.captures.begin(true)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(context.Background())
	d.tasks.start(func() {
		file := d.captures.finish(ctx, rec, w)
		if err := atomicfile.Write(name, 0o600, file); err != nil {
			d.logger.Error("cannot write the recording", "file", name, "reason", err)
			return
		}
		d.logger.Info("recording written", "file", name, "bytes", len(file))
	}, func() { end(errEnding) })
	return nil
}
