package main

import (
	"fmt"
	"io/fs"
	"os/user"
	"strconv"
	"syscall"
)

// ownerOf says in words who may write to a file.
func ownerOf(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "other users"
	}
	who := "user " + strconv.Itoa(int(st.Uid))
	if u, err := user.LookupId(strconv.Itoa(int(st.Uid))); err == nil {
		who = "user " + u.Username
	}
	if info.Mode().Perm()&0o020 == 0 {
		return who
	}
	group := strconv.Itoa(int(st.Gid))
	if g, err := user.LookupGroupId(group); err == nil {
		group = g.Name
	}
	return fmt.Sprintf("%s and group %s", who, group)
}
