package main

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/mad/umad"
	"ibsm/manager"
)

// userMAD is a port of this host.
type userMAD struct {
	guid  mad.GUID // 0 until a port is chosen, which is then kept
	where string
	cfg   umad.Config
}

// newUserMAD is the port with a GUID, or the best one for GUID 0.
func newUserMAD(l *conf.Loaded) *userMAD {
	u := &userMAD{guid: portGUID(l.Config), where: "the best port of this host"}
	if u.guid != 0 {
		u.where = "GUID " + u.guid.String()
	}
	u.cfg.Serve = !l.DryRun
	u.cfg.Timeout = patience(l.Config)
	return u
}

func (u *userMAD) String() string { return u.where }

func (u *userMAD) open(context.Context) (smPort, error) {
	pair, err := umad.Find("/", u.guid)
	if err != nil {
		return nil, err
	}
	dev, err := umad.Open(pair, u.cfg)
	if err != nil {
		return nil, err
	}
	u.guid = pair.GUID()
	u.where = pair.String() + ", GUID " + u.guid.String()
	return &userMADPort{dev.SMI, dev, pair.SMI}, nil
}

// userMADPort is a port that is open: QP0 itself, and what belongs to it.
type userMADPort struct {
	*umad.Port
	dev  *umad.Device
	host umad.HostPort
}

func (p *userMADPort) SetIsSM(_ context.Context, is bool) error { return p.dev.SetIsSM(is) }
func (p *userMADPort) GUID() mad.GUID                           { return p.host.GUID }
func (p *userMADPort) Close() error                             { return p.dev.Close() }

// watchPort is how often a port's own state is looked at, which costs the kernel one
// question to its driver.
const watchPort = 100 * time.Millisecond

// watch asks for a sweep when the port's state has changed by itself. The switch it is
// cabled to may have forgotten its routes, and then no trap gets through.
func (p *userMADPort) watch(ctx context.Context, asks chan<- manager.Sweep) {
	tick := time.NewTicker(watchPort)
	defer tick.Stop()
	for state := p.host.State; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		was := state
		if state = p.host.CurrentState(); state == was {
			continue
		}
		select {
		case <-ctx.Done():
		case asks <- manager.Light:
		}
	}
}

// isHopeless reports whether waiting for a port is in vain.
func isHopeless(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) ||
		errors.Is(err, umad.ErrNotInfiniBand) || errors.Is(err, umad.ErrInUse) || errors.Is(err, umad.ErrABI)
}
