package main

import (
	"context"
	"io"
	"net/http"
)

const dumpUsage = `Usage: ibsmctl dump [OPTION]... KIND

Writes a file of the manager's to standard output:

  lfts         forwarding tables, as opensm-lfts.dump
  lid-matrix   hops by port, as opensm-lid-matrix.dump
  routes       forwarding tables with hops, as opensm.fdbs
  subnet       cables, as opensm-subnet.lst
  guids        LIDs by port GUID, as guid2lid

The format is OpenSM's, so --json changes nothing. ibsmctl --help describes the other
options.
`

func runDump(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("dump", dumpUsage)
	if done, err := a.parse(args, 1, 1, stdout); done || err != nil {
		return err
	}
	return a.copy(ctx, http.MethodGet, "/v1/dump/"+a.args[0], nil, stdout)
}
