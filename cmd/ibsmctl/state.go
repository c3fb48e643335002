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
	"ibsm/opensm/sadb"
	"ibsm/store"
)

const stateUsage = `ibsmctl state shows, exports and checks the state store of a manager, and imports into it.

Usage:
  ibsmctl state show [STORE]          the port, and the number of records by kind
  ibsmctl state export [STORE]        all records, as JSON
  ibsmctl state check [STORE]         check the store: exit status 1 if it is damaged
  ibsmctl state import FILE [STORE]   import SA registrations from an export or from
                                      OpenSM's SA database (opensm-sa.dump)

STORE is a file; the default is the one below /var/lib/ibsm if there is only one. It can be
read while a manager runs; the latest changes may then be missing. The output of export
contains the keys of services.

import replaces all registrations; if FILE has an error, it changes nothing. An export
also contains LIDs. No manager may run on STORE. If another manager is master, its
registrations take precedence over imported ones. A STORE that does not exist is created if
its directory is named after the port GUID.

Options:
      --dry-run         import: only show what would be imported
      --format FORMAT   export: json, or opensm for OpenSM's SA database (sa_db_file)
      --json            show: output for programs
  -h, --help            print this help
`

// storePattern is where stores are by default.
const storePattern = "/var/lib/ibsm/*/state.db"

// stateVerbs are what ibsmctl state does.
var stateVerbs = []string{"show", "export", "check", "import"}

// runState carries out "ibsmctl state".
func runState(_ context.Context, args []string, stdout io.Writer) error {
	hint := describes("state")
	flags := pflag.NewFlagSet("state", pflag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	dryRun := flags.Bool("dry-run", false, "")
	format := flags.String("format", "json", "")
	if done, err := parse(flags, args, stdout, stateUsage); done {
		return err
	}
	act, most := flags.Arg(0), 2
	if act == "import" {
		most = 3
	}
	switch {
	case flags.NArg() == 0:
		return &usageError{"state: expected a verb: " + strings.Join(stateVerbs, ", "), hint}
	case !slices.Contains(stateVerbs, act):
		return unknown("verb of state", act, stateVerbs, hint)
	case flags.NArg() > most:
		return &usageError{fmt.Sprintf("state: unexpected argument %q", flags.Arg(most)), hint}
	case act == "import" && flags.NArg() == 1:
		return &usageError{"state import: FILE is missing", hint}
	case *format != "json" && *format != "opensm":
		return &usageError{fmt.Sprintf("state export: unknown format %q", *format), hint}
	case act == "import":
		return importState(flags.Arg(1), flags.Arg(2), *dryRun, stdout)
	}
	k, err := lookAt(flags.Arg(1), storePattern)
	if err != nil {
		return err
	}
	switch {
	case act == "check":
		return k.check(stdout)
	case act == "export" && *format == "opensm":
		return sadb.Write(stdout, k.Registry.Freeze(), k.lidOf(), time.Now().Unix())
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

// theStore is the only file that a pattern matches.
func theStore(pattern string) (string, error) {
	switch found, err := filepath.Glob(pattern); {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", fmt.Errorf("no state store found at %s; specify its file", pattern)
	case len(found) > 1:
		return "", fmt.Errorf("several state stores found; specify one of %s", strings.Join(found, ", "))
	default:
		return found[0], nil
	}
}

// lookAt reads a store; "" is the only one that a pattern matches.
func lookAt(file, pattern string) (*keptState, error) {
	if file == "" {
		var err error
		if file, err = theStore(pattern); err != nil {
			return nil, err
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
	Master        bool   `json:"master"`          // when it was written last
	Term          uint64 `json:"mastership_term"` // number of the last
	Began         int64  `json:"began"`           // seconds since 1970
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
	if n := len(k.Terms); n > 0 {
		last := k.Terms[n-1]
		s.Master, s.Term, s.Began = last.Master, last.Number, last.Began
	}
	return s
}

func (s *stateSummary) print(w io.Writer) error {
	term := "none yet"
	if s.Term > 0 {
		term = fmt.Sprintf("%d, not master since %s", s.Term, time.Unix(s.Began, 0).Format(time.DateTime))
		if s.Master {
			term = strings.Replace(term, "not master", "master", 1)
		}
	}
	_, err := fmt.Fprintf(w, `file           %s
subnet prefix  %s
port           %s
mastership     %s
LIDs           %d, of absent ports %d
registered     groups %d, members %d, services %d, subscriptions %d, alias GUIDs %d
last change    %d
`, s.File, s.Prefix, s.Port, term, s.LIDs, s.Absent, s.Groups, s.Members, s.Services, s.Subscriptions, s.Aliases, s.Change)
	return err
}

// check checks the LIDs of a store. Checksums and registrations were checked when it was
// read.
func (k *keptState) check(w io.Writer) error {
	if err := checkLIDs(k.LIDs); err != nil {
		return fmt.Errorf("%s: %w", k.file, err)
	}
	_, err := fmt.Fprintf(w, "%s is complete\n", k.file)
	return err
}

// checkLIDs returns an error for an invalid LID or one that two ports have.
func checkLIDs(lids []store.LID) error {
	owner := map[mad.LID]mad.GUID{}
	for _, l := range lids {
		if l.Base == 0 || l.LMC > 7 || int(l.Base)+1<<l.LMC-1 > int(mad.MaxUnicastLID) {
			return fmt.Errorf("port %v: invalid LID %d with LMC %d", l.Port, l.Base, l.LMC)
		}
		for i := range mad.LID(1) << l.LMC {
			if other, taken := owner[l.Base+i]; taken {
				return fmt.Errorf("LID %d is assigned to both %v and %v", l.Base+i, other, l.Port)
			}
			owner[l.Base+i] = l.Port
		}
	}
	return nil
}

// lidOf finds the LIDs that are kept.
func (k *keptState) lidOf() func(mad.GUID) mad.LID {
	lids := make(map[mad.GUID]mad.LID, len(k.LIDs))
	for _, l := range k.LIDs {
		lids[l.Port] = l.Base
	}
	return func(port mad.GUID) mad.LID { return lids[port] }
}
