package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ibsm/mad"
	"ibsm/sweep/store"
)

const stateUsage = `ibsmctl state reads what a manager keeps in its store, whether or not one is running.

Usage:
  ibsmctl state show [FILE]     whose it is, and how much there is of what
  ibsmctl state export [FILE]   everything, as JSON
  ibsmctl state check [FILE]    whether it is whole: exit status 1 if it is not

FILE is by default the store below /var/lib/ibsm, if there is only one. What a manager
wrote in the last moment may not be there yet. export shows the keys of services.

Options:
      --json   show: for programs
  -h, --help   print this help
`

// storePattern is where stores are by default.
const storePattern = "/var/lib/ibsm/*/state.db"

// runState carries out "ibsmctl state".
func runState(_ context.Context, args []string, stdout io.Writer) error {
	const hint = "ibsmctl state --help"
	flags := pflag.NewFlagSet("state", pflag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	if done, err := parse(flags, args, stdout, stateUsage); done {
		return err
	}
	switch {
	case flags.NArg() == 0:
		return &usageError{"state: show, export or check?", hint}
	case flags.NArg() > 2:
		return &usageError{fmt.Sprintf("state: unexpected argument %q", flags.Arg(2)), hint}
	}
	act := flags.Arg(0)
	if !slices.Contains([]string{"show", "export", "check"}, act) {
		return &usageError{fmt.Sprintf("state: unknown action %q", act), hint}
	}
	k, err := lookAt(flags.Arg(1), storePattern)
	if err != nil {
		return err
	}
	switch {
	case act == "check":
		return k.check(stdout)
	case act == "export":
		return printJSON(stdout, k.export())
	case *asJSON:
		return printJSON(stdout, k.summary())
	}
	return k.summary().print(stdout)
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// keptState is what a store holds.
type keptState struct {
	*store.Contents
	file   string
	prefix mad.Prefix
	port   mad.GUID
}

// lookAt reads a store; "" is the only one that a pattern matches.
func lookAt(file, pattern string) (*keptState, error) {
	if file == "" {
		switch found, err := filepath.Glob(pattern); {
		case err != nil:
			return nil, err
		case len(found) == 0:
			return nil, fmt.Errorf("there is no store at %s; name its file", pattern)
		case len(found) > 1:
			return nil, fmt.Errorf("there are several stores; name one of %s", strings.Join(found, ", "))
		default:
			file = found[0]
		}
	}
	c, prefix, port, err := store.Look(file)
	if err != nil {
		return nil, err
	}
	return &keptState{c, file, prefix, port}, nil
}

// stateSummary is a store in short.
type stateSummary struct {
	File          string `json:"file"`
	Prefix        string `json:"prefix"`
	Port          string `json:"port"`
	Master        bool   `json:"master"` // when it was written last
	Reign         uint64 `json:"reign"`  // number of the last
	Began         int64  `json:"began"`  // seconds since 1970
	LIDs          int    `json:"lids"`
	Absent        int    `json:"absent"` // of their ports
	Change        uint64 `json:"change"` // number of the last of what is registered
	Groups        int    `json:"groups"`
	Members       int    `json:"members"`
	Services      int    `json:"services"`
	Subscriptions int    `json:"subscriptions"`
	Aliases       int    `json:"aliases"`
}

func (k *keptState) summary() *stateSummary {
	n := k.Registry.Counts()
	s := &stateSummary{
		File: k.file, Prefix: k.prefix.String(), Port: k.port.String(), LIDs: len(k.LIDs), Change: k.Registry.Seq(),
		Groups: n.Groups, Members: n.Members, Services: n.Services, Subscriptions: n.Subscriptions, Aliases: n.Aliases,
	}
	for _, l := range k.LIDs {
		if l.Absent != 0 {
			s.Absent++
		}
	}
	if n := len(k.Reigns); n > 0 {
		last := k.Reigns[n-1]
		s.Master, s.Reign, s.Began = last.Master, last.Number, last.Began
	}
	return s
}

func (s *stateSummary) print(w io.Writer) error {
	reign := "none yet"
	if s.Reign > 0 {
		reign = fmt.Sprintf("%d, not master since %s", s.Reign, time.Unix(s.Began, 0).Format(time.DateTime))
		if s.Master {
			reign = strings.Replace(reign, "not master", "master", 1)
		}
	}
	_, err := fmt.Fprintf(w, `file           %s
subnet prefix  %s
port           %s
reign          %s
LIDs           %d, of absent ports %d
registered     groups %d, members %d, services %d, subscriptions %d, alias GUIDs %d
last change    %d
`, s.File, s.Prefix, s.Port, reign, s.LIDs, s.Absent, s.Groups, s.Members, s.Services, s.Subscriptions, s.Aliases, s.Change)
	return err
}

// check tells what is wrong with what is in a store that could be read: that its records
// are what was written, and its registrations keep their rules, is known by then.
func (k *keptState) check(w io.Writer) error {
	owner := map[mad.LID]mad.GUID{}
	for _, l := range k.LIDs {
		if l.Base == 0 || l.LMC > 7 || int(l.Base)+1<<l.LMC-1 > int(mad.MaxUnicastLID) {
			return fmt.Errorf("%s: port %v has LID %d with LMC %d, which no port can have", k.file, l.Port, l.Base, l.LMC)
		}
		for i := range mad.LID(1) << l.LMC {
			if other, taken := owner[l.Base+i]; taken {
				return fmt.Errorf("%s: LID %d is kept for both %v and %v", k.file, l.Base+i, other, l.Port)
			}
			owner[l.Base+i] = l.Port
		}
	}
	_, err := fmt.Fprintf(w, "%s is whole\n", k.file)
	return err
}
