package main

import "github.com/spf13/cobra"

func newAPI(a *asker) *cobra.Command {
	cmd := &cobra.Command{Use: "api VERB", Short: "the API over HTTPS: users, certificate, audit", Long: `
Manages the API of ibsm over HTTPS, for clients of tenants, of Kubernetes and of UFM. docs/api.md
describes it.`}
	cmd.AddCommand(onHost(newAPIUser(a), "a file of users"), newAPIFingerprint(a), newAPILog(a))
	return cmd
}
