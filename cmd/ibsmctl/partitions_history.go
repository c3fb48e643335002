package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/plural"
)

// pastChange is a version of the partition file, or a change of a partition beside it.
type pastChange struct {
	Time     time.Time          `json:"time"`
	Version  int                `json:"version,omitempty"` // of the file
	File     string             `json:"file,omitempty"`    // that has it
	Change   *ctl.PartitionEdit `json:"change,omitempty"`
	Undoable bool               `json:"undoable"`
}

// history prints the versions of the file and the changes of partitions beside it, by time.
func (c *partitionsCommand) history(ctx context.Context, _ []string) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	all := []pastChange{}
	err := c.PartitionHistory(ctx, func(e *ctl.PartitionEdit) error {
		all = append(all, pastChange{Time: e.Time, Change: e, Undoable: e.Undoable})
		return nil
	})
	if err != nil {
		return c.explain(err)
	}
	if c.file == "" && !c.Remote() { // the versions of another host's file are there
		if c.file, err = c.partitionFile(ctx); err != nil {
			return err
		}
	}
	var list []version
	if c.file != "" {
		if list, err = versions(c.file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for i, v := range list {
		info, err := os.Stat(v.name)
		if err != nil {
			continue // it was removed meanwhile
		}
		all = append(all, pastChange{Time: info.ModTime().UTC().Truncate(time.Second), Version: v.number, File: v.name,
			Undoable: i > 0 && i == len(list)-1 && !v.edited})
	}
	slices.SortStableFunc(all, func(a, b pastChange) int { return a.Time.Compare(b.Time) })
	t := table{columns: []column{{head: "TIME"}, {head: "CHANGE", right: true}, {head: "OF"}, {head: "P_KEY"},
		{head: "WHAT", yields: true}}}
	for _, p := range all {
		at := p.Time.Local().Format("2006-01-02 15:04:05")
		if e := p.Change; e != nil {
			t.add(at, fmt.Sprint(e.Number), printable(e.Name), e.PKey, fmt.Sprintf("%s: %s put, %d removed", e.What,
				plural.Of(e.Put, "member"), e.Removed))
			continue
		}
		t.add(at, "-", "the file", "-", printable(fmt.Sprintf("version %d, %s", p.Version, p.File)))
	}
	var out bytes.Buffer
	if err := t.print(&out, terminalWidth(c.stdout)); err != nil {
		return err
	}
	return c.print(all, &out)
}

// undoCaller takes a change of a partition beside the file back.
func (c *partitionsCommand) undoCaller(ctx context.Context, number string) error {
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n == 0 {
		return cli.UsageError(fmt.Sprintf("change %q: expected a number", number),
			"ibsmctl partitions history lists the changes; without one, undo is for the file")
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	done, err := c.UndoPartition(ctx, n)
	if err != nil {
		return c.explain(err)
	}
	var out bytes.Buffer
	now := "P_Key " + done.PKey
	if done.ETag == "" {
		now = "it is deleted"
	}
	fmt.Fprintf(&out, "change %d of %s taken back by change %d: %s\n", n, printable(done.Name), done.Number, now)
	return c.print(done, &out)
}
