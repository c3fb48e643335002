package daemon

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"ibsm/api"
	"ibsm/api/audit"
	"ibsm/api/openapi"
	"ibsm/api/ufm"
	"ibsm/api/users"
	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/rights"
)

// Files of the API where the configuration does not say.
const (
	defaultUsers = "/etc/ibsm/users.toml"
	defaultAudit = "/var/log/ibsm-audit.log"
)

// openAudit opens the file of changes and refusals.
func (d *daemon) openAudit() (*audit.Log, error) {
	log, err := audit.Open(auditFile(d.conf), d.logger, d.cfg.Stderr)
	if err != nil {
		return nil, err
	}
	d.tasks.atEnd(log.Close)
	d.rotate(auditFile(d.conf))
	return log, nil
}

// auditFile is the file of changes and refusals; "" for none.
func auditFile(l *conf.Loaded) string {
	switch path := conf.APIAuditFile.In(l.Config); {
	case path == "none":
		return ""
	case conf.APIAuditFile.Chosen(l.Config):
		return path
	case conf.APIAddr.In(l.Config) == "" || l.Fabric != "" || l.IBSim || l.DryRun:
		return ""
	}
	return defaultAudit
}

// openAPI opens the API's listener; nil where the configuration wants none. control serves the control protocol.
func (d *daemon) openAPI(control *ctl.Server, record func(*ctl.Audited)) (*api.Server, error) {
	c := d.conf.Config
	cfg := api.Config{Addr: conf.APIAddr.In(c), Certificate: conf.APICertFile.In(c), Key: conf.APIKeyFile.In(c),
		ClientCA: conf.APIClientCAFile.In(c), Dir: stateDir(d.conf), Control: control,
		Audit: record, Logger: d.logger}
	if cfg.Addr == "" {
		return nil, nil
	}
	if (cfg.Certificate == "") != (cfg.Key == "") {
		return nil, fmt.Errorf("api_cert_file and api_key_file: set both, or none")
	}
	if cfg.Certificate == "" && cfg.Dir != "" {
		cfg.Dir = filepath.Join(cfg.Dir, "api")
	}
	if d.conf.Fabric != "" && !conf.APIUsersFile.Chosen(c) {
		cfg.Double = &rights.User{Name: "anybody", Role: rights.Admin}
	} else {
		cfg.Users = users.NewKeeper(cmp.Or(conf.APIUsersFile.In(c), defaultUsers), time.Now)
	}
	cfg.Routes = slices.Concat(control.Routes(), ufm.New(ufm.Config{Partitions: d.control, Source: d.control,
		Counters: d.control, SMConf: d.current.smConf, Tokens: tokens(cfg.Users), Logger: d.logger}).Routes())
	description, err := openapi.Route(cfg.Routes, conf.Version, control.Fail)
	if err != nil {
		return nil, err
	}
	cfg.Routes = append(cfg.Routes, description)
	server, err := api.Listen(cfg)
	if err != nil {
		return nil, fmt.Errorf("api_addr: %w", err)
	}
	d.logger.Info("the API is served", "url", server.URL(), "certificate", server.Fingerprint())
	if cfg.Double != nil {
		d.logger.Warn("every credential is accepted: the fabric is simulated, and api_users_file is not set")
	}
	return server, nil
}

// serveAPI serves the API until its turn at the end.
func (d *daemon) serveAPI(ctx context.Context, server *api.Server) {
	d.tasks.run(ctx, func(ctx context.Context) {
		if err := server.Serve(ctx); err != nil {
			d.logger.Error("the server of the API stopped", "reason", err)
		}
	})
}

// smConf is what UFM's clients get of the configuration: whether keys are the defaults that everybody knows.
func (c *configuration) smConf() ufm.SMConf {
	l, _ := c.current.Load().effective()
	return ufm.SMConf{SubnetPrefix: conf.SubnetPrefix.In(l.Config), MKey: conf.MKey.In(l.Config) != 0,
		SMKey: conf.SMKey.In(l.Config) != 1, SAKey: conf.SAKey.In(l.Config) != 1,
		MKeyPerPort: conf.MKeyPerPort.In(l.Config)}
}

// tokenDays is how long a token is valid that a client of UFM's calls makes.
const tokenDays = 365

// tokens are the tokens of users for UFM's calls; nil without a file of users.
func tokens(keeper *users.Keeper) *ufm.Tokens {
	if keeper == nil {
		return nil
	}
	return &ufm.Tokens{
		Make: func(ctx context.Context, u *rights.User) (*ufm.Token, error) {
			t, text, err := keeper.AddToken(ctx, u, tokenDays, "app/tokens")
			if err != nil {
				return nil, err
			}
			return &ufm.Token{ID: t.ID, Secret: text, Made: t.Made, Until: t.Until}, nil
		},
		List: func(_ context.Context, u *rights.User) (all []ufm.Token, _ error) {
			a, _ := keeper.Users().Find(u.Name)
			for _, t := range a.Tokens {
				all = append(all, ufm.Token{ID: t.ID, Made: t.Made, Until: t.Until})
			}
			return all, nil
		},
		Revoke: func(ctx context.Context, u *rights.User, token string) error {
			id := keeper.Users().TokenID(u.Name, token)
			if id == "" {
				return fmt.Errorf("%w: user %s has no such token", ctl.ErrNotFound, u.Name)
			}
			return keeper.RevokeToken(ctx, u.Name, id)
		},
	}
}
