package manager

import (
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/sa"
	"ibsm/sa/mirror"
)

// TestMirroring: registrations are known from a mirror only if it was complete when the master
// was last alive, and from our own term for a while, until another master's were copied.
func TestMirroring(t *testing.T) {
	peer, foreign := mirror.Master{GUID: 5, LID: 50}, mirror.Master{GUID: 6, LID: 60, Foreign: true}
	const s = time.Second
	for _, c := range []struct {
		name  string
		run   func(f *mirroring, fx *effects)
		from  mad.LID
		known bool
		state mirrorState
	}{
		{"nothing", func(f *mirroring, fx *effects) {}, 0, false, mirrorsNothing},
		{"complete", func(f *mirroring, fx *effects) {
			f.follow(fx, peer, true)
			f.heard(fx, &sa.Heard{Master: 5, Known: 9 * s, Some: true})
			f.polled(10 * s)
		}, 50, true, mirrorsAll},
		{"too old", func(f *mirroring, fx *effects) {
			f.follow(fx, peer, true)
			f.heard(fx, &sa.Heard{Master: 5, Known: 9 * s})
			f.polled(9*s + mirrorSlack + 1)
		}, 0, false, mirrorsAll},
		{"a foreign master is read more seldom", func(f *mirroring, fx *effects) {
			f.follow(fx, foreign, true)
			f.heard(fx, &sa.Heard{Master: 6, Known: 9 * s})
			f.polled(9*s + mirrorSlack + 1)
		}, 60, true, mirrorsAll},
		{"less than before", func(f *mirroring, fx *effects) {
			f.follow(fx, foreign, true)
			f.heard(fx, &sa.Heard{Master: 6, Known: 9 * s})
			f.heard(fx, &sa.Heard{Master: 6, Less: true, Incomplete: "x"})
		}, 0, false, mirrorsNothing},
		{"of another master", func(f *mirroring, fx *effects) {
			f.follow(fx, peer, true)
			f.heard(fx, &sa.Heard{Master: 6, Known: 9 * s})
		}, 0, false, mirrorsNothing},
		{"another is followed", func(f *mirroring, fx *effects) {
			f.follow(fx, peer, true)
			f.heard(fx, &sa.Heard{Master: 5, Known: 9 * s})
			f.follow(fx, foreign, true)
		}, 0, false, mirrorsNothing},
		{"no more in STANDBY", func(f *mirroring, fx *effects) {
			f.follow(fx, peer, true)
			f.heard(fx, &sa.Heard{Master: 5, Known: 9 * s})
			f.follow(fx, mirror.Master{}, false)
		}, 50, true, mirrorsAll},
		{"our own", func(f *mirroring, fx *effects) { f.ownTerm(100*s - quickRestart + 1) }, 0, true, mirrorsNothing},
		{"our own of long ago", func(f *mirroring, fx *effects) {
			f.ownTerm(100*s - quickRestart)
		}, 0, false, mirrorsNothing},
		{"our own, then another's", func(f *mirroring, fx *effects) {
			f.ownTerm(99 * s)
			f.follow(fx, peer, true)
			f.heard(fx, &sa.Heard{Master: 5, Some: true})
		}, 0, false, mirrorsNothing},
	} {
		var f mirroring
		c.run(&f, newEffects(10*s))
		if from, known := f.source(100 * s); from != c.from || known != c.known || f.state != c.state {
			t.Errorf("%s: %v %t, %v", c.name, from, known, f.state)
		}
	}
}

// TestMirroringReports: whom it follows and a foreign master are reported when they change, and
// an incomplete mirror when that lasts.
func TestMirroringReports(t *testing.T) {
	var f mirroring
	fx := newEffects(time.Second)
	m := mirror.Master{GUID: 6, LID: 60, Foreign: true}
	f.follow(fx, m, true)
	f.follow(fx, m, true)
	f.foreignMaster(fx, 6)
	f.foreignMaster(fx, 6)
	f.follow(fx, mirror.Master{}, false)
	equal(t, "reports", fx.did(), []string{"Follow", "ForeignMaster", "Follow"})
	for i, c := range []struct {
		heard sa.Heard
		lines int
	}{
		{sa.Heard{Incomplete: "a"}, 0}, {sa.Heard{Known: 1}, 1}, {sa.Heard{Known: 2}, 0},
		{sa.Heard{Incomplete: "a"}, 0}, {sa.Heard{Known: 3}, 0},
		{sa.Heard{Incomplete: "a"}, 0}, {sa.Heard{Incomplete: "a"}, 1}, {sa.Heard{Incomplete: "a"}, 0},
		{sa.Heard{Known: 4}, 1},
	} {
		c.heard.Master = 6
		f.heard(fx, &c.heard)
		if n := len(fx.logged()); n != c.lines {
			t.Errorf("reading %d is logged in %d lines, want %d", i, n, c.lines)
		}
	}
}

// A master that is ibsm and does not answer is reported once, and so is its first answer.
func TestMirroringSilence(t *testing.T) {
	var f mirroring
	fx := newEffects(time.Second)
	f.follow(fx, mirror.Master{GUID: 6, LID: 60}, true)
	for i, c := range []struct {
		heard sa.Heard
		lines int
	}{
		{sa.Heard{Incomplete: "a"}, 1}, {sa.Heard{Incomplete: "a"}, 0}, {sa.Heard{Known: 1}, 1},
		{sa.Heard{Known: 2}, 0}, {sa.Heard{Incomplete: "a"}, 1}, {sa.Heard{Known: 3}, 1},
	} {
		c.heard.Master = 6
		f.heard(fx, &c.heard)
		if n := len(fx.logged()); n != c.lines {
			t.Errorf("update %d is logged in %d lines, want %d", i, n, c.lines)
		}
	}
}
