package ibsim

import (
	"syscall"
	"unsafe"
)

// writeNow and readNow are write(2) and read(2) of a socket that does not block, without a word to the Go
// scheduler. It would take a call for one that blocks, and start another thread, when the kernel gives the
// processor to the other end of the socket for more than some 20 us, which is usual after a packet.

func writeNow(fd int, b []byte) (int, error) { return call(syscall.SYS_WRITE, fd, b) }

func readNow(fd int, b []byte) (int, error) { return call(syscall.SYS_READ, fd, b) }

// call passes b, which is not empty, to the kernel.
func call(number uintptr, fd int, b []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(number, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
