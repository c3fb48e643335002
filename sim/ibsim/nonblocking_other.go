//go:build !linux

package ibsim

import "syscall"

func writeNow(fd int, b []byte) (int, error) { return syscall.Write(fd, b) }

func readNow(fd int, b []byte) (int, error) { return syscall.Read(fd, b) }
