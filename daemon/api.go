package daemon

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"ibsm/api"
	"ibsm/api/audit"
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
		ClientCA: conf.APIClientCAFile.In(c), Dir: stateDir(d.conf), Control: control, Routes: control.Routes(),
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
