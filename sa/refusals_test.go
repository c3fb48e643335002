package sa

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/mad"
	"ibsm/mad/sarec"
)

// TestRefusalsLimit: of each sender so many refusals are logged a minute, and then how many were
// not; what another sends is logged all the same. What is kept is bounded.
func TestRefusalsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		r := &Refusals{Log: func(_ slog.Level, text string) { lines = append(lines, text) }}
		refuse := func(from mad.GUID, group byte) {
			r.add(from, &refused{cause: "why", lines: []string{fmt.Sprint("from ", from)}, port: from,
				mgid: mad.GID{0xff, 15: group}})
		}
		for range 1000 {
			refuse(1, 1)
		}
		refuse(2, 1)
		if len(lines) != refusalsAMinute+1 || !strings.Contains(lines[refusalsAMinute], "from 0x0000000000000002") {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
		if all := r.All(); len(all) != 2 || all[0].Count+all[1].Count != 1001 {
			t.Errorf("%+v", all)
		}
		time.Sleep(time.Minute)
		lines = nil
		refuse(1, 1)
		if len(lines) != 2 ||
			lines[0] != "rejected requests not logged: port 0x0000000000000001, 990 in the last minute" {
			t.Errorf("%q", lines)
		}
		r.joined(1, mad.GID{0xff, 15: 1})
		if all := r.All(); len(all) != 1 || all[0].Port != 2 {
			t.Errorf("after the join: %+v", all)
		}
		for from := range mad.GUID(3 * maxRefusals) {
			refuse(from+1, 2)
		}
		if all := r.All(); len(all) != maxRefusals {
			t.Errorf("%d are kept", len(all))
		}
		var none Refusals // as of a manager without a log
		none.add(1, &refused{cause: "why", lines: []string{"x"}})
	})
}

// TestEachRefusalIsLogged: whatever change of registrations is refused, a line names the port and the
// cause.
func TestEachRefusalIsLogged(t *testing.T) {
	d := newHarness(t)
	var lines []string
	d.stats.Refusals.Log = func(_ slog.Level, text string) { lines = append(lines, text) }
	service := func(at mad.GUID, key byte, pkey mad.PKey) []byte {
		var rec sarec.ServiceRecord
		rec.SetServiceID(7)
		rec.SetServiceGID(gidOf(at))
		rec.SetServicePKey(pkey)
		rec.SetServiceKey([16]byte{key})
		return rec[:]
	}
	const named = sarec.ServiceServiceID | sarec.ServiceServiceGID
	guids := func(lid mad.LID, block uint8) []byte {
		var rec sarec.GUIDInfoRecord
		rec.SetLID(lid)
		rec.SetBlockNum(block)
		rec.GUIDInfo().SetGUID(0, 5)
		return rec[:]
	}
	const first = sarec.GUIDInfoLID | sarec.GUIDInfoBlockNum | sarec.GUIDInfoGUID0
	lid := func(guid mad.GUID) mad.LID { return d.view.LIDs.Base[d.view.Topo.FindPort(guid)] }
	inform := func(edit func(i *sarec.InformInfo)) []byte {
		info := everything(1)
		edit(&info)
		return info[:]
	}
	set, del := mad.Method(mad.MethodSet), mad.Method(mad.MethodDelete)
	if st := d.ask(d.request(h3, set, sarec.AttrServiceRecord, named|sarec.ServiceServiceKey,
		service(h3, 9, 0))).Status(); st != mad.StatusOK {
		t.Fatal(st)
	}
	for _, c := range []struct {
		from  mad.GUID
		m     mad.Method
		attr  mad.AttrID
		comps mad.ComponentMask
		rec   []byte
		want  string
	}{
		{h3, set, sarec.AttrServiceRecord, sarec.ServiceServiceID, service(h3, 0, 0),
			"it lacks ServiceID or ServiceGID"},
		{h4, set, sarec.AttrServiceRecord, named, service(h2, 0, 0),
			"shares no P_Key with the port that the service is at"},
		{h3, set, sarec.AttrServiceRecord, named | sarec.ServiceServicePKey, service(h3, 0, 0x8005),
			"not in the service's partition"},
		{h3, set, sarec.AttrServiceRecord, named | sarec.ServiceServicePKey, service(h4, 0, 0x8001),
			"the port that the service is at is not in its partition"},
		{h1, set, sarec.AttrServiceRecord, named | sarec.ServiceServiceKey, service(h3, 8, 0), "another port's"},
		{h1, del, sarec.AttrServiceRecord, named | sarec.ServiceServiceKey, service(h3, 8, 0), "another port's"},
		{h1, del, sarec.AttrServiceRecord, named, service(h1, 8, 0), "there is no such service"},
		{h3, set, sarec.AttrGUIDInfoRecord, sarec.GUIDInfoLID, guids(lid(h3), 0), "it lacks LID or BlockNum"},
		{h3, set, sarec.AttrGUIDInfoRecord, first, guids(0xbf00, 0), "no port has LID 48896"},
		{h3, del, sarec.AttrGUIDInfoRecord, first, guids(lid(h3), 4), "the port has no such block"},
		{h3, set, sarec.AttrGUIDInfoRecord, first, guids(lid(h2), 0), "another node's"},
		{h3, set, sarec.AttrGUIDInfoRecord, first, guids(lid(h3), 0), "GUID 0 of the port cannot be written"},
		{h4, set, sarec.AttrInformInfo, 0, inform(func(i *sarec.InformInfo) {
			i.SetGID(gidOf(h2))
		}), "it shares no P_Key"},
		{h4, set, sarec.AttrInformInfo, 0, inform(func(i *sarec.InformInfo) {
			i.SetLIDRangeBegin(lid(h2))
		}), "it shares no P_Key"},
		{h4, set, sarec.AttrInformInfo, 0, inform(func(i *sarec.InformInfo) {
			i.SetIsGeneric(2)
		}), "IsGeneric is neither 0 nor 1"},
	} {
		d.stats.Refusals.senders, lines = nil, nil
		if st := d.ask(d.request(c.from, c.m, c.attr, c.comps, c.rec)).Status(); st == mad.StatusOK {
			t.Errorf("%q was not refused", c.want)
		}
		last := strings.Join(lines, "\n")
		if i := strings.LastIndex(last, "SA request refused: "); i < 0 || !strings.Contains(last[i:], c.want) ||
			!strings.Contains(last[i:], fmt.Sprintf("from port 0x%016x (", uint64(c.from))) {
			t.Errorf("want %q of port %v, got %q", c.want, c.from, lines)
		}
	}
}

// TestGroupsLimit: of each port so many groups that it creates and deletes are logged a minute, and then
// how many lines were not; those of another port are logged all the same.
func TestGroupsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newHarness(t)
		var lines []string
		d.stats.Refusals.Log = func(_ slog.Level, text string) { lines = append(lines, text) }
		comeAndGo := func(from mad.GUID, times int) {
			mgid := mad.GID{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 15: byte(from)}
			for range times {
				d.joined(from, mgid)
				if _, st := d.member(mad.MethodDelete, newJoining(from, mgid, 1)); st != mad.StatusOK {
					t.Fatal(st)
				}
			}
		}
		comeAndGo(h1, 500)
		comeAndGo(h2, 1)
		if len(lines) != groupsAMinute+2 || !strings.Contains(lines[groupsAMinute], "New mcast group created") ||
			!strings.Contains(lines[groupsAMinute+1], "Mcast group deleted") {
			t.Errorf("%d lines, the last %q", len(lines), lines[max(0, len(lines)-2):])
		}
		time.Sleep(time.Minute)
		lines = nil
		comeAndGo(h1, 1)
		if want := fmt.Sprintf("lines about groups not logged: port %v, 900 in the last minute", h1); len(
			lines) != 3 || lines[0] != want {
			t.Errorf("%q", lines)
		}
	})
}

// TestRefusalsMissed: what is not kept of refusals is counted: those of one port beyond the limit of a minute whose
// group is not known yet, and those that make room for others.
func TestRefusalsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Refusals{}
		refuse := func(port mad.GUID, group byte) { r.add(port, &refused{port: port, mgid: mad.GID{0xff, 15: group}}) }
		for group := range byte(15) {
			refuse(1, group)
		}
		if kept, missed := len(r.All()), r.Missed(); kept != refusalsAMinute || missed != 5 {
			t.Errorf("%d kept and %d missed of 15 of one port, want 10 and 5", kept, missed)
		}
		for port := range mad.GUID(maxRefusals) {
			time.Sleep(time.Second)
			refuse(port+100, 1)
		}
		if kept, missed := len(r.All()), r.Missed(); kept != maxRefusals || missed != 5+10 {
			t.Errorf("%d kept and %d missed, want %d and 15", kept, missed, maxRefusals)
		}
	})
}
