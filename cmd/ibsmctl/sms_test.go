package main

import (
	"testing"

	"ibsm/ctl"
)

func TestNoteOn(t *testing.T) {
	for _, c := range []struct {
		sm   ctl.SM
		this bool
		want string
	}{
		{ctl.SM{}, false, ""},
		{ctl.SM{Lag: 3}, true, "this one"},
		{ctl.SM{Heir: true, Mirrors: true}, false, "rules when the master dies, mirrors what is registered"},
		{ctl.SM{Heir: true, Mirrors: true, Lag: 0.0123}, true, "this one, rules when the master dies, mirrors what is registered, 12ms behind"},
		{ctl.SM{Mirrors: true, Lag: 75}, false, "mirrors what is registered, 1m15s behind"},
		{ctl.SM{Mirrors: true, Lag: 0.5, Reads: true}, true, "this one, mirrors what is registered by SA queries, read 500ms ago"},
		{ctl.SM{Mirrors: true, Reads: true, Doubt: "no answer"}, false, "mirrors what is registered by SA queries, perhaps not all: no answer"},
	} {
		if got := noteOn(&c.sm, c.this); got != c.want {
			t.Errorf("%+v: %q, want %q", c.sm, got, c.want)
		}
	}
}

func TestRulingText(t *testing.T) {
	const guid = "0x0002c90300000001"
	for _, c := range []struct {
		st   ctl.Status
		want string
	}{
		{ctl.Status{State: "MASTER"}, ""},
		{ctl.Status{State: "STANDBY", Ruling: &ctl.Ruling{Of: guid}}, "takes over with the partitions and settings of " + guid + ", as in its own files"},
		{ctl.Status{State: "STANDBY", Ruling: &ctl.Ruling{Of: guid, Differ: []string{"lmc", "ar_mode"}}},
			"takes over with the partitions and settings of " + guid + ", not with its own files, which differ in lmc, ar_mode"},
		{ctl.Status{State: "MASTER", Ruling: &ctl.Ruling{Of: guid, Differ: []string{"lmc"}}},
			"by the partitions and settings of " + guid + ", not with its own files, which differ in lmc; ibsmctl config reload brings its own into force"},
	} {
		if got := rulingText(&c.st); got != c.want {
			t.Errorf("%+v: %q, want %q", c.st, got, c.want)
		}
	}
}
