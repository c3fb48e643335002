package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
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
	if listens(usual) {
		return usual
	}
	others := sockets(filepath.Dir(usual))
	switch len(others) {
	case 0:
		return closed(usual)
	case 1:
		return others[0]
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

// closed is the first socket in the folder of the usual one that is there for others than
// this user, so that the error says so; else the usual one.
func closed(usual string) string {
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(usual), "*.sock"))
	for _, name := range names[:min(len(names), maxSockets)] {
		if conn, err := net.DialTimeout("unix", name, socketPatience); err == nil {
			conn.Close()
		} else if errors.Is(err, fs.ErrPermission) {
			return name
		}
	}
	return usual
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

// sockets are those in a directory at which a manager listens.
func sockets(dir string) (paths []string) {
	names, _ := filepath.Glob(filepath.Join(dir, "*.sock")) // the pattern is well-formed
	for _, name := range names[:min(len(names), maxSockets)] {
		if listens(name) {
			paths = append(paths, name)
		}
	}
	return paths
}

func listens(path string) bool {
	conn, err := net.DialTimeout("unix", path, socketPatience)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
