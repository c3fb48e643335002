package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ibsm/cmd/cli"
	"ibsm/ctl"
	"ibsm/ctl/profile"
)

// The environment variables with the servers to ask, and with a token for them.
const (
	serverEnv = "IBSM_SERVER"
	tokenEnv  = "IBSM_TOKEN"
)

// serverOptions name managers that are asked over the network.
type serverOptions struct {
	server, ca, tokenFile string
	fingerprints          []string
}

// add adds the options.
func (o *serverOptions) add(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&o.server, "server", "",
		"ask over HTTPS: the managers of a subnet at `URLS`, separated by commas, of which the master answers, or a profile of ibsmctl.toml; status, partitions and why take several profiles (default: IBSM_SERVER)")
	f.StringVar(&o.ca, "ca", "", "for URLs: the authorities of their certificates, in PEM `FILE`")
	f.StringSliceVar(&o.fingerprints, "fingerprint", nil,
		"for URLs: the SHA-256 `PRINT` of their certificate, as ibsmctl api fingerprint prints it; may be repeated")
	f.StringVar(&o.tokenFile, "token-file", "", "for URLs: the token in the first line of `FILE` (default: IBSM_TOKEN)")
	_ = cmd.RegisterFlagCompletionFunc("server", completeProfiles) // the option exists
}

// spec is what --server or the environment names; "" is a socket.
func (a *asker) spec() (string, error) {
	if a.server != "" && a.socket != "" {
		return "", cli.UsageError("--server and --socket exclude each other", "")
	}
	spec := a.server
	if spec == "" && a.socket == "" {
		spec = os.Getenv(serverEnv)
	}
	if spec == "" && (a.ca != "" || a.tokenFile != "" || a.fingerprints != nil) {
		return "", cli.UsageError("--ca, --fingerprint and --token-file need --server", "")
	}
	return spec, nil
}

// profiles are the subnets that --server names, one by its URLs or several by their profiles; none is a socket.
func (a *asker) profiles() (all []*profile.Profile, err error) {
	spec, err := a.spec()
	if spec == "" || err != nil {
		return nil, err
	}
	names := strings.Split(spec, ",")
	isName := func(name string) bool { return !strings.Contains(name, "://") }
	switch {
	case !slices.ContainsFunc(names, isName):
		p, err := profile.Of(names, a.fingerprints)
		if err != nil {
			return nil, cli.UsageError(err.Error(), "")
		}
		p.CA, p.TokenFile = a.ca, a.tokenFile
		all = append(all, p)
	case a.ca != "" || a.tokenFile != "" || a.fingerprints != nil:
		return nil, cli.UsageError("--ca, --fingerprint and --token-file are for URLs", "set them in the profile")
	default:
		file, err := profile.Read(profile.Usual())
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			p, err := file.Named(name)
			if err != nil {
				return nil, cli.WithHint(err, "--server is a list of URLs such as https://sm1:8443, or of names of profiles")
			}
			if slices.Contains(names[:i], name) {
				return nil, cli.UsageError(fmt.Sprintf("--server has the profile %s twice", name), "")
			}
			all = append(all, p)
		}
	}
	for _, p := range all {
		if !p.HasCredential() {
			p.Token = os.Getenv(tokenEnv)
		}
	}
	return all, nil
}

// connect chooses the manager to ask: that of a socket, or that of a subnet.
func (a *asker) connect(ctx context.Context) error {
	for _, c := range a.servers {
		c.Close()
	}
	all, err := a.profiles()
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		a.Client = ctl.NewClient(socketOf(a.socket))
		return nil
	case len(all) > 1:
		return cli.UsageError("--server names several subnets, which status, partitions and why take", "")
	}
	return a.connectTo(ctx, all[0])
}

// connectTo chooses the manager to ask among those of a profile: the master, if there are several.
func (a *asker) connectTo(ctx context.Context, p *profile.Profile) error {
	remotes, err := p.Remotes()
	if err != nil {
		return err
	}
	a.servers = nil
	for _, r := range remotes {
		client, err := ctl.NewTLSClient(r)
		if err != nil {
			return err
		}
		a.servers = append(a.servers, client)
	}
	if a.Client = a.servers[0]; len(a.servers) > 1 {
		a.Client, err = master(ctx, a.servers)
	}
	return err
}

// leaderPatience is how long managers have to say where they stand.
var leaderPatience = 5 * time.Second

// errNoMaster reports what the managers of a subnet answered of which none is master.
type errNoMaster struct{ answers []string }

func (e *errNoMaster) Error() string { return "no manager is master: " + strings.Join(e.answers, "; ") }

// Is has status --wait wait for one.
func (e *errNoMaster) Is(target error) bool { return target == ctl.ErrUnreachable }

// master asks all managers of a subnet at once, and returns the first that says that it is master.
func master(ctx context.Context, all []*ctl.Client) (*ctl.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, leaderPatience)
	defer cancel()
	type answer struct {
		at    int
		leads bool
		text  string
	}
	answers := make(chan answer, len(all))
	for i, c := range all {
		go func() {
			word, leads, err := c.Leader(ctx)
			if err != nil {
				word = unansweredText(ctx, err)
			}
			answers <- answer{i, leads, strings.TrimPrefix(word, c.Address()+": ")}
		}()
	}
	texts := make([]string, len(all))
	for range all {
		a := <-answers
		if a.leads {
			return all[a.at], nil
		}
		texts[a.at] = all[a.at].Address() + ": " + printable(a.text)
	}
	return nil, cli.WithHint(&errNoMaster{texts}, "name one of them alone in --server to ask it whatever it is")
}

func unansweredText(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %v", leaderPatience)
	}
	return err.Error()
}

// Times of a takeover.
const (
	leaderPoll       = 2 * time.Second        // how often a manager that is followed is asked whether it is master
	takeoverPoll     = 500 * time.Millisecond // how often the next one is looked for
	takeoverPatience = time.Minute            // and how long
)

// successor is another manager of the subnet that is master; nil while the one that is asked is, or none is.
func (a *asker) successor(ctx context.Context) *ctl.Client {
	if len(a.servers) < 2 {
		return nil
	}
	own, cancel := context.WithTimeout(ctx, leaderPatience)
	defer cancel()
	if _, leads, err := a.Leader(own); err == nil && leads {
		return nil
	}
	if next, err := master(ctx, a.servers); err == nil && next != a.Client {
		return next
	}
	return nil
}

// ask has another manager asked, and returns that in words. It may be the same one, which has ended the connection.
func (a *asker) ask(next *ctl.Client) string {
	before := a.Address()
	a.Client = next
	if next.Address() == before {
		return before + " closed the connection, and is master still or again"
	}
	return fmt.Sprintf("takeover: %s is master now, and %s is not", next.Address(), before)
}

// awaitMaster waits until one of several managers is master, has that one asked from then on, and says so.
func (a *asker) awaitMaster(ctx context.Context) error {
	late := time.NewTimer(takeoverPatience)
	defer late.Stop()
	tick := time.NewTicker(takeoverPoll)
	defer tick.Stop()
	for {
		next, err := master(ctx, a.servers)
		if err == nil {
			fmt.Fprintln(a.stderr, "ibsmctl:", a.ask(next))
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return err
		case <-tick.C:
		}
	}
}

// onHost has a verb, and those below it, refuse --server: they work on something of the host that they run on.
func onHost(cmd *cobra.Command, what string) *cobra.Command {
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flag("server").Changed {
			return notRemote(cmd.CommandPath(), what)
		}
		if check == nil {
			return nil
		}
		return check(cmd, args)
	}
	for _, verb := range cmd.Commands() {
		onHost(verb, what)
	}
	return cmd
}

func notRemote(verb, what string) error {
	return cli.UsageError(fmt.Sprintf("%s works on %s of the host that it runs on, and asks no manager over the network: "+
		"run it there, without --server", verb, what), "")
}

// notHere is the error that a file is on the manager's host.
func (a *asker) notHere(what string) error {
	return cli.UsageError(fmt.Sprintf("the manager's %s is on its own host, %s: name a file of this host, or run the "+
		"command there", what, a.Address()), "")
}

// credentialHint is what to do about a manager that does not know who asks.
func credentialHint(f *ctl.Failure) string {
	if f.Status == http.StatusUnauthorized {
		return cmp.Or(f.Hint, "set token_file in the profile, or use --token-file or "+tokenEnv+"; ibsmctl api user token "+
			"on the manager's host makes a token")
	}
	return f.Hint
}
