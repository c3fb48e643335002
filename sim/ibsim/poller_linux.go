package ibsim

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// poller waits for sockets. wake may be called from anywhere at any time.
type poller struct {
	fd     int
	bell   *os.File // a pipe: what is written to it ends a wait
	heard  int      // the reading end of bell
	rung   atomic.Bool
	events []syscall.EpollEvent
	ready  []readiness
}

// readiness is a socket that can be read or written without waiting.
type readiness struct {
	fd          int
	read, write bool
}

func newPoller() (*poller, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	p := &poller{fd: fd, events: make([]syscall.EpollEvent, 64)}
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_NONBLOCK|syscall.O_CLOEXEC); err != nil {
		syscall.Close(fd)
		return nil, os.NewSyscallError("pipe2", err)
	}
	p.heard, p.bell = pipe[0], os.NewFile(uintptr(pipe[1]), "bell")
	if err := p.add(p.heard); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// add begins to wait for a socket to be readable; its closing ends it.
func (p *poller) add(fd int) error {
	e := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, fd, &e))
}

// set changes what is waited for.
func (p *poller) set(fd int, read, write bool) {
	e := syscall.EpollEvent{Fd: int32(fd)}
	if read {
		e.Events |= syscall.EPOLLIN
	}
	if write {
		e.Events |= syscall.EPOLLOUT
	}
	syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_MOD, fd, &e)
}

// wait returns the sockets that are ready, none when the time is over or wake was
// called. The list holds until the next call.
func (p *poller) wait(d time.Duration) ([]readiness, error) {
	ms := int(d / time.Millisecond)
	if rest := d % time.Millisecond; rest > 0 && ms == 0 {
		p.nap(rest)
	} else if rest > 0 {
		ms++
	}
	n, err := syscall.EpollWait(p.fd, p.events, ms)
	if err != nil && err != syscall.EINTR {
		return nil, os.NewSyscallError("epoll_wait", err)
	}
	p.ready = p.ready[:0]
	for _, e := range p.events[:max(n, 0)] {
		if int(e.Fd) == p.heard {
			var b [1]byte
			syscall.Read(p.heard, b[:])
			p.rung.Store(false)
			continue
		}
		const broken = syscall.EPOLLERR | syscall.EPOLLHUP // to be learned from reading
		p.ready = append(p.ready, readiness{int(e.Fd), e.Events&(syscall.EPOLLIN|broken) != 0,
			e.Events&syscall.EPOLLOUT != 0})
	}
	return p.ready, nil
}

// nap waits for less than the millisecond that epoll counts in, or until a socket is
// ready.
func (p *poller) nap(d time.Duration) {
	var set syscall.FdSet
	timeout := syscall.NsecToTimeval(d.Nanoseconds())
	if p.fd < syscall.FD_SETSIZE {
		bits := syscall.FD_SETSIZE / len(set.Bits)
		set.Bits[p.fd/bits] |= 1 << (p.fd % bits)
		syscall.Select(p.fd+1, &set, nil, nil, &timeout)
	}
}

func (p *poller) wake() {
	if !p.rung.Swap(true) {
		p.bell.Write([]byte{0}) // an error means that it is closed
	}
}

func (p *poller) close() {
	syscall.Close(p.fd)
	syscall.Close(p.heard)
	p.bell.Close()
}

func datagramSocket(family int) (int, error) {
	return syscall.Socket(family, syscall.SOCK_DGRAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
}
