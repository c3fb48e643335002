package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/api/users"
	"ibsm/cmd/cli"
	"ibsm/rights"
)

// listedUser is a user as JSON.
type listedUser struct {
	Name         string        `json:"name"`
	Role         string        `json:"role"`
	Password     bool          `json:"password"` // whether the user has one
	Certificates []string      `json:"certificates"`
	Partitions   []string      `json:"partitions,omitempty"`
	PKeys        []string      `json:"pkeys,omitempty"`
	Hosts        []string      `json:"hosts,omitempty"`
	GUIDs        []string      `json:"guids,omitempty"`
	Tokens       []listedToken `json:"tokens"`
}

// listedToken is a token as JSON.
type listedToken struct {
	ID    string    `json:"id"`
	Made  time.Time `json:"made"`
	Until time.Time `json:"until"`
	Ended bool      `json:"ended"`
	Note  string    `json:"note,omitempty"`
}

func (u *userVerbs) list() *cobra.Command {
	return cli.Takes(&cobra.Command{Use: "list", Short: "list users", Args: cli.Args(0, 0), Long: `
Lists the users with their roles, certificates, tokens and the scopes of tenants. It shows neither
passwords nor tokens, which are in no file.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := users.Read(u.file())
			if err != nil {
				return u.unread(err)
			}
			list := listedUsers(set, time.Now())
			if u.json {
				return printJSON(cmd.OutOrStdout(), list)
			}
			return printUsers(cmd.OutOrStdout(), list)
		}}, "file", "json")
}

func listedUsers(set *users.Set, now time.Time) []listedUser {
	list := []listedUser{}
	for _, a := range set.Accounts() {
		l := listedUser{Name: a.Name, Role: a.Role.String(), Password: a.Password.IsSet(), Partitions: a.Scope.Names,
			PKeys: texts(a.Scope.Keys, users.KeysText), Hosts: a.Scope.Hosts,
			GUIDs:        texts(a.Scope.GUIDs, users.GUIDsText),
			Certificates: append([]string{}, a.Certificates...), Tokens: []listedToken{}}
		for i := range a.Tokens {
			t := &a.Tokens[i]
			l.Tokens = append(l.Tokens, listedToken{t.ID, t.Made.UTC(), t.Until.UTC(), !now.Before(t.Until), t.Note})
		}
		list = append(list, l)
	}
	return list
}

func texts[T cmp.Ordered](list rights.Ranges[T], text func([2]T) string) (all []string) {
	for _, of := range list {
		all = append(all, text(of))
	}
	return all
}

// printUsers prints each user in a line, and below it, one in a line, what the user has.
func printUsers(w io.Writer, list []listedUser) error {
	out := bufio.NewWriter(w)
	for i := range list {
		l := &list[i]
		fmt.Fprintf(out, "%s, %s\n", l.Name, l.Role)
		if l.Password {
			fmt.Fprintln(out, "  password")
		}
		for _, name := range l.Certificates {
			fmt.Fprintln(out, "  certificate", name)
		}
		for _, t := range l.Tokens {
			ends := "ends at"
			if t.Ended {
				ends = "has ended at"
			}
			fmt.Fprintln(out, strings.TrimSuffix(fmt.Sprintf("  token %s %s %s: %s", t.ID, ends, date(t.Until), t.Note), ": "))
		}
		for _, scope := range []struct {
			name string
			of   []string
		}{{"partitions", l.Partitions}, {"pkeys", l.PKeys}, {"hosts", l.Hosts}, {"guids", l.GUIDs}} {
			if len(scope.of) > 0 {
				fmt.Fprintln(out, " ", scope.name, strings.Join(scope.of, ", "))
			}
		}
	}
	return out.Flush()
}
