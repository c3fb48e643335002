package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/keys"
	"ibsm/partitions"
	"ibsm/sweep"
)

// Which M_Keys ports have, where each has its own: those of a number. The number is kept in the store, and sent to
// standbys with the rest of the policy; with the secret of keys_file it gives the keys. It is no secret, and only
// grows.

// mkeyNumber is the number of the M_Keys of ports. The zero value is for ports that have never had M_Keys of their own.
type mkeyNumber struct {
	number uint32
	since  int64 // when it came into force, in seconds since 1970
}

// mkeyText is how it is kept.
const mkeyText = "m_keys %d since %d"

// encode is nil where there is no number.
func (n mkeyNumber) encode() []byte {
	if n.number == 0 {
		return nil
	}
	return fmt.Appendf(nil, mkeyText, n.number, n.since)
}

// decodeMKeyNumber is the inverse of encode. What it does not understand is no number: then ports that do not answer
// open when their leases end.
func decodeMKeyNumber(text []byte) (n mkeyNumber) {
	if _, err := fmt.Sscanf(string(text), mkeyText, &n.number, &n.since); err != nil {
		return mkeyNumber{}
	}
	return n
}

// newer is the one with the higher number.
func newer(a, b mkeyNumber) mkeyNumber {
	if b.number > a.number {
		return b
	}
	return a
}

// mkeysInForce are the number and the M_Keys of ports by a configuration. The number begins with 1 when ports get
// M_Keys of their own for the first time; after that their M_Keys are known as long as the secret is.
func (c *configuration) mkeysInForce(next *inForce, l *conf.Loaded) keys.Ports {
	secret, ok := l.Secret()
	missing := conf.MKeyPerPort.In(l.Config) && !ok
	if missing && !next.keyless {
		c.logger.Error(noSecret)
	}
	next.keyless = missing
	if key := conf.MKey.In(l.Config); key != next.mkey[0] {
		next.mkey = [2]uint64{key, next.mkey[0]}
	}
	was := next.mkeys
	if next.from != nil {
		next.mkeys = newer(next.mkeys, next.from.mkeys)
	}
	if next.mkeys.number == 0 && conf.MKeyPerPort.In(l.Config) && ok {
		next.mkeys = mkeyNumber{1, c.now().Unix()}
	}
	if next.mkeys != was {
		c.state.keepMKeys(next.mkeys)
	}
	if !ok || next.mkeys.number == 0 {
		return keys.Ports{}
	}
	return secret.Ports(next.mkeys.number).Beside(next.mkey[0], next.mkey[1])
}

// noSecret is logged where the master has m_key_per_port, and this manager no keys_file.
const noSecret = "m_key_per_port is TRUE but there is no secret: as master this manager would set m_key on all ports; " +
	"copy the master's keys_file to it"

// Errors of RotateMKeys.
var (
	errNoPortMKeys = errors.New("ports have no individual M_Keys: m_key_per_port is FALSE")
	errNotMaster   = errors.New("this manager is not master")
	errNoSecret    = errors.New("ports have no individual M_Keys: this manager has no keys_file")
	errNoSubnet    = errors.New("this manager has not brought the subnet up yet")
)

// rotationLeft is an error while ports have M_Keys of an earlier number: with the next one a manager would not find
// those any more. p are the M_Keys in force.
func (c *configuration) rotationLeft(p keys.Ports) error {
	views := c.views.Load()
	if views == nil {
		return errNoSubnet
	}
	v := (*views)()
	if v == nil {
		return errNoSubnet
	}
	left := 0
	for _, i := range v.Topo.EndPorts {
		held, port := uint64(v.Topo.MKey(i)), uint64(v.Topo.Ports[i].GUID)
		if held == 0 || held == p.Of(port) {
			continue
		}
		if number, ours := p.Made(port, held); ours && number > 0 {
			left++
		}
	}
	if left > 0 {
		return fmt.Errorf(
			"the last rotation has not finished: %d ports still have an older M_Key; see ibsmctl security", left)
	}
	return nil
}

// RotateMKeys has all ports get their next M_Keys, and returns their number.
func (c *configuration) RotateMKeys() (number uint32, err error) {
	c.change(func(next *inForce) {
		l, _ := next.effective()
		secret, ok := l.Secret()
		switch {
		case !conf.MKeyPerPort.In(l.Config):
			err = errNoPortMKeys
		case !ok:
			err = errNoSecret
		case !next.master:
			err = errNotMaster
		default:
			if err = c.rotationLeft(secret.Ports(next.mkeys.number)); err != nil {
				return
			}
			next.mkeys = mkeyNumber{next.mkeys.number + 1, c.now().Unix()}
			c.state.keepMKeys(next.mkeys)
			c.send(next)
			number = next.mkeys.number
			c.logger.Info("all ports get their next M_Keys", "number", number)
		}
	})
	return number, err
}

// mkeyCheck is how often it is looked whether periodic_key_update is due.
const mkeyCheck = time.Second

// tendMKeys is periodic_key_update. It runs until ctx is done.
func (c *configuration) tendMKeys(ctx context.Context) {
	var tried time.Time
	tick := time.NewTicker(mkeyCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := c.current.Load()
		l, _ := now.effective()
		period := conf.PeriodicKeyUpdate.In(l.Config)
		if period == 0 || !now.master || !conf.MKeyPerPort.In(l.Config) {
			continue
		}
		if now.mkeys.isAhead(c.now()) {
			c.change(c.clockSetBack)
			continue
		}
		if due := max(period, conf.LeastKeyUpdate); c.now().Sub(time.Unix(now.mkeys.since, 0)) < due ||
			c.now().Sub(tried) < conf.LeastKeyUpdate {
			continue
		}
		tried = c.now()
		if _, err := c.RotateMKeys(); err != nil {
			c.logger.Warn("periodic_key_update is due, but M_Keys cannot be changed", "reason", err)
		}
	}
}

// isAhead reports whether the number came into force at a time that has not come yet: the clock was set back after
// that.
func (n mkeyNumber) isAhead(now time.Time) bool { return time.Unix(n.since, 0).After(now) }

// clockSetBack has the number of a master come into force now, where it is ahead: else the next one would not be due
// before the clock has come to that time again.
func (c *configuration) clockSetBack(next *inForce) {
	if now := c.now(); next.master && next.mkeys.isAhead(now) {
		next.mkeys.since = now.Unix()
		c.state.keepMKeys(next.mkeys)
	}
}

// tenants is what security tenants would change: the settings and partitions that it gives a manager, and the settings
// by name.
func (c *configuration) tenants() (*sweep.Policy, []ctl.SettingChange, error) {
	now := c.current.Load()
	l, _ := now.effective()
	l, changes, err := l.AsTenants()
	if err != nil {
		return nil, nil, err
	}
	chosen := partitions.Select(readPartitions(now, l, now.port, now.files.portGroups()), nil, partitions.NoStart)
	if len(chosen.Errors) > 0 {
		return nil, nil, chosen.Errors.Err()
	}
	r := &sweep.Policy{Settings: subnetSettings(l.Config), Partitions: sweepPartitions(&chosen, l.Config)}
	if secret, ok := l.Secret(); ok {
		r.Settings.PortMKeys = secret.Ports(now.mkeys.number)
	}
	r.Settings.MKeyPerPort = conf.MKeyPerPort.In(l.Config) && r.Settings.PortMKeys.On()
	shown := []ctl.SettingChange{}
	for _, ch := range changes {
		shown = append(shown, ctl.SettingChange{Key: ch.Key, Before: ch.Before, After: ch.After})
	}
	return r, shown, nil
}
