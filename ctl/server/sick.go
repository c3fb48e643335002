package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ibsm/ctl"
	"ibsm/perf"
	"ibsm/perf/sick"
	"ibsm/topo"
	"ibsm/view"
)

// linkJudge is the watch over links. The goroutine of the reader of counters judges; others look.
type linkJudge struct {
	mu        sync.Mutex
	rules     []sick.Rule
	watch     *sick.Watch
	reader    *perf.Reader  // whose images are judged
	began     time.Duration // of the first one
	ended     time.Duration // of the last one
	adopted   *sick.Saved   // that the watch does not know yet; nil for nothing
	saved     *sick.Saved   // in force
	decisions map[linkRule]sick.Decision
}

// linkRule names a finding.
type linkRule struct {
	port perf.Key
	rule string
}

// SetSickRules sets the rules by which links are judged. What was found by others, and what was counted
// before, is judged no more.
func (d *Server) SetSickRules(rules []sick.Rule) {
	j := &d.links
	j.mu.Lock()
	defer j.mu.Unlock()
	if slices.Equal(j.rules, rules) {
		return
	}
	if j.watch != nil && j.adopted == nil { // else the watch does not know yet what was adopted
		j.adopted = j.watch.Save(nil, seconds(j.reader))
	}
	j.rules, j.watch = rules, nil
}

// AdoptLinks has links judged by what was found before, or by another manager, too.
func (d *Server) AdoptLinks(k *sick.Saved) {
	j := &d.links
	j.mu.Lock()
	defer j.mu.Unlock()
	j.adopted, j.saved = k, k
}

// seconds is the time of day for times of a reader, in seconds since 1970.
func seconds(r *perf.Reader) func(time.Duration) int64 {
	return func(at time.Duration) int64 { return r.Time(at).Unix() }
}

// Judge judges links by an image, and returns the findings that are new, and those that have ended.
func (d *Server) Judge(im *perf.Image) (found, ended []sick.Finding) {
	reader := d.Reader()
	if reader == nil || reader.View() == nil {
		return nil, nil
	}
	t := reader.View().Topo
	j := &d.links
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.watch != nil && j.reader != reader && j.adopted == nil {
		j.adopted = j.watch.Save(nil, seconds(j.reader))
	}
	if j.watch == nil || j.reader != reader {
		j.watch, j.reader, j.began = sick.New(j.rules), reader, im.End
	}
	if j.adopted != nil {
		j.watch.Restore(j.adopted, func(at int64) time.Duration {
			return im.End - reader.Time(im.End).Sub(time.Unix(at, 0))
		})
		j.adopted = nil
	}
	j.ended = im.End
	var excluded []sick.Excluded
	if j.saved != nil {
		excluded = j.saved.Excluded
	}
	return j.watch.Take(im.End, im.All, func(k perf.Key) sick.Link { return sick.LinkOf(t, k, excluded) })
}

// FoundLinks is what is found of links at a time.
type FoundLinks struct {
	Findings []sick.Finding
	Saved    *sick.Saved // without what is excluded
}

// FoundLinks is what is found of links by now; nil if nothing was judged, or not all that was found before is known
// yet.
func (d *Server) FoundLinks() *FoundLinks {
	j := &d.links
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.watch == nil || j.adopted != nil {
		return nil
	}
	return &FoundLinks{j.watch.Findings(), j.watch.Save(nil, seconds(j.reader))}
}

// sickLinks are the findings of links by now; none while no counters are read.
func (d *Server) sickLinks() []sick.Finding {
	reader := d.Reader()
	j := &d.links
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.judges(reader) {
		return nil
	}
	return j.watch.Findings()
}

// judges reports whether images of a reader have been judged. j is locked.
func (j *linkJudge) judges(r *perf.Reader) bool { return r != nil && j.watch != nil && j.reader == r }

// Decided shows what is done about findings, and which links are out of use.
func (d *Server) Decided(findings []sick.Finding, decisions []sick.Decision, saved *sick.Saved) {
	j := &d.links
	j.mu.Lock()
	defer j.mu.Unlock()
	j.saved, j.decisions = saved, map[linkRule]sick.Decision{}
	for i := range decisions {
		j.decisions[linkRule{findings[i].Port, findings[i].Rule.Name}] = decisions[i]
	}
}

// ofHosts is how many links of hosts are out of use. Routes cannot avoid them, so that a view does not have them.
func (j *linkJudge) ofHosts() (count int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.saved != nil {
		for i := range j.saved.Excluded {
			if j.saved.Excluded[i].Host {
				count++
			}
		}
	}
	return count
}

// maxSickLinks bounds the links of an answer: those of the earlier rules come first.
const maxSickLinks = 1000

// SickLinks are the links that are beyond a limit, at most maxSickLinks.
func (d *Server) SickLinks(context.Context) (*ctl.SickLinks, error) {
	c, err := d.counted()
	if err != nil {
		return nil, err
	}
	out := &ctl.SickLinks{Rules: []ctl.SickRule{}, Age: -1, Links: []ctl.SickLink{}, Excluded: []ctl.ExcludedLink{}}
	j := &d.links
	j.mu.Lock() // the reader of counters waits for it: only copies are made
	rules, began, ended := j.rules, j.began, j.ended
	judged := j.judges(c.Reader)
	var found []sick.Finding
	if judged {
		found = j.watch.Findings()
	}
	saved, decisions := j.saved, j.decisions
	j.mu.Unlock()
	for i := range rules {
		r := &rules[i]
		out.Rules = append(out.Rules, ctl.SickRule{Name: r.Name, Counters: r.Measures(), Limit: r.Limit(),
			Window: r.Window.Seconds(), Action: r.Action.String()})
	}
	if saved != nil {
		for i := range saved.Excluded {
			out.Excluded = append(out.Excluded, c.excluded(&saved.Excluded[i], found, ended))
		}
	}
	if !judged {
		return out, nil
	}
	out.Since, out.Age = c.Time(began), c.age(ended)
	out.More = max(0, len(found)-maxSickLinks)
	found = found[:len(found)-out.More]
	for i := range found {
		f := &found[i]
		did := decisions[linkRule{f.Port, f.Rule.Name}]
		out.Links = append(out.Links, ctl.SickLink{PortOf: c.portOf(f.Port), Rule: f.Rule.Name, Counted: f.Counted,
			Most:  f.Most,
			Since: c.Time(f.Since), Last: c.Time(f.Last), Clean: c.Time(ended + f.Left()), Relapses: f.Relapses,
			Action: did.Does.String(), Would: did.Would.String(), Obstacle: did.Obstacle.String()})
	}
	return out, nil
}

// LinkCounts are how many findings there are, by what is done about them, and how many links are out of use.
func (d *Server) LinkCounts() (found [sick.Disable + 1]int, excluded int) {
	j := &d.links
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.watch != nil {
		for _, f := range j.watch.Findings() {
			found[j.decisions[linkRule{f.Port, f.Rule.Name}].Does]++
		}
	}
	if j.saved != nil {
		excluded = len(j.saved.Excluded)
	}
	return found, excluded
}

// excluded is a link that is out of use. ended is the last time that was judged, at which found were there.
func (c *counted) excluded(e *sick.Excluded, found []sick.Finding, ended time.Duration) ctl.ExcludedLink {
	out := ctl.ExcludedLink{PortOf: c.portOf(e.Port), Action: e.Action.String(), State: e.State.String(),
		ByHand: e.ByHand, Since: time.Unix(e.Since, 0)}
	if e.Until > 0 {
		out.Returns = time.Unix(e.Until, 0)
	}
	for i := range found {
		if f := &found[i]; !e.ByHand && (f.Port == e.Port || f.Port == e.Peer) && f.Rule.Action > sick.Report {
			if at := c.Time(ended + f.Left()); at.After(out.Returns) {
				out.Returns = at
			}
		}
	}
	for _, d := range c.subnet.view.Drained {
		if d.By == view.BySickLinks && d.Switch == e.Port.Node && d.Port == e.Port.Port {
			out.Routes = d.State.String()
		}
	}
	return out
}

// IsolateLink has routes avoid the link of a port, for a time, or for good if that is 0.
func (d *Server) IsolateLink(_ context.Context, port string, last time.Duration) (*ctl.IsolatedLink, error) {
	l, err := d.linkToChange(port)
	if err != nil {
		return nil, err
	}
	if p := l.port.In(l.topo); !l.excluded && (p == topo.None || !l.topo.BetweenSwitches(p)) {
		return nil, fmt.Errorf("%w: %q does not lead to another switch, so routes cannot avoid it", ctl.ErrBadRequest,
			port)
	}
	out := &ctl.IsolatedLink{PortOf: l.PortOf}
	if last > 0 {
		out.Until = time.Now().Add(last)
	}
	return out, refusedBy(d.cfg.Isolate(l.port, l.peer, out.Until))
}

// HealLink has the link of a port return that was repaired, and forgets what was found of it.
func (d *Server) HealLink(_ context.Context, port string) (*ctl.IsolatedLink, error) {
	l, err := d.linkToChange(port)
	if err != nil {
		return nil, err
	}
	return &ctl.IsolatedLink{PortOf: l.PortOf}, refusedBy(d.cfg.Heal(l.port, l.peer, func() {
		j := &d.links
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.watch != nil {
			j.watch.Heal(l.port, l.peer)
		}
		if j.adopted != nil {
			j.adopted = j.adopted.Without(l.port, l.peer)
		}
	}))
}

// refusedBy is an order that cannot be carried out now.
func refusedBy(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: %w", ctl.ErrNotNow, err)
	}
	return err
}

// linkToChange is the link of a named port that an order is about.
func (d *Server) linkToChange(name string) (l namedLink, err error) {
	s := d.subnet()
	if s == nil || d.cfg.Isolate == nil {
		return l, fmt.Errorf("%w: only a master that has completed a sweep can change links", ctl.ErrNotNow)
	}
	d.links.mu.Lock()
	saved := d.links.saved
	d.links.mu.Unlock()
	if saved == nil {
		saved = &sick.Saved{}
	}
	return s.linkOf(name, saved)
}

// namedLink is the link of a port. Port is as it is known, peer is 0 if it is not known.
type namedLink struct {
	topo       *topo.Topo
	port, peer perf.Key
	excluded   bool // it is out of use
	ctl.PortOf      // as it was named
}

// linkOf is the link of a named port. What is known of links outlives them: a port can be named by its GUID also if it
// has gone.
func (s *subnet) linkOf(name string, saved *sick.Saved) (l namedLink, err error) {
	if node, num, is := cutPort(name); is {
		if guid, is, _ := s.guidOf(node); is {
			if l, known := s.known(perf.Key{Node: guid, Port: num}, saved); known {
				return l, nil
			}
		}
	}
	found, err := s.findPorts(name)
	if err != nil {
		return l, err
	}
	if len(found) != 1 {
		return l, fmt.Errorf("%w: %q has %d ports: specify one as SWITCH:PORT", ctl.ErrBadRequest, name, len(found))
	}
	l, _ = s.known(perf.KeyOf(s.view.Topo, found[0]), saved)
	return l, nil
}

// known is the link of a port: as it is out of use, as it is, or as it was found sick. ok is false if it is none of
// these.
func (s *subnet) known(k perf.Key, saved *sick.Saved) (l namedLink, ok bool) {
	t := s.view.Topo
	l = namedLink{topo: t, port: k, PortOf: (&counted{subnet: s}).portOf(k)}
	if i := sick.IndexOf(saved.Excluded, k); i >= 0 {
		l.port, l.peer, l.excluded = saved.Excluded[i].Port, saved.Excluded[i].Peer, true
		return l, true
	}
	if p := k.In(t); p != topo.None && t.Ports[p].Peer != topo.None {
		l.peer = perf.KeyOf(t, t.Ports[p].Peer)
		return l, true
	}
	i := slices.IndexFunc(saved.Found, func(f sick.SavedFinding) bool { return f.Port == k || f.Peer == k })
	if i < 0 {
		return l, false
	}
	l.port, l.peer = saved.Found[i].Port, saved.Found[i].Peer
	return l, true
}
