package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"ibsm/ctl"
)

// socketPatience is how long a manager has to say whether it is the one to be asked.
const socketPatience = 2 * time.Second

// socketOf is the socket to ask at: the one that is named, or else that of this host's
// manager.
func socketOf(named string) string {
	if named != "" {
		return named
	}
	if named = os.Getenv(ctl.SocketEnv); named != "" {
		return named
	}
	return chooseSocket(ctl.DefaultSocket)
}

// chooseSocket is the usual socket, or where nobody listens there, as where instances run,
// that of the only other one beside it, or of the only one that is master. There is none
// to be preferred if several are: then it is the usual one, and the error names the
// others.
func chooseSocket(usual string) string {
	if dial(usual) == nil {
		return usual
	}
	others, forbidden := sockets(filepath.Dir(usual))
	switch {
	case len(others) == 1:
		return others[0]
	case others == nil && forbidden != "":
		return forbidden // so that the error says whose it is
	}
	master := ""
	for _, path := range others {
		if !isMaster(path) {
			continue
		}
		if master != "" {
			return usual
		}
		master = path
	}
	if master == "" {
		return usual
	}
	return master
}

func isMaster(path string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), socketPatience)
	defer cancel()
	client := ctl.NewClient(path)
	defer client.Close()
	st := &ctl.Status{}
	return client.Get(ctx, "/v1/status", nil, st) == nil && st.State == "MASTER"
}

// maxSockets bounds how many sockets are looked at.
const maxSockets = 64

// sockets are those in a directory at which a manager listens, and one that this user may
// not use, if there is one.
func sockets(dir string) (paths []string, forbidden string) {
	names, _ := filepath.Glob(filepath.Join(dir, "*.sock")) // the pattern is well-formed
	for _, name := range names[:min(len(names), maxSockets)] {
		switch err := dial(name); {
		case err == nil:
			paths = append(paths, name)
		case errors.Is(err, fs.ErrPermission):
			forbidden = name
		}
	}
	return paths, forbidden
}

// dial reports why nobody can be asked at a socket.
func dial(path string) error {
	conn, err := net.DialTimeout("unix", path, socketPatience)
	if err != nil {
		return err
	}
	return conn.Close()
}

// stopped is the process that listens at a socket, if a signal or a debugger has stopped it. Such a process still gets
// connections, from the kernel, and answers nothing.
func stopped(path string) (pid int, is bool) {
	conn, err := net.DialTimeout("unix", path, socketPatience)
	if err != nil {
		return 0, false
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, false
	}
	var peer *syscall.Ucred
	err = errors.Join(raw.Control(func(fd uintptr) {
		peer, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}), err)
	if err != nil || peer.Pid <= 0 {
		return 0, false // of another PID namespace
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", peer.Pid))
	if err != nil {
		return 0, false
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:] // proc(5): the state follows the name, which may contain anything
	return int(peer.Pid), bytes.HasPrefix(state, []byte(" T")) || bytes.HasPrefix(state, []byte(" t"))
}
