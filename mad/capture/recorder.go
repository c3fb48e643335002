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

// Begin begins a recording. Program is the name and the version of the program. End must be called.
func (r *Recorder) Begin(program string) (*Recording, error) {
	rec := &Recording{recorder: r, start: time.Now(), done: make(chan struct{}), wake: make(chan struct{}, 1),
		written: make(chan struct{})}
	rec.out.section(program, rec.start)
	if !r.current.CompareAndSwap(nil, rec) {
		return nil, ErrBusy
	}
	go rec.compress()
	return rec, nil
}

// Wrap is a port whose packets are recorded while there is a recording.
func (r *Recorder) Wrap(p mad.Port) mad.Port { return &port{p, r} }

// Recording is a file that is being written, in memory. It is safe for concurrent use. A goroutine compresses
// what the senders and receivers of packets add; it ends with the recording.
type Recording struct {
	recorder *Recorder
	start    time.Time
	done     chan struct{} // closed when the recording has ended
	wake     chan struct{} // has a token when there is much to compress, or the recording has ended
	written  chan struct{} // closed when file is whole
	file     bytes.Buffer  // of compress, until written

	mu      sync.Mutex // guards the following
	out     blocks     // not compressed yet
	packets int
	ended   bool
}

const (
	muchPending = 256 << 10 // bytes that are compressed at a time
	maxPending  = 32 << 20  // bytes that may wait for that
)

// Start is when the recording began.
func (r *Recording) Start() time.Time { return r.start }

// Done is closed when the recording has ended: by End, or because it is as long as it may be.
func (r *Recording) Done() <-chan struct{} { return r.done }

// End ends the recording, for a reason that is a sentence without a full stop, and returns the file. One that has
// ended already keeps its reason.
func (r *Recording) End(reason string) []byte {
	r.finish(reason)
	<-r.written
	return r.file.Bytes()
}

// finish is End without the file.
func (r *Recording) finish(reason string) {
	r.mu.Lock()
	ends := !r.ended
	if ends {
		r.ended = true
		r.out.statistics(time.Since(r.start), reason)
	}
	r.mu.Unlock()
	if ends {
		r.recorder.current.CompareAndSwap(r, nil)
		close(r.done)
		r.ring()
	}
}

// ring wakes compress.
func (r *Recording) ring() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// compress is the goroutine that writes the file.
func (r *Recording) compress() {
	defer close(r.written)
	zip, _ := gzip.NewWriterLevel(&r.file, gzip.BestSpeed) // the level is a valid one
	var spare []byte
	for range r.wake {
		r.mu.Lock()
		taken, ended := r.out.buf, r.ended
		r.out.buf = spare[:0]
		r.mu.Unlock()
		zip.Write(taken) // a bytes.Buffer returns no error
		spare = taken
		if ended {
			zip.Close()
			return
		}
		if r.file.Len() >= MaxSize {
			r.finish(fmt.Sprintf("the recording has %d bytes, which is the most that it may have", r.file.Len()))
		}
	}
}

// add adds packets that were sent, or received.
func (r *Recording) add(sent bool, ds []mad.Datagram) {
	switch much, full := r.write(sent, ds); {
	case full != "":
		r.finish(full)
	case much:
		r.ring()
	}
}

// write adds packets. It says whether there is much to compress, and why there is no room for more, "" if there is.
func (r *Recording) write(sent bool, ds []mad.Datagram) (much bool, full string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := time.Since(r.start)
	for i := range ds {
		d := &ds[i]
		if r.ended || r.packets >= MaxPackets || d.TimedOut || !wanted(&d.Packet, sent) {
			continue
		}
		r.out.packet(at, sent, d)
		r.packets++
	}
	switch pending := len(r.out.buf); {
	case r.packets >= MaxPackets:
		full = fmt.Sprintf("the recording has %d packets, which is the most that it may have", r.packets)
	case pending >= maxPending:
		full = "packets came faster than they could be compressed"
	default:
		much = pending >= muchPending
	}
	return much, full
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

// TrySend implements mad.Port. Only what the port takes is recorded, and so a response may be recorded before its
// request.
func (p *port) TrySend(ds []mad.Datagram) (int, error) {
	n, err := p.Port.TrySend(ds)
	if r := p.recorder.current.Load(); r != nil {
		r.add(true, ds[:n])
	}
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
