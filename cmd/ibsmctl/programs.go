package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"ibsm/cmd/cli"
)

// programOf is the path of another program of this package: the one beside ibsmctl, or else the one in PATH or
// /usr/sbin.
func programOf(name string) (string, error) {
	if own, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(own), name)); err == nil {
			return path, nil
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(filepath.Join("/usr/sbin", name))
	if err != nil {
		return "", cli.WithHint(fmt.Errorf("this needs the program %s, which is not installed", name),
			"it is in the package of ibsmctl; put it beside ibsmctl or into a directory of PATH")
	}
	return path, nil
}

// runJSON runs another program of this package and decodes the JSON that it prints into reply. An error wraps
// *exec.ExitError if the program fails; it may have printed a result all the same. Complaints is what it wrote to
// standard error.
func runJSON(ctx context.Context, argv []string, reply any) (complaints string, err error) {
	program, err := programOf(argv[0])
	if err != nil {
		return "", err
	}
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err = cmp.Or(err, json.Unmarshal(out, reply)); err != nil {
		err = fmt.Errorf("%s: %w: %s", shown(argv), err, bytes.TrimSpace(errs.Bytes()))
	}
	return errs.String(), err
}

// failed reports whether err means that a program has run and has exited with a status other than 0.
func failed(err error) bool {
	exit := (*exec.ExitError)(nil)
	return errors.As(err, &exit)
}
