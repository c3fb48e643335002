package main

import (
	"strings"
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
		{ctl.SM{Lag: 3}, true, "this manager"},
		{ctl.SM{NextMaster: true, Mirrors: true}, false, "takes over when the master dies, mirrors registrations"},
		{ctl.SM{NextMaster: true, Mirrors: true, Lag: 0.0123}, true,
			"this manager, takes over when the master dies, mirrors registrations, 12ms behind"},
		{ctl.SM{Mirrors: true, Lag: 75}, false, "mirrors registrations, 1m15s behind"},
		{ctl.SM{Mirrors: true, Lag: 0.5, Reads: true}, true,
			"this manager, mirrors registrations by SA queries, read 500ms ago"},
		{ctl.SM{Mirrors: true, Reads: true, Incomplete: "no answer"}, false,
			"mirrors registrations by SA queries, possibly incomplete: no answer"},
	} {
		if got := noteOn(&c.sm, c.this); got != c.want {
			t.Errorf("%+v: %q, want %q", c.sm, got, c.want)
		}
	}
}

func TestSettingsText(t *testing.T) {
	const guid = "0x0002c90300000001"
	for _, c := range []struct {
		st   ctl.Status
		want string
	}{
		{ctl.Status{State: "MASTER"}, ""},
		{ctl.Status{State: "STANDBY", MirroredSettings: &ctl.MirroredSettings{Of: guid}},
			"uses the partitions and settings of " + guid + " after a failover; its own files are identical"},
		{ctl.Status{
			State: "STANDBY", MirroredSettings: &ctl.MirroredSettings{Of: guid, Differ: []string{"lmc", "ar_mode"}},
		},
			"uses the partitions and settings of " + guid + " after a failover; its own files differ in lmc, ar_mode"},
		{ctl.Status{State: "MASTER", MirroredSettings: &ctl.MirroredSettings{Of: guid, Differ: []string{"lmc"}}},
			"uses the partitions and settings of " + guid +
				"; its own files differ in lmc; apply them with ibsmctl config reload"},
	} {
		if got := settingsText(&c.st); got != c.want {
			t.Errorf("%+v: %q, want %q", c.st, got, c.want)
		}
	}
}

func TestPrintSAStats(t *testing.T) {
	var out strings.Builder
	err := printSAStats(&out, &ctl.SAStats{
		Dropped: []ctl.SADrops{{Reason: "no room", Count: 4}},
		Packets: []ctl.GSIPackets{{Kind: "SA request", Received: 12, Dropped: 3}},
	})
	const want = `ATTRIBUTE  STATUS            COUNT
           dropped: no room      4

PACKETS ON QP1  RECEIVED  DROPPED
SA request            12        3

RMPP transfers: `
	if err != nil || !strings.HasPrefix(out.String(), want) {
		t.Errorf("%v, %s", err, &out)
	}
}
