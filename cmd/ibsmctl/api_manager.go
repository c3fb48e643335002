package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
)

func newAPIFingerprint(a *asker) *cobra.Command {
	return &cobra.Command{Use: "fingerprint [OPTION]...", Short: "SHA-256 of the API's certificate", Args: cli.Args(0, 0),
		RunE: a.asking(func(ctx context.Context, _ []string, stdout io.Writer) error {
			s := &ctl.API{}
			if shown, err := a.value(ctx, "/v1/api", nil, s, stdout); err != nil || shown {
				return err
			}
			if s.Fingerprint == "" {
				return cli.WithHint(fmt.Errorf("%s has no certificate", s.URL), "api_addr without http:// serves HTTPS")
			}
			_, err := fmt.Fprintln(stdout, s.Fingerprint)
			return err
		}), Long: `
Prints the SHA-256 of the certificate that the manager's API serves, as openssl x509 -fingerprint
-sha256 does. A client that is given it needs no authority of certificates.`}
}

func newAPILog(a *asker) *cobra.Command {
	most := 0
	c := &cobra.Command{Use: "log [OPTION]...", Short: "last changes and refusals", Args: cli.Args(0, 0), Long: `
Prints the last entries of the audit (api_audit_file): changes over the API and the control socket,
and refusals, the oldest first: time, user, client, request, path, status, and what was wrong. --json
prints whole entries, with what each changed.`}
	c.Flags().IntVar(&most, "most", 100, "print at most `N` entries")
	c.RunE = a.asking(func(ctx context.Context, _ []string, stdout io.Writer) error {
		if most < 1 {
			return cli.UsageError("--most is at least 1", cli.See(c))
		}
		q := query("most", strconv.Itoa(most))
		if a.json {
			return a.copy(ctx, http.MethodGet, "/v1/audit", q, stdout)
		}
		err := ctl.All(ctx, a.Client, http.MethodGet, "/v1/audit", q, func(e *ctl.Audited) error {
			method, _, _ := strings.Cut(e.Request, " ")
			line := fmt.Sprintf("%s %s %s %s %s %d", e.Time.Local().Format(time.DateTime), cmp.Or(e.User, "-"),
				cmp.Or(e.From, "-"), method, e.Path, e.Status)
			if e.Error != "" {
				line += ": " + e.Error
			}
			_, err := fmt.Fprintln(stdout, printable(line))
			return err
		})
		return a.explain(err)
	})
	return c
}
