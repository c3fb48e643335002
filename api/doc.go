// Package api serves the control protocol and UFM's calls over HTTPS, to users by their rights. Docs/api.md describes
// it.
//
// A request passes these in order: limits of connections, a check where it comes from (browsers), its path, the table
// of routes, the credential (package api/users), the limit of the user, the rights (ctl.Guard). No reply redirects.
package api
