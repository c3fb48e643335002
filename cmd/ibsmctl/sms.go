package main

import (
	"context"
	"fmt"
	"io"

	"ibsm/ctl"
)

const smsUsage = `Usage: ibsmctl sms [OPTION]...

Lists the subnet managers as this one heard them last, itself first: GUID of the port,
LID, priority, state, and who rules when the master dies. Of equal priorities the lower
GUID wins. ibsmctl --help describes the options.
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
		note := ""
		if i == 0 {
			note = "this one"
		}
		if m.Heir {
			alone = false
			if note != "" {
				note += ", "
			}
			note += "rules when the master dies"
		}
		t.add(m.GUID, lid(m.LID), fmt.Sprint(m.Priority), m.State, note)
	}
	if err := t.print(stdout, terminalWidth(stdout)); err != nil || !alone {
		return err
	}
	_, err := io.WriteString(stdout, "When the master dies nobody rules.\n")
	return err
}
