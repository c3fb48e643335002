package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newSMs(a *asker) *cobra.Command {
	return &cobra.Command{Use: "sms [OPTION]...",
		Short: "subnet managers, and which one takes over when the master dies", Args: cli.Args(0, 0),
		RunE: a.asking(a.sms), Long: `
Lists the subnet managers this manager knows, itself first: port GUID, node where the subnet
is known, LID, priority, state, which one takes over if the master dies, and which ones mirror
the SA registrations, with the delay. If priorities are equal, the lower GUID wins. A standby
knows the delay of its own mirror only.`}
}

func (a *asker) sms(ctx context.Context, _ []string, stdout io.Writer) error {
	st := &ctl.Status{}
	if shown, err := a.value(ctx, "/v1/status", nil, st, stdout); shown || err != nil {
		return err
	}
	if len(st.SMs) == 0 {
		_, err := fmt.Fprintf(stdout, "the manager is waiting for its port: %s\n", printable(st.Waiting))
		return err
	}
	t := &table{columns: []column{{head: "GUID"}, {head: "NODE"}, {head: "LID", right: true},
		{head: "PRIORITY", right: true}, {head: "STATE"}, {head: "", yields: true}}}
	alone := true
	for i, m := range st.SMs {
		alone = alone && !m.NextMaster
		t.add(m.GUID, printable(m.Desc), lid(m.LID), fmt.Sprint(m.Priority), m.State, noteOn(&m, i == 0))
	}
	if err := t.print(stdout, terminalWidth(stdout)); err != nil {
		return err
	}
	var last string
	if alone {
		last = "No standby.\n"
	}
	if text := settingsText(st); text != "" {
		last += "This manager: " + printable(text) + ".\n"
	}
	_, err := io.WriteString(stdout, last)
	return err
}

// noteOn is what there is to say about a manager.
func noteOn(m *ctl.SM, isThis bool) string {
	var notes []string
	if isThis {
		notes = append(notes, "this manager")
	}
	if m.NextMaster {
		notes = append(notes, "takes over when the master dies")
	}
	if m.Ignored {
		notes = append(notes, "ignored: another sm_key, or not in allowed_sm_guids")
	}
	if note := mirrorNote(m); note != "" {
		notes = append(notes, note)
	}
	return strings.Join(notes, ", ")
}

// mirrorNote describes the mirror of a standby.
func mirrorNote(m *ctl.SM) string {
	lag := time.Duration(m.Lag * float64(time.Second)).Round(time.Millisecond)
	switch {
	case !m.Mirrors:
		return ""
	case m.Incomplete != "":
		return "mirrors registrations by SA queries, possibly incomplete: " + printable(m.Incomplete)
	case m.Reads:
		return fmt.Sprintf("mirrors registrations by SA queries, read %v ago", lag)
	case m.Lag > 0:
		return fmt.Sprintf("mirrors registrations, %v behind", lag)
	}
	return "mirrors registrations"
}
