package sa

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
	"ibsm/routing/qos"
	"ibsm/topo"
)

// TestPathRefusedByLevel: why a request does not fit its QoS level is logged in OpenSM's words.
func TestPathRefusedByLevel(t *testing.T) {
	policy, errors, _ := qos.Parse(nil, "p",
		[]byte("qos-levels\nqos-level\nname: DEFAULT\nsl: 1\npkey: 0x7fff,5\nend-qos-level\nqos-level\nname: none\nsl: 2\npkey: 9\nend-qos-level\nend-qos-levels\n"+
			"qos-match-rules\nqos-match-rule\nqos-class: 5\nqos-level-name: none\nend-qos-match-rule\nend-qos-match-rules\n"))
	if policy == nil {
		t.Fatal(errors)
	}
	v := newView(t)
	v.QoS = policy
	for _, p := range v.Topo.EndPorts {
		v.Topo.Ports[p].PKeys = topo.NewPKeyTable([]mad.PKey{0xffff, 0x8006})
	}
	a := New(v, nil)
	for want, c := range map[string]struct {
		comps mad.ComponentMask
		edit  func(*sarec.PathRecord)
	}{
		`ERR 1F1D: QoS level "DEFAULT" doesn't define specified PKey 0x8006 for ports 0x`: {sarec.PathPKey,
			func(r *sarec.PathRecord) {
				r.SetPKey(0x8006)
			}},
		`ERR 1F1E: Ports 0x`: {sarec.PathQoSClass, func(r *sarec.PathRecord) { r.SetQoSClass(5) }},
		`ERR 1F1F: QoS constraints: required PathRecord SL (3) doesn't match QoS policy "DEFAULT" SL (1) [`: {
			sarec.PathSL, func(r *sarec.PathRecord) {
				r.SetSL(3)
			}},
	} {
		var rec sarec.PathRecord
		rec.SetSGID(mad.MakeGID(mad.DefaultPrefix, h3))
		rec.SetDGID(mad.MakeGID(mad.DefaultPrefix, h1))
		c.edit(&rec)
		var lines []string
		var stats Stats
		stats.Refusals.Log = func(_ slog.Level, text string) { lines = append(lines, text) }
		var out mad.Datagram
		if !a.Answer(get(sarec.AttrPathRecord, sarec.PathSGID|sarec.PathDGID|c.comps, rec[:]), &out, &stats) ||
			out.Packet.Status() != mad.StatusNoRecords {
			t.Errorf("%s: %v", want, out.Packet.Status())
		}
		if len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("%q, want %s", lines, want)
		}
	}
}

// TestRefusedPathsCostNoMemory: a host that asks for a refused path as often as it likes has its lines in each minute,
// and whatever else it asks costs no memory and is counted.
func TestRefusedPathsCostNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newView(t)
		a := New(v, nil)
		var rec sarec.PathRecord
		rec.SetSGID(mad.MakeGID(mad.DefaultPrefix, h3))
		rec.SetDGID(mad.GID{0xff, 0x12, 15: 1}) // no such group
		in := get(sarec.AttrPathRecord, sarec.PathSGID|sarec.PathDGID, rec[:])
		var lines []string
		var stats Stats
		stats.Refusals.Log = func(_ slog.Level, text string) { lines = append(lines, text) }
		var out mad.Datagram
		ask := func() { a.Answer(in, &out, &stats) }
		for range refusalsAMinute {
			ask()
		}
		if n := testing.AllocsPerRun(100, ask); n != 0 || len(lines) != refusalsAMinute {
			t.Errorf("%v allocations, %d lines", n, len(lines))
		}
		time.Sleep(time.Minute)
		lines = nil
		ask()
		if len(lines) != 2 || !strings.Contains(lines[0], "101 in the last minute") {
			t.Errorf("%q", lines)
		}
	})
}
