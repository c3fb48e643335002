package capture

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ibsm/mad"
)

const (
	// MaxPackets is how many packets a recording takes, and Read: about those of a cold start of 15,000
	// hosts.
	MaxPackets = 1 << 20
	// MaxSize is how large a file gets, in bytes; its last block may exceed it. A packet takes about 40.
	MaxSize = 64 << 20
	// Tail is how long a recording goes on after what it is about, for responses that come late. Read
	// says of requests that were sent within Tail of the end that nobody knows whether they were answered.
	Tail = time.Second
)

// Recorder is where recordings of a manager begin. The zero value is ready for use. It is safe for
// concurrent use.
type Recorder struct {
	current atomic.Pointer[Recording]
}

// ErrBusy is the error of Begin while something else is recorded.
var ErrBusy = errors.New("a recording is under way")

// Begin begins a recording. Program is the name and the version of the program.
func (r *Recorder) Begin(program string) (*Recording, error) {
	rec := &Recording{recorder: r, start: time.Now(), done: make(chan struct{})}
	rec.zip, _ = gzip.NewWriterLevel(&rec.file, gzip.BestSpeed) // the level is a valid one
	rec.out = blocks{w: rec.zip}
	rec.out.section(program, rec.start)
	if !r.current.CompareAndSwap(nil, rec) {
		return nil, ErrBusy
	}
	return rec, nil
}

// Wrap is a port whose packets are recorded while there is a recording.
func (r *Recorder) Wrap(p mad.Port) mad.Port { return &port{p, r} }

// Recording is a file that is being written, in memory. It is safe for concurrent use.
type Recording struct {
	recorder *Recorder
	start    time.Time
	done     chan struct{} // closed when the recording has ended

	mu      sync.Mutex // guards the following
	file    bytes.Buffer
	zip     *gzip.Writer
	out     blocks
	packets int
	ended   bool
}

// Start is when the recording began.
func (r *Recording) Start() time.Time { return r.start }

// Done is closed when the recording has ended: by End, or because it is as long as it may be.
func (r *Recording) Done() <-chan struct{} { return r.done }

// End ends the recording, for a reason that is a sentence without a full stop, and returns the file. One that has
// ended already keeps its reason.
func (r *Recording) End(reason string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(time.Since(r.start), reason)
	return r.file.Bytes()
}

// end is End, with mu locked.
func (r *Recording) end(at time.Duration, reason string) {
	if r.ended {
		return
	}
	r.ended = true
	r.recorder.current.CompareAndSwap(r, nil)
	r.out.statistics(at, reason)
	r.zip.Close() // a bytes.Buffer returns no error
	close(r.done)
}

// add adds packets that were sent, or received.
func (r *Recording) add(sent bool, ds []mad.Datagram) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addLocked(sent, ds)
}

func (r *Recording) addLocked(sent bool, ds []mad.Datagram) {
	at := time.Since(r.start)
	for i := range ds {
		d := &ds[i]
		if r.ended || d.TimedOut || !wanted(&d.Packet, sent) {
			continue
		}
		r.out.packet(at, sent, d)
		r.packets++
		switch {
		case r.packets >= MaxPackets:
			r.end(at, fmt.Sprintf("the recording has %d packets, which is the most that it may have", r.packets))
		case r.file.Len() >= MaxSize:
			r.end(at, fmt.Sprintf("the recording has %d bytes, which is the most that it may have", r.file.Len()))
		}
	}
}

// wanted reports whether a packet is one between a manager and devices.
func wanted(p *mad.Packet, sent bool) bool {
	switch class := p.MgmtClass(); {
	case class.IsSubnet():
		return true
	case class == mad.ClassPerf || class == mad.ClassCongestion:
		return sent != p.IsResponse() // not those of others that ask this host's agents
	}
	return false
}

// port is a port whose packets may be recorded.
type port struct {
	mad.Port
	recorder *Recorder
}

// Send implements mad.Port. Packets are recorded before the port has them, lest a response be recorded before
// its request.
func (p *port) Send(ds []mad.Datagram) (int, error) {
	if r := p.recorder.current.Load(); r != nil {
		r.add(true, ds)
	}
	return p.Port.Send(ds)
}

// TrySend implements mad.Port. Responses to what the port takes wait until that is recorded.
func (p *port) TrySend(ds []mad.Datagram) (int, error) {
	r := p.recorder.current.Load()
	if r == nil {
		return p.Port.TrySend(ds)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := p.Port.TrySend(ds)
	r.addLocked(true, ds[:n])
	return n, err
}

// Recv implements mad.Port.
func (p *port) Recv(ds []mad.Datagram) (int, error) {
	n, err := p.Port.Recv(ds)
	if r := p.recorder.current.Load(); r != nil {
		r.add(false, ds[:n])
	}
	return n, err
}
