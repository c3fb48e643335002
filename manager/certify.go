package manager

import (
	"fmt"
	"time"

	"ibsm/opensm/names"
	"ibsm/routing/creditloop"
	"ibsm/sweep"
	"ibsm/topo"
)

// Certify runs a certificate task and returns its result as CertificateMade. Only one is out at a time.
type Certify struct{ Task *sweep.CertificateTask }

// EndCertify ends the certificate task that is out early; its result is still awaited.
type EndCertify struct{}

// CertificateMade is the result of a Certify action; nil for one that EndCertify has ended.
type CertificateMade struct{ Result *sweep.Certificate }

// Proved says what was proved of the routes in force. Text is a sentence about what is wrong, "" for
// nothing.
type Proved struct {
	State    sweep.CertificateState
	Channels int
	Loop     int // links of a credit loop among all packets, or one that multicast trees closed after the sweep; 0 if there is none
	Text     string
	Took     time.Duration
}

func (Certify) action()        {}
func (EndCertify) action()     {}
func (Proved) action()         {}
func (Proved) notification()   {}
func (CertificateMade) event() {}

// certifying is the machine that has the routes in force proved once more, beside everything else. A
// newer plan ends what is under way.
type certifying struct {
	state    taskState
	task     *sweep.CertificateTask // that is out
	next     *sweep.CertificateTask // that begins when the result of the one that is out is there; nil for none
	routes   *sweep.CertificateTask // of the last sweep that wrote routes; nil before, and while others may be in force
	treesDue time.Duration          // when the routes are proved with the trees of now; 0 for no need
	began    time.Duration
	last     *sweep.Certificate // nil before there was one
	text     string             // as it was logged last
}

// treesWait is how long multicast trees may have changed before they are proved: many joins are proved
// together, and leave most of the time to other work.
const treesWait = time.Second

// taskState is whether a task of certifying is out.
type taskState uint8

const (
	noTask taskState = iota
	taskOut
	taskEnding // it was ended; its result is awaited
)

func (s taskState) String() string { return [...]string{"none", "out", "ending"}[s] }

// begin has the routes that a sweep left proved, unless that is under way.
func (c *certifying) begin(fx *effects, out *sweep.Outcome) {
	task := out.Certificate(c.last)
	switch {
	case task == nil:
		c.end(fx)
	case c.state == noTask:
		c.start(fx, task)
	case c.state == taskEnding || !task.Same(c.task):
		c.end(fx)
		c.next = task
	}
	c.routes = task
}

// regrown notes that multicast trees may have changed.
func (c *certifying) regrown(now time.Duration) {
	if c.routes != nil && c.treesDue == 0 {
		c.treesDue = now + treesWait
	}
}

// deadline is when tick has something to do; false for never.
func (c *certifying) deadline() (time.Duration, bool) {
	return c.treesDue, c.treesDue > 0 && c.state == noTask
}

// tick has the routes proved with the multicast trees of now, when that is due.
func (c *certifying) tick(fx *effects, m *sweep.Multicast) {
	if at, is := c.deadline(); !is || at > fx.now {
		return
	}
	c.treesDue = 0
	if c.routes == nil {
		return
	}
	if task := c.routes.WithTrees(m, c.last); c.last == nil || !c.last.Proves(task) {
		c.start(fx, task)
	}
}

func (c *certifying) start(fx *effects, task *sweep.CertificateTask) {
	c.state, c.task, c.next, c.began = taskOut, task, nil, fx.now
	fx.do(Certify{task})
}

// end ends what is under way: its routes are not in force any more, or soon will not be.
func (c *certifying) end(fx *effects) {
	c.routes = nil
	if c.next = nil; c.state == taskOut {
		c.state = taskEnding
		fx.do(EndCertify{})
	}
}

// done takes the result of the task.
func (c *certifying) done(fx *effects, r *sweep.Certificate, m names.Map) {
	ended := c.state == taskEnding
	c.state, c.task = noTask, nil
	if r != nil && !ended {
		c.certified(fx, r, m)
	}
	if c.next != nil {
		c.start(fx, c.next)
	}
}

// certified reports a certificate, and logs what it says where that has changed.
func (c *certifying) certified(fx *effects, r *sweep.Certificate, m names.Map) {
	first := c.last == nil || c.last.State != r.State
	c.last = r
	p := Proved{State: r.State, Channels: r.Channels, Loop: len(r.Loop), Text: violation(r, m), Took: fx.now - c.began}
	fx.do(p)
	switch text := p.Text; {
	case text == c.text && (text != "" || !first):
	case r.State == sweep.Violated:
		fx.log(erro, "the proof that the routes have no credit loop is wrong, which is an error of ibsm: please report it", "where", text)
	case r.State == sweep.NoCertificate && r.Loop != nil:
		fx.log(warn, "multicast groups and the routes between hosts have a credit loop since groups or their members have changed: packets can wait for each other for ever", "loop", text)
	case r.State == sweep.HostsCertified:
		fx.log(info, "packets between hosts have no credit loop, but packets from and to switches, such as those of performance management, have one", "loop", text)
	case r.State == sweep.Certified:
		fx.log(info, "the routes are certified: no packets have a credit loop, those from and to switches included", "channels", r.Channels)
	}
	c.text = p.Text
}

// violation is a sentence about what is wrong with the routes of a certificate, "" for nothing.
func violation(r *sweep.Certificate, m names.Map) string {
	name := func(n *topo.Node) string { return nodeName(m, n) }
	switch {
	case r.Violation != nil:
		from, to := &r.Violation.From, &r.Violation.To
		at := func(s topo.SwitchIdx) string { return name(&r.Topo().Nodes[r.Topo().Switches[s]]) }
		return fmt.Sprintf("packets of SL %d to LID %v, which go from %q port %d to %q port %d: %v", r.Violation.SL, r.Violation.Dest, at(from.Switch), from.Port, at(to.Switch), to.Port, r.Violation)
	case r.Loop != nil:
		return creditloop.Text(r.Topo(), r.Loop, name)
	}
	return ""
}
