package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/mad"
	"ibsm/opensm/sadb"
	"ibsm/store"
)

// storePattern is where stores are by default.
const storePattern = "/var/lib/ibsm/*/state.db"

func newState(a *asker) *cobra.Command {
	cmd := &cobra.Command{Use: "state VERB [OPTION]... [STORE]", Short: "show, export, check and import a state store",
		Long: `
Shows and checks the state store of a manager. Exports its SA registrations as OpenSM's SA
database (sa_db_file, opensm-sa.dump), or imports them from such a file.

STORE is a file; the default is the only store below /var/lib/ibsm. It can be read while a
manager runs, but the latest changes may be missing. The output of export contains the keys of
services.

import replaces all registrations and keeps the LIDs. If FILE contains an error, none of it is
imported. Stop the manager that uses STORE first. If another manager is master, its registrations
take precedence over imported ones. A missing STORE is created if its directory is named after
the port GUID.`}
	dryRun := cmd.PersistentFlags().Bool("dry-run", false, "import: show the changes, but do not make them")
	options := []string{"dry-run", "json"}
	verb := func(use, short string, do func(k *keptState, stdout io.Writer) error) {
		cmd.AddCommand(
			cli.Takes(&cobra.Command{Use: use, Short: short, Args: cli.Args(0, 1),
				RunE: func(cmd *cobra.Command, args []string) error {
					k, err := lookAt(append(args, "")[0], storePattern)
					if err != nil {
						return err
					}
					return do(k, cmd.OutOrStdout())
				}}, options...))
	}
	verb("show [STORE]", "the port, and the number of records by kind", func(k *keptState, stdout io.Writer) error {
		if a.json {
			return printJSON(stdout, k.summary())
		}
		return k.summary().print(stdout)
	})
	verb("export [STORE]", "SA registrations, as OpenSM's SA database", func(k *keptState, stdout io.Writer) error {
		return sadb.Write(stdout, k.Registry.Freeze(), k.lidOf(), time.Now().Unix())
	})
	verb("check [STORE]", "check the store: exit status 1 if it is damaged", (*keptState).check)
	cmd.AddCommand(
		cli.Takes(&cobra.Command{Use: "import FILE [STORE]", Short: "import SA registrations from OpenSM's SA database",
			Args: cli.Args(1, 2), RunE: func(cmd *cobra.Command, args []string) error {
				return importState(args[0], append(args, "")[1], *dryRun, cmd.OutOrStdout())
			}}, options...))
	return cmd
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
	GRHPorts      int    `json:"grh_ports"` // that demand a GRH
}

func (k *keptState) summary() *stateSummary {
	n := k.Registry.Counts()
	s := &stateSummary{
		File: k.file, Prefix: k.prefix.String(), Port: k.port.String(), LIDs: len(k.LIDs), Change: k.Registry.Seq(),
		Groups: n.Groups, Members: n.Members, Services: n.Services, Subscriptions: n.Subscriptions, Aliases: n.Aliases,
		GRHPorts: n.GRHPorts,
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
registered     groups %d, members %d, services %d, subscriptions %d, alias GUIDs %d, ports that demand a GRH %d
last change    %d
`,
		s.File, s.Prefix, s.Port, term, s.LIDs, s.Absent, s.Groups, s.Members, s.Services, s.Subscriptions, s.Aliases,
		s.GRHPorts, s.Change)
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
