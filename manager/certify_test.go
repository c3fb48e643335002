package manager

import (
	"strings"
	"testing"
	"time"

	"ibsm/opensm/names"
	"ibsm/sweep"
)

// TestCertifying: routes that a sweep leaves are proved once, and others end the proof of those before; its result is awaited, and says nothing. Multicast trees are
// proved a while after they have changed, when no proof is out, unless the last certificate is about the same.
func TestCertifying(t *testing.T) {
	f := newSwept(t, "fattree:k=4,levels=2")
	f.heavy()
	first, same := f.heavy(), f.heavy()
	f.cut(0)
	f.heavy()
	other := f.heavy()
	tasks := map[string]*sweep.CertificateTask{"first": first.Certificate(nil), "other": other.Certificate(nil)}
	if !same.Certificate(nil).Same(tasks["first"]) || tasks["other"].Same(tasks["first"]) {
		t.Fatal("the sweeps leave not what they should")
	}
	name := func(j *sweep.CertificateTask) string {
		for name, task := range tasks {
			if j != nil && task.Same(j) {
				return name
			}
		}
		return "none"
	}
	m := sweep.NewMulticast(&sweep.Settings{})
	const certify, end, proved = "Certify", "EndCertify", "Proved"
	for _, c := range []struct {
		// 1 and s begin with the first routes, 2 with others, 0 with none, e ends, d the task is done, x it was ended,
		// g trees have changed, w waits for their time, j for less
		steps        string
		state        taskState
		out, next    string
		due          bool // something
		did          string
		last, routes string
	}{
		{"", noTask, "none", "none", false, "", "none", "none"},
		{"1", taskOut, "first", "none", false, certify, "none", "first"},
		{"0", noTask, "none", "none", false, "", "none", "none"},
		{"1s", taskOut, "first", "none", false, certify, "none", "first"},
		{"1d", noTask, "none", "none", false, certify + " " + proved, "first", "first"},
		{"1x", noTask, "none", "none", false, certify, "none", "first"},
		{"1d2", taskOut, "other", "none", false, certify + " " + proved + " " + certify, "first", "other"},
		{"12", taskEnding, "first", "other", false, certify + " " + end, "none", "other"},
		{"12x", taskOut, "other", "none", false, certify + " " + end + " " + certify, "none", "other"},
		{"12d", taskOut, "other", "none", false, certify + " " + end + " " + certify, "none", "other"}, // it was done before it learnt of its end
		{"12xd", noTask, "none", "none", false, certify + " " + end + " " + certify + " " + proved, "other", "other"},
		{"122", taskEnding, "first", "other", false, certify + " " + end, "none", "other"},
		{"121", taskEnding, "first", "first", false, certify + " " + end, "none", "first"},
		{"121xd", noTask, "none", "none", false, certify + " " + end + " " + certify + " " + proved, "first", "first"},
		{"10", taskEnding, "first", "none", false, certify + " " + end, "none", "none"},
		{"1e", taskEnding, "first", "none", false, certify + " " + end, "none", "none"},
		{"1ee", taskEnding, "first", "none", false, certify + " " + end, "none", "none"},
		{"1ex", noTask, "none", "none", false, certify + " " + end, "none", "none"},
		{"1ed", noTask, "none", "none", false, certify + " " + end, "none", "none"},
		{"12e", taskEnding, "first", "none", false, certify + " " + end, "none", "none"},
		{"12ex", noTask, "none", "none", false, certify + " " + end, "none", "none"},
		{"1e1", taskEnding, "first", "first", false, certify + " " + end, "none", "first"},
		{"1e1x", taskOut, "first", "none", false, certify + " " + end + " " + certify, "none", "first"},
		{"1de", noTask, "none", "none", false, certify + " " + proved, "first", "none"},
		{"g", noTask, "none", "none", false, "", "none", "none"}, // of no routes
		{"1g", taskOut, "first", "none", false, certify, "none", "first"},
		{"1gw", taskOut, "first", "none", false, certify, "none", "first"}, // the task that is out first
		{"1gwx", noTask, "none", "none", true, certify, "none", "first"},
		{"1gwxw", taskOut, "first", "none", false, certify + " " + certify, "none", "first"},
		{"1gjx", noTask, "none", "none", true, certify, "none", "first"},
		{"1gwdw", noTask, "none", "none", false, certify + " " + proved, "first", "first"}, // that was proved
		{"1dg", noTask, "none", "none", true, certify + " " + proved, "first", "first"},
		{"1dgw", noTask, "none", "none", false, certify + " " + proved, "first", "first"},
		{"1d2xgw", taskOut, "other", "none", false, certify + " " + proved + " " + certify + " " + certify, "first", "other"},
		{"1d2xgjgj", taskOut, "other", "none", false, certify + " " + proved + " " + certify + " " + certify, "first", "other"}, // since the first of the changes
		{"1dgew", noTask, "none", "none", false, certify + " " + proved, "first", "none"},
		{"12gxwdw", noTask, "none", "none", false, certify + " " + end + " " + certify + " " + proved, "other", "other"},
	} {
		var p certifying
		var did []string
		fx := newEffects(time.Second)
		for _, s := range c.steps {
			switch s {
			case '1':
				p.begin(fx, first)
			case 's':
				p.begin(fx, same)
			case '2':
				p.begin(fx, other)
			case '0':
				p.begin(fx, &sweep.Outcome{SweepPlan: &sweep.SweepPlan{}})
			case 'e':
				p.end(fx)
			case 'd':
				task := *p.task
				p.done(fx, task.Run(t.Context()), names.Map{})
			case 'x':
				p.done(fx, nil, names.Map{})
			case 'g':
				p.regrown(fx.now)
			case 'w', 'j':
				fx.now += treesWait
				if s == 'j' {
					fx.now -= treesWait / 2
				}
				p.tick(fx, m)
			}
			did = append(did, fx.did()...)
		}
		last := "none"
		for name, task := range tasks {
			if p.last != nil && p.last.Proves(task) {
				last = name
			}
		}
		at, due := p.deadline()
		if p.state != c.state || name(p.task) != c.out || name(p.next) != c.next || due != c.due || due && at < time.Second+treesWait || last != c.last || name(p.routes) != c.routes {
			t.Errorf("%s leads to %v, %s is out, then %s, due %t at %v, %s is proved, %s in force; want %+v", c.steps, p.state, name(p.task), name(p.next), due, at, last, name(p.routes), c)
		}
		if got := strings.Join(did, " "); got != c.did {
			t.Errorf("%s: %q, want %q", c.steps, got, c.did)
		}
	}
}

// TestCertificateLog: what is proved is logged when it changes, and how long it took is from the beginning of its own task.
func TestCertificateLog(t *testing.T) {
	f := newSwept(t, "fattree:k=4,levels=2")
	f.heavy()
	out := f.heavy()
	var p certifying
	fx := newEffects(time.Second)
	p.begin(fx, out)
	fx.now += time.Second
	right := out.Certificate(nil).Run(t.Context())
	states := []sweep.CertificateState{sweep.Certified, sweep.Certified, sweep.HostsCertified, sweep.Certified}
	for i, lines := range []int{1, 0, 1, 1} {
		r := *right
		if r.State = states[i]; r.State == sweep.HostsCertified {
			r.Loop = nil
		}
		fx.actions = nil
		p.certified(fx, &r, names.Map{})
		if took := fx.actions[0].(Proved).Took; took != time.Second {
			t.Errorf("took %v", took)
		}
		if n := len(fx.logged()); n != lines {
			t.Errorf("certificate %d is logged in %d lines, want %d", i, n, lines)
		}
	}
}
