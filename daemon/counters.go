package daemon

import (
	"fmt"
	"sync"
	"time"

	"ibsm/conf"
	"ibsm/ctl"
	"ibsm/mad"
	"ibsm/mad/pma"
	osmlog "ibsm/opensm/log"
	"ibsm/perf"
	"ibsm/perf/congestion"
	"ibsm/perf/sick"
	"ibsm/topo"
	"ibsm/view"
)

// counters is what the daemon does with the counters of ports: lines of the log, OpenSM's counter file,
// and the console's commands. Those of ctl/server and ctl/metrics read them by themselves.
type counters struct {
	*daemon
	mu   sync.Mutex
	view *view.View          // the last one that was published, also of another term
	gone map[mad.GUID]string // names of nodes that are not in it any more
}

// maxGone bounds the names of nodes that have gone.
const maxGone = 1 << 14

// published receives a view; nil means that there is none any more.
func (c *counters) published(v *view.View) {
	if v == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.view
	c.view = v
	if last == nil || last.Topo.SharesPorts(v.Topo) {
		return
	}
	for i := range last.Topo.Nodes {
		n := &last.Topo.Nodes[i]
		if v.Topo.FindNode(n.GUID) == topo.None && len(c.gone) < maxGone {
			c.gone[n.GUID] = c.current.names.Of(n.GUID, n.Desc.String())
		}
	}
	for guid := range c.gone {
		if v.Topo.FindNode(guid) != topo.None {
			delete(c.gone, guid)
		}
	}
}

// latest is the view whose ports are read, or nil.
func (c *counters) latest() *view.View {
	if r := c.reader(); r != nil {
		return r.View()
	}
	return nil
}

// name is the name of a node, even if the node has disappeared.
func (c *counters) name(v *view.View, guid mad.GUID) string {
	if v != nil {
		if n := v.Topo.FindNode(guid); n != topo.None {
			return c.current.names.Of(guid, v.Topo.Nodes[n].Desc.String())
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone[guid]
}

// ends are a port and the other end of its link, nil if there is none.
func (c *counters) ends(v *view.View, k perf.Key) (at osmlog.PerfPort, far *osmlog.PerfPort) {
	at = osmlog.PerfPort{Name: c.name(v, k.Node), Node: k.Node, Num: k.Port}
	if v == nil {
		return at, nil
	}
	p := k.In(v.Topo)
	if p == topo.None {
		return at, nil
	}
	if peer := v.Topo.Ports[p].Peer; peer != topo.None {
		end := perf.KeyOf(v.Topo, peer)
		far = &osmlog.PerfPort{Name: c.name(v, end.Node), Node: end.Node, Num: end.Port}
	}
	return at, far
}

// maxCounterLines bounds the lines about counters of one sweep: ten thousand ports can have errors at
// once.
const maxCounterLines = 256

// counted logs what error counters have counted, as perf.Listener's Image.
func (c *counters) counted(im *perf.Image) {
	c.follow(im)
	found, ended := c.control.Judge(im)
	for i, f := range found {
		if i == maxCounterLines {
			c.logger.Warn("further links are sick but are not logged", "links", len(found), "logged", maxCounterLines)
			break
		}
		at, far := c.ends(c.latest(), f.Port)
		c.logger.Warn("a link is sick", "node", at.Name, "guid", at.Node, "port", at.Num, "from", farName(far), "rule",
			f.Rule.Name, "counted", f.Counted, "most", f.Most)
	}
	for i, f := range ended {
		if i == maxCounterLines {
			break
		}
		at, far := c.ends(c.latest(), f.Port)
		c.logger.Info("a link is no longer sick", "node", at.Name, "guid", at.Node, "port", at.Num, "from",
			farName(far), "rule", f.Rule.Name)
	}
	c.decide()
	l := c.current.own().Config
	errs, wait, least := conf.PerfMgrLogErrors.In(l), conf.PerfMgrXmitWaitLog.In(l),
		uint64(conf.PerfMgrXmitWaitThreshold.In(l))
	if !errs {
		return
	}
	v, lines := c.latest(), 0
	say := func(text func() string) {
		if lines++; lines <= maxCounterLines {
			c.logger.Error(text())
		}
	}
	for k, d := range im.All {
		for counter := range (d.Has & pma.ErrorCounters).All {
			if n := d.N[counter]; n > 0 {
				say(func() string {
					at, far := c.ends(v, k)
					return osmlog.ErrorsCounted(counter, n, at, far)
				})
			}
		}
		if n := d.N[pma.PortXmitWait]; wait && n > 0 && n >= least {
			say(func() string {
				at, _ := c.ends(v, k)
				return osmlog.Waited(n, at)
			})
		}
	}
	if lines > maxCounterLines {
		c.logger.Error("further counters have risen but are not logged", "counters", lines, "logged", maxCounterLines)
	}
}

// decide has links taken out of use, or return. While no counters are read only what the operator has isolated stays
// out of use.
func (c *counters) decide() {
	c.current.decideLinks(c.control.FoundLinks, c.control.Decided)
}

// isolate is configuration.isolate, and shows it.
func (c *counters) isolate(port, peer perf.Key, until time.Time) error {
	if err := c.current.isolate(port, peer, until); err != nil {
		return err
	}
	c.decide()
	return nil
}

// heal is configuration.heal, and shows it.
func (c *counters) heal(port, peer perf.Key, forget func()) error {
	if err := c.current.heal(port, peer, forget); err != nil {
		return err
	}
	c.decide()
	return nil
}

// follow logs what ports begin to wait for, and that they do no more.
func (c *counters) follow(im *perf.Image) {
	began, ended := c.control.Congested(im)
	for i := range began {
		c.logger.Warn("ports wait for a slow port", c.congestion(&began[i])...)
	}
	for i := range ended {
		e := &ended[i]
		c.logger.Info("ports no longer wait for a slow port",
			append(c.congestion(e), "for", e.Until.Sub(e.Since).Round(time.Second))...)
	}
}

func (c *counters) congestion(e *congestion.Event) []any {
	at, far := c.ends(c.latest(), e.Root)
	fields := []any{"node", at.Name, "guid", at.Node, "port", at.Num, "cause", e.Cause.String(), "waiting", e.Ports}
	if far != nil {
		fields = append(fields, "to", far.Name, "to_port", far.Num)
	}
	return fields
}

// farName is the other end of a link in words.
func farName(far *osmlog.PerfPort) string {
	if far == nil {
		return "nowhere"
	}
	return fmt.Sprintf("%s port %d", far.Name, far.Num)
}

// maxRules bounds the table of rules, in bytes.
const maxRules = 64 << 10

// sickRules is a table of rules as it was read.
type sickRules struct {
	file, text string
	err        error
	interval   time.Duration // between two readings; 0 where nothing is read
}

// readSickRules reads the table that the configuration names. was is in force before a reload, nil at a start.
func readSickRules(was *inForce, l *conf.Loaded) (r sickRules) {
	r.interval = counterSettings(l).Interval
	switch r.file = conf.SickRulesFile.In(l.Config); r.file {
	case "":
		r.text = sick.Defaults
	case "ufm":
		r.text = sick.UFM
	default:
		in := inUse{}
		if was != nil {
			in = inUseOf(conf.SickRulesFile, was.own.Config, l.Config, was.rules)
		}
		text, err := in.read(r.file, maxRules)
		r.text, r.err = string(text), err
	}
	return r
}

// useRules puts the rules into force by which links are judged, unless they have errors, which it returns.
func (c *counters) useRules(r sickRules) []ctl.Finding {
	rules, errs := sick.Parse(r.file, r.text)
	if r.err != nil {
		c.logger.Error("the rules for sick links cannot be read: the previous rules stay in force", "file", r.file,
			"reason", r.err)
		return []ctl.Finding{
			{File: r.file, Severity: conf.Refusal.String(), Key: conf.SickRulesFile.Key().Name, Text: r.err.Error()},
		}
	}
	for _, e := range errs {
		c.logger.Error(e.Error())
	}
	if errs != nil {
		c.logger.Error("the rules for sick links have errors: the previous rules stay in force", "file", r.file)
		return fileFindings(conf.SickRulesFile.Key(), errs, nil)
	}
	for _, rule := range rules {
		if rule.Window < r.interval {
			c.logger.Warn(
				"a rule for sick links has a shorter time than perfmgr_sweep_time_s: its limit applies to the time between two readings", "rule", rule.Name, "within", rule.Window, "interval", r.interval)
		}
	}
	c.control.SetSickRules(rules)
	return nil
}

// found logs a reading that needs attention; it is the Found of perf.Listener.
func (c *counters) found(f perf.Finding) {
	at, _ := c.ends(c.latest(), f.Key)
	switch {
	case f.Note&perf.NoAnswer != 0:
		c.logger.Error(osmlog.NoCounters(at))
	case f.Note&perf.ResetByOther != 0:
		c.logger.Error(osmlog.ClearedByOther(f.Counters, at))
	case f.Note&(perf.Backwards|perf.Implausible) != 0:
		c.logger.Warn("counters contradict earlier values", "node", at.Name, "guid", at.Node, "port", at.Num, "reading",
			f.Note.String())
	}
}

// left logs a node whose counters are not read any more, as perf.Listener's Gone.
func (c *counters) left(node mad.GUID) {
	if conf.PerfMgr.In(c.current.own().Config) {
		c.logger.Error(osmlog.NotMonitored(c.name(c.latest(), node), node))
	}
}
