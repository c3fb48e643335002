package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ibsm/conf"
	"ibsm/ctl/server"
	"ibsm/perf"
	"ibsm/perf/sick"
)

// Which links are sick, and which are out of use for it, is kept in the store, and sent to standbys with the rest of
// the policy.

// knownLinks is k, which knows nothing where it is nil.
func knownLinks(k *sick.Saved) *sick.Saved {
	if k == nil {
		return &sick.Saved{}
	}
	return k
}

func encodeLinks(k *sick.Saved) []byte { return knownLinks(k).Encode() }

// linkLimits are how far the manager goes with sick links.
func linkLimits(c *conf.Config) sick.Limits {
	most, _ := sick.ActionNamed(conf.SickLinks.In(c))
	return sick.Limits{Most: most, Links: int(conf.SickLinksMax.In(c)), Permille: int(conf.SickLinksMaxPermille.In(c)),
		Hosts: conf.SickLinksHosts.In(c)}
}

// takeLinks takes what the master knows of links.
func (c *configuration) takeLinks(next *inForce, k *sick.Saved) {
	was := knownLinks(next.links)
	if k = knownLinks(k); !k.Same(was) {
		byRule := func(e sick.Excluded) bool { return !e.ByHand }
		if counterSettings(next.own).Interval == 0 && slices.ContainsFunc(k.Excluded, byRule) &&
			!slices.ContainsFunc(was.Excluded, byRule) {
			c.logger.Warn(
				"the master has taken sick links out of use, but this manager reads no counters: after a failover they return to use", "links", len(k.Excluded))
		}
		next.links = k
		c.state.saveLinks(k)
		c.adopt(k)
	}
}

// setLinks puts the known state of links into force. The manager and the policy for standbys get it.
func (c *configuration) setLinks(next *inForce, k *sick.Saved) {
	was := knownLinks(next.links)
	if k.Same(was) {
		return
	}
	next.links = k
	c.state.saveLinks(k)
	c.sendTo(next, slices.Equal(k.Excluded, was.Excluded))
}

// decideLinks decides what is done about sick links, as master. look says what is known of them, nil if nothing was
// judged. show takes what was decided, in the order in which it comes into force, and also where nothing was.
func (c *configuration) decideLinks(look func() *server.FoundLinks,
	show func([]sick.Finding, []sick.Decision, *sick.Saved)) {
	c.change(func(next *inForce) {
		var findings []sick.Finding
		var decisions []sick.Decision
		defer func() { show(findings, decisions, knownLinks(next.links)) }()
		views := c.views.Load()
		if views == nil || !next.master {
			return
		}
		v := (*views)()
		if v == nil {
			return
		}
		l, _ := next.effective()
		found := look()
		if counterSettings(next.own).Interval == 0 {
			found = nil // while no counters are read none is watched
		} else if found == nil {
			return // there was no reading yet
		}
		in := sick.In{Topo: v.Topo, Now: c.now().Unix(), Excluded: knownLinks(next.links).Excluded,
			Limits: linkLimits(l.Config)}
		kept := &sick.Saved{}
		if found != nil {
			findings, kept.Found, kept.Relapses = found.Findings, found.Saved.Found, found.Saved.Relapses
		}
		in.Findings = findings
		kept.Excluded, decisions = sick.Decide(in)
		c.logLinks(in.Excluded, kept.Excluded)
		c.setLinks(next, kept)
	})
}

// logLinks logs which links are taken out of use, and which return.
func (c *configuration) logLinks(was, now []sick.Excluded) {
	for i := range now {
		e := &now[i]
		if before := sick.IndexOf(was, e.Port); before < 0 || was[before].Action != e.Action ||
			was[before].State != e.State {
			c.logger.Warn("a sick link: "+e.State.String(), "guid", e.Port.Node, "port", e.Port.Port, "far",
				e.Peer.Node, "far_port", e.Peer.Port, "action", e.Action.String())
		}
	}
	for i := range was {
		if e := &was[i]; sick.IndexOf(now, e.Port) < 0 {
			c.logger.Info("a link is in use again", "guid", e.Port.Node, "port", e.Port.Port, "far", e.Peer.Node,
				"far_port", e.Peer.Port)
		}
	}
}

var (
	errIsolated = errors.New("the link is already out of use: see ibsmctl links sick")
	errTooMany  = fmt.Errorf("%d links are already out of use, which is the maximum", sick.MaxSaved)
)

// isolate takes a link out of use by hand, until a time, or for good if that is zero.
func (c *configuration) isolate(port, peer perf.Key, until time.Time) (err error) {
	c.change(func(next *inForce) {
		was := knownLinks(next.links)
		switch {
		case !next.master:
			err = errNotMaster
		case sick.IndexOf(was.Excluded, port) >= 0:
			err = errIsolated
		case len(was.Excluded) >= sick.MaxSaved:
			err = errTooMany
		default:
			k := *was
			e := sick.Excluded{Port: port, Peer: peer, Action: sick.Avoid, ByHand: true, Since: c.now().Unix()}
			if !until.IsZero() {
				e.Until = until.Unix()
			}
			k.Excluded = append(slices.Clone(k.Excluded), e)
			c.logLinks(was.Excluded, k.Excluded)
			c.setLinks(next, &k)
		}
	})
	return err
}

// heal returns a repaired link to use. forget removes the findings about it.
func (c *configuration) heal(port, peer perf.Key, forget func()) (err error) {
	c.change(func(next *inForce) {
		if !next.master {
			err = errNotMaster
			return
		}
		forget()
		was := knownLinks(next.links)
		k := was.Without(port, peer)
		c.logLinks(was.Excluded, k.Excluded)
		c.setLinks(next, k)
	})
	return err
}

// linksCheck is how often it is looked whether a link returns while no counters are read.
const linksCheck = 10 * time.Second

// watchLinks has links return whose time has come. It runs until ctx is done.
func (d *daemon) watchLinks(ctx context.Context) {
	tick := time.NewTicker(linksCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := d.current.current.Load(); len(knownLinks(now.links).Excluded) > 0 {
			d.counters.decide()
		}
	}
}
