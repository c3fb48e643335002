package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/api/users"
	"ibsm/cmd/cli"
	"ibsm/rights"
)

// usersEnv is the environment variable that names the file of users.
const usersEnv = "IBSM_API_USERS"

// userVerbs are the verbs of the file of users. They ask no manager.
type userVerbs struct {
	*asker
	named string // by --file
	stdin bool   // the password comes from standard input
}

func newAPIUser(a *asker) *cobra.Command {
	u := &userVerbs{asker: a}
	cmd := &cobra.Command{Use: "user VERB", Short: "users of the API", Long: `
Manages the file of the users of the API. A running manager reads it again within seconds after it
changes.`, Example: `  ibsmctl api user add k8s --role operator --password-stdin < password
  ibsmctl api user add nico --role admin --certificate spiffe://cluster/ns/nico
  ibsmctl api user add tenant7 --role tenant --partitions 't7-*' --guids 0x0200000000000000-0x0200ffffffffffff
  ibsmctl api user token tenant7 --days 90 --note terraform
`}
	cmd.PersistentFlags().StringVar(&u.named, "file", "", "the `FILE` of users (default: "+usersEnv+", or "+users.DefaultFile+")")
	cmd.AddCommand(u.add(), u.list(), u.delete(), u.password(), u.token(), u.revoke())
	return cmd
}

// file is the file of users.
func (u *userVerbs) file() string { return cmp.Or(u.named, os.Getenv(usersEnv), users.DefaultFile) }

// change changes the file and prints what has changed.
func (u *userVerbs) change(cmd *cobra.Command, done string, change func(*users.Set) (*users.Set, error)) error {
	err := users.Change(cmd.Context(), u.file(), change)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return cli.WithHint(err, "run ibsmctl as root, or name another file with --file")
	case errors.Is(err, fs.ErrNotExist):
		return cli.WithHint(err, "make the directory of the file, or name another file with --file")
	case err != nil:
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), done)
	return err
}

func (u *userVerbs) add() *cobra.Command {
	var role string
	var certificates, partitions, keys, hosts, guids []string
	cmd := &cobra.Command{Use: "add NAME --role ROLE [OPTION]...", Short: "add a user", Args: cli.Args(1, 1), Long: `
Adds a user, who can have a password, names of client certificates, and tokens. ROLE is reader, who
reads everything; tenant, who reads and changes the partitions of --partitions and --pkeys, with
members of --hosts and --guids; operator, who changes partitions and the subnet; or admin, who may
do everything. A partition of a tenant matches --partitions and --pkeys where both are given. A
tenant without --hosts and --guids can name no member. Options for names and ranges can be repeated.`}
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		a := users.Account{User: rights.User{Name: args[0], Scope: rights.Scope{Names: partitions, Hosts: hosts}},
			Certificates: certificates}
		if role == "" {
			return cli.UsageError("--role is missing", cli.See(cmd))
		}
		if a.Role, err = rights.ParseRole(role); err != nil {
			return cli.UsageError(fmt.Sprintf("--role: %v", err), cli.See(cmd))
		}
		if a.Scope.Keys, err = users.ParseAll(keys, rights.ParseKeys); err != nil {
			return err
		}
		if a.Scope.GUIDs, err = users.ParseAll(guids, rights.ParseGUIDs); err != nil {
			return err
		}
		if err := users.CheckName(a.Name); err != nil {
			return err
		}
		if u.stdin {
			if a.Password, err = readPassword(cmd.InOrStdin()); err != nil {
				return err
			}
		}
		return u.change(cmd, "added user "+a.Name+" to "+u.file(), func(s *users.Set) (*users.Set, error) { return s.Add(a) })
	}
	f := cmd.Flags()
	f.StringVar(&role, "role", "", "what the user may do: `ROLE`")
	f.BoolVar(&u.stdin, "password-stdin", false, "read a password from the first line of standard input")
	f.StringArrayVar(&certificates, "certificate", nil, "DNS name or URI `SAN` in the user's client certificate")
	f.StringArrayVar(&partitions, "partitions", nil, "names of a tenant's partitions: a `PATTERN` such as 't7-*'")
	f.StringArrayVar(&keys, "pkeys", nil, "P_Keys of a tenant's partitions: a `RANGE` such as 0x100-0x1ff")
	f.StringArrayVar(&hosts, "hosts", nil, "names of hosts that a tenant may name: a `PATTERN` such as 'gpu-*'")
	f.StringArrayVar(&guids, "guids", nil, "port GUIDs that a tenant may name: a `RANGE`")
	var names []string
	for _, r := range rights.Roles() {
		names = append(names, r.String())
	}
	cli.Words(cmd, "role", names...)
	return cli.Takes(cmd, "file")
}

func (u *userVerbs) delete() *cobra.Command {
	return cli.Takes(&cobra.Command{Use: "delete NAME", Short: "delete a user", Args: cli.Args(1, 1), Long: `
Deletes a user. The user's password, certificates and tokens are refused from then on.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return u.change(cmd, "deleted user "+args[0], func(s *users.Set) (*users.Set, error) { return s.Delete(args[0]) })
		}}, "file")
}

func (u *userVerbs) password() *cobra.Command {
	cmd := &cobra.Command{Use: "password NAME [OPTION]...", Short: "set a user's password", Args: cli.Args(1, 1), Long: `
Asks for a password twice, at the terminal, and sets it: 8 to 256 bytes. The previous one is refused
from then on.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			set, err := users.Read(u.file())
			if err != nil {
				return u.unread(err)
			}
			if _, is := set.Find(args[0]); !is {
				_, err = set.Delete(args[0]) // the error that there is no such user
				return err
			}
			var p users.Password
			if u.stdin {
				p, err = readPassword(cmd.InOrStdin())
			} else {
				p, err = askPassword()
			}
			if err != nil {
				return err
			}
			return u.change(cmd, "set the password of user "+args[0], func(s *users.Set) (*users.Set, error) {
				return s.SetPassword(args[0], p)
			})
		}}
	cmd.Flags().BoolVar(&u.stdin, "password-stdin", false, "read the password from the first line of standard input")
	return cli.Takes(cmd, "file")
}

// readPassword reads a password from the first line.
func readPassword(r io.Reader) (users.Password, error) {
	line, err := bufio.NewReader(io.LimitReader(r, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return users.Password{}, err
	}
	return users.NewPassword(strings.TrimRight(line, "\r\n"))
}

// askPassword asks for a new password.
func askPassword() (p users.Password, err error) {
	text, err := askSecret("password", "--password-stdin", true)
	if err != nil {
		return p, err
	}
	return users.NewPassword(text)
}

func (u *userVerbs) token() *cobra.Command {
	days, note := users.DefaultTokenDays, ""
	cmd := &cobra.Command{Use: "token NAME [OPTION]...", Short: "give a user a token", Args: cli.Args(1, 1), Long: `
Makes a token and prints it. It is in no file and cannot be shown again. A client sends it as
"Authorization: Bearer TOKEN", or in the forms of UFM's clients.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, text, err := users.NewToken(time.Now(), days, note)
			if err != nil {
				return err
			}
			err = u.change(cmd, text, func(s *users.Set) (*users.Set, error) { return s.AddToken(args[0], t) })
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "token %s of user %s ends at %s\n", t.ID, args[0], date(t.Until))
			return nil
		}}
	cmd.Flags().IntVar(&days, "days", days, "the token ends after `N` days, at most 3650")
	cmd.Flags().StringVar(&note, "note", "", "`TEXT` that list shows with the token, such as where it is used")
	return cli.Takes(cmd, "file")
}

func (u *userVerbs) revoke() *cobra.Command {
	return cli.Takes(&cobra.Command{Use: "revoke NAME ID", Short: "revoke a token of a user", Args: cli.Args(2, 2), Long: `
Revokes the token with an ID that list shows. It is refused from then on.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return u.change(cmd, "revoked token "+args[1]+" of user "+args[0], func(s *users.Set) (*users.Set, error) {
				return s.RevokeToken(args[0], args[1])
			})
		}}, "file")
}

// unread explains why the file of users cannot be read.
func (u *userVerbs) unread(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cli.WithHint(err, "ibsmctl api user add makes the file; --file names another one")
	case errors.Is(err, fs.ErrPermission):
		return cli.WithHint(err, "run ibsmctl as root, or name another file with --file")
	}
	return err
}

func date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
