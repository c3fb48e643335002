package ctl

import (
	"fmt"
	"os/user"
	"strconv"
)

// groupID is the ID of a Unix group given by name or number; -1 for "".
func groupID(name string) (int, error) {
	if name == "" {
		return -1, nil
	}
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(n), nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return -1, fmt.Errorf("group %q does not exist", name)
	}
	n, err := strconv.Atoi(g.Gid)
	if err != nil {
		return -1, fmt.Errorf("group %q has no valid ID: %w", name, err)
	}
	return n, nil
}
