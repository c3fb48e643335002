package ibsim

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"ibsm/mad"
)

// sender writes datagrams to the data socket, a batch in one visit of the
// runtime's poller instead of one for each datagram. Any number of goroutines may send.
type sender struct {
	raw   syscall.RawConn
	sends sync.Pool // of *send
}

// send is one call of sender.send or sender.trySend.
type send struct {
	step  func(fd uintptr) bool
	once  func(fd uintptr)
	ds    []mad.Datagram
	n     int
	err   error
	frame [frameSize]byte
}

func (s *sender) init(raw syscall.RawConn) {
	s.raw = raw
	s.sends.New = func() any {
		w := new(send)
		w.step, w.once = w.try, func(fd uintptr) { w.try(fd) }
		return w
	}
}

func (s *sender) send(ds []mad.Datagram) (int, error) {
	return s.with(ds, func(w *send) error { return s.raw.Write(w.step) })
}

// trySend does not wait, neither for room nor for a goroutine that waits in send.
func (s *sender) trySend(ds []mad.Datagram) (int, error) {
	return s.with(ds, func(w *send) error { return s.raw.Control(w.once) })
}

// with sends by one of the methods of the connection.
func (s *sender) with(ds []mad.Datagram, visit func(*send) error) (int, error) {
	w := s.sends.Get().(*send)
	w.ds, w.n, w.err = ds, 0, nil
	err := visit(w)
	if err == nil {
		err = w.err
	}
	n := w.n
	w.ds = nil
	s.sends.Put(w)
	return n, err
}

// try sends what the socket takes; false asks to be called when it takes more.
func (s *send) try(fd uintptr) bool {
	for s.n < len(s.ds) {
		encodeFrame(&s.frame, &s.ds[s.n])
		_, err := writeNow(int(fd), s.frame[:])
		switch err {
		case nil:
			s.n++
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			s.err = os.NewSyscallError("write", err)
			return true
		}
	}
	return true
}

// receiver reads datagrams, as sender writes them.
type receiver struct {
	raw       syscall.RawConn
	step      func(fd uintptr) bool
	ds        []mad.Datagram
	n         int
	err       error
	frame     [frameSize + 1]byte // one more shows a datagram that is too long
	malformed atomic.Uint64
}

func (r *receiver) recv(ds []mad.Datagram) (int, error) {
	if len(ds) == 0 {
		return 0, nil
	}
	r.ds, r.n, r.err = ds, 0, nil
	err := r.raw.Read(r.step)
	r.ds = nil
	if err == nil {
		err = r.err
	}
	return r.n, err
}

// try takes what is there; false asks to be called when something is.
func (r *receiver) try(fd uintptr) bool {
	for r.n < len(r.ds) {
		n, err := readNow(int(fd), r.frame[:])
		switch err {
		case nil:
			if decodeFrame(&r.ds[r.n], r.frame[:n]) != nil {
				r.malformed.Add(1)
				continue
			}
			r.n++
		case syscall.EINTR:
		case syscall.EAGAIN:
			return r.n > 0
		default:
			r.err = os.NewSyscallError("read", err)
			return true
		}
	}
	return true
}
