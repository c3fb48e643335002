package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"ibsm/ctl"
)

const smsUsage = `Usage: ibsmctl sms [OPTION]...

Lists the subnet managers as this one heard them last, itself first: GUID of the port,
LID, priority, state, who rules when the master dies, and who mirrors what clients have
registered with the master, how far behind. Of equal priorities the lower GUID wins. A
standby knows only of its own mirror. ibsmctl --help describes the options.
`

func runSMs(ctx context.Context, args []string, stdout io.Writer) error {
	a := newAsker("sms", smsUsage)
	if done, err := a.parse(args, 0, 0, stdout); done || err != nil {
		return err
	}
	st := &ctl.Status{}
	if shown, err := a.value(ctx, "/v1/status", nil, st, stdout); shown || err != nil {
		return err
	}
	if len(st.SMs) == 0 {
		_, err := fmt.Fprintf(stdout, "the manager waits for its port: %s\n", printable(st.Waiting))
		return err
	}
	t := &table{columns: []column{{head: "GUID"}, {head: "LID", right: true}, {head: "PRIORITY", right: true}, {head: "STATE"}, {head: "", yields: true}}}
	alone := true
	for i, m := range st.SMs {
		alone = alone && !m.Heir
		t.add(m.GUID, lid(m.LID), fmt.Sprint(m.Priority), m.State, noteOn(&m, i == 0))
	}
	if err := t.print(stdout, terminalWidth(stdout)); err != nil {
		return err
	}
	var last string
	if alone {
		last = "When the master dies nobody rules.\n"
	}
	if text := rulingText(st); text != "" {
		last += "This one: " + printable(text) + ".\n"
	}
	_, err := io.WriteString(stdout, last)
	return err
}

// noteOn is what there is to say about a manager.
func noteOn(m *ctl.SM, isThis bool) string {
	var notes []string
	if isThis {
		notes = append(notes, "this one")
	}
	if m.Heir {
		notes = append(notes, "rules when the master dies")
	}
	if note := mirrorNote(m); note != "" {
		notes = append(notes, note)
	}
	return strings.Join(notes, ", ")
}

// mirrorNote tells whether a manager mirrors what clients have registered with the master.
func mirrorNote(m *ctl.SM) string {
	lag := time.Duration(m.Lag * float64(time.Second)).Round(time.Millisecond)
	switch {
	case !m.Mirrors:
		return ""
	case m.Doubt != "":
		return "mirrors what is registered by SA queries, perhaps not all: " + printable(m.Doubt)
	case m.Reads:
		return fmt.Sprintf("mirrors what is registered by SA queries, read %v ago", lag)
	case m.Lag > 0:
		return fmt.Sprintf("mirrors what is registered, %v behind", lag)
	}
	return "mirrors what is registered"
}
