package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

// TestLines: the shape of a line, and which are written.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	var sys []string
	h := NewHandler(&out, Options{Flags: DefaultFlags, Prefix: "mpi", Sys: func(text string) {
		sys = append(sys, text)
	}})
	h.shared.id = 0xC0769740
	l := slog.New(h)
	for _, c := range []struct {
		name  string
		flags Flags
		log   func()
		want  string // behind the time and the thread
	}{
		{"state", 0, func() {
			l.Log(t.Context(), LevelSys, Entering(smp.Master))
		}, "0x80 -> mpi: Entering MASTER state\n"},
		{"fields", Info, func() { l.Info(SubnetUp, "nodes", 6, "took", 3*time.Millisecond, "sets", "PortInfo 4") },
			`0x02 -> mpi: SUBNET UP nodes=6 took=3ms sets="PortInfo 4"` + "\n"},
		{"warning", Error, func() { l.Warn("w") }, "0x01 -> mpi: w\n"},
		{"advice", Info, func() { l.Log(t.Context(), LevelAdvice, "a", "k", 1) }, "0x02 -> mpi: WARNING: a k=1\n"},
		{"no advice", Error, func() { l.Log(t.Context(), LevelAdvice, "a") }, ""},
		{"error", Error, func() { l.Error("e", "reason", errors.New("a b")) }, "0x01 -> mpi: e reason=\"a b\"\n"},
		{"verbose", Verbose, func() { l.Debug("d") }, "0x04 -> mpi: d\n"},
		{"debug", Debug, func() { l.Log(t.Context(), levelTrace, "d") }, "0x08 -> mpi: d\n"},
		{"no info", Error, func() { l.Info("i") }, ""},
		{"no errors", Info, func() { l.Error("e") }, ""},
		{"no verbose", DefaultFlags | Debug, func() { l.Debug("d") }, ""},
		{"with", Info, func() {
			l.With("guid", mad.GUID(1)).WithGroup("port").With("num", 2).Info("i", "lid", mad.LID(3))
		},
			"0x02 -> mpi: i guid=0x0000000000000001 port.num=2 port.lid=3\n"},
		{"group", Info, func() {
			l.Info("i", slog.Group("a", "b", 1, slog.Group("", "c", "")))
		}, "0x02 -> mpi: i a.b=1 a.c=\"\"\n"},
		{"hostile", Info, func() {
			l.Info("node \x1b[2J\nNov 21 fake", "k\n", "v=\n")
		}, "0x02 -> mpi: node ?[2J\n\tNov 21 fake \"k\\n\"=\"v=\\n\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out.Reset()
			h.SetFlags(c.flags)
			c.log()
			if c.want == "" {
				if out.Len() > 0 {
					t.Errorf("got %q", out.String())
				}
				return
			}
			line := regexp.MustCompile(`^[A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \d{6} \[C0769740\] `)
			if head := line.FindString(out.String()); head == "" || out.String()[len(head):] != c.want {
				t.Errorf("got %q, want %q", out.String(), c.want)
			}
		})
	}
	if len(sys) != 1 || sys[0] != "mpi: Entering MASTER state" {
		t.Errorf("on standard output: %q", sys)
	}
}

func TestTime(t *testing.T) {
	at := time.Date(2024, time.November, 1, 8, 50, 6, 30589999, time.Local)
	if got, want := string(appendTime(nil, at)), "Nov 01 08:50:06 030589"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHandler holds the rules for all handlers.
func TestHandler(t *testing.T) {
	var out bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out.Reset()
		return NewHandler(&out, Options{Flags: 0xff})
	}, func(t *testing.T) map[string]any {
		_, text, _ := strings.Cut(strings.TrimSpace(out.String()), " -> ")
		message, _, _ := strings.Cut(text, " ")
		fields := map[string]any{slog.LevelKey: "", slog.MessageKey: message}
		if !strings.HasPrefix(out.String(), string(appendTime(nil, time.Time{}))) {
			fields[slog.TimeKey] = ""
		}
		for _, m := range regexp.MustCompile(`(\S+)=(\S+)`).FindAllStringSubmatch(text, -1) {
			at := fields
			path := strings.Split(m[1], ".")
			for _, name := range path[:len(path)-1] {
				if at[name] == nil {
					at[name] = map[string]any{}
				}
				at = at[name].(map[string]any)
			}
			at[path[len(path)-1]] = m[2]
		}
		return fields
	})
}

// TestTexts compares with lines that OpenSM 3.3.23 wrote, and for traps that ibsim
// does not send with the reference.
func TestTexts(t *testing.T) {
	var desc smp.NodeDescription
	desc.Set("H2")
	link := notice(smp.TrapLinkState, smp.NoticeUrgent, smp.ProducerSwitch)
	integrity := notice(smp.TrapLinkIntegrity, smp.NoticeUrgent, smp.ProducerSwitch)
	integrity.PortError().SetPortNum(7)
	link.SetIssuerLID(3)
	integrity.SetIssuerLID(3)
	local := notice(smp.TrapLocalChange, smp.NoticeInformational, smp.ProducerCA)
	local.SetIssuerLID(5)
	local.LocalChange().SetCapabilityMask(0x0050c04a)
	vendor := notice(1144, smp.NoticeInformational, 0)
	vendor.SetIsGeneric(false)
	vendor.SetVendorID(0x2c9)
	qkey := notice(smp.TrapBadQKey, smp.NoticeSecurity, smp.ProducerCA)
	k := qkey.BadKey()
	k.SetKey(0x80010000)
	k.SetSL(3)
	k.SetLID1(4)
	k.SetLID2(5)
	k.SetQP1(0x48)
	k.SetQP2(1)
	for _, c := range []struct{ got, want string }{
		{Entering(smp.Discovering), "Entering DISCOVERING state"},
		{Entering(smp.NotActive), "Entering NOTACTIVE state"},
		{TablesConfigured("minhop"), "osm_ucast_mgr_process: minhop tables configured on all switches"},
		{DiscoveredPort(0x100003, 4, 7, "H2"),
			"state_mgr_report_new_ports: Discovered new port with GUID:0x0000000000100003 LID range [4,7] of node: H2"},
		{Binding(mad.ClassDirected, 0x100001), "osm_vendor_bind: Mgmt class 0x81 binding to port GUID 0x100001"},
		{SettingIsSM(0x100001), "osm_opensm_bind: Setting IS_SM on port 0x0000000000100001"},
		{ConsoleListening(10771), "osm_console_init: Console listening on port 10771"},
		{TrapPath(smp.TrapLinkState, mad.MakeRoute(1, 3)),
			"SM class trap 128: Directed Path Dump of 2 hop path: Path = 0,1,3"},
		{Reporting(link, mad.DefaultPrefix, 0x200001),
			`log_notice: Reporting Urgent Notice "Link state change" from switch LID 3, GUID 0x0000000000200001`},
		{Reporting(integrity, mad.DefaultPrefix, 0x100001),
			`log_notice: Reporting Urgent Notice "Local Link integrity threshold reached" from LID 3, GUID 0x0000000000100001, port 7`},
		{Reporting(local, mad.DefaultPrefix, 0x100007),
			`log_notice: Reporting Informational Notice "CapabilityMask, NodeDescription, Link [Width|Speed] Enabled, SM priority changed" from LID 5, GUID 0x0000000000100007, new CapabilityMask 0x0050c04a`},
		{ReportingGID(smp.TrapGIDOutOfService, mad.DefaultPrefix, 0x100004),
			`log_notice: Reporting Informational Notice "GID out of service", GID:fe80::10:4`},
		{strings.Join(Unanswered(smp.AttrNodeInfo, 0, mad.MakeRoute(1, 3, 2)), "|"),
			"log_send_error: ERR 5411: DR SMP Send completed with error (IB_TIMEOUT) -- dropping\n\t\tMethod 0x1, Attr 0x11|" +
				"Received SMP on a 3 hop path: Initial path = 0,1,3,2, Return path  = 0,0,0,0|" +
				"sm_mad_ctrl_send_err_cb: ERR 3113: MAD completed in error (IB_TIMEOUT): SubnGet(NodeInfo), attr_mod 0x0|" +
				"sm_mad_ctrl_send_err_cb: ERR 3120: Timeout while getting attribute 0x11 (NodeInfo); Possible mis-set mkey?"},
		{RemovedPort(0x100003, 4, 4, "H2"),
			"drop_mgr_remove_port: Removed port with GUID:0x0000000000100003 LID range [4, 4] of node:H2"},
		{Trap(link, 2, 0),
			"log_trap_info: Received Generic Notice type:1 num:128 (Link state change) Producer:2 (Switch) from LID:2 TID:0x0000000000000000"},
		{Trap(integrity, 2, 0x1f),
			"log_trap_info: Received Generic Notice type:1 num:129 (Local Link integrity threshold reached) Producer:2 (Switch) from LID:2 Port 7 TID:0x000000000000001f"},
		{Trap(vendor, 2, 1),
			"log_trap_info: Received Vendor Notice type:4 vend:0x0002C9 dev:1144 from LID:2 TID:0x0000000000000001"},
		{Trap(notice(999, smp.NoticeFatal, 9), 2, 1),
			"log_trap_info: Received Generic Notice type:0 num:999 (Unknown) Producer:9 (UNKNOWN) from LID:2 TID:0x0000000000000001"},
		{BadKey(qkey), "log_trap_info: Bad Q_Key:0x80010000 on SL:3 from LID1:4 QP1:0x48 to LID2:5 QP2:0x1"},
		{TrapRepeated(50), "trap_rcv_process_request: ERR 3804: Received trap 50 times consecutively"},
		{TrapSweep(smp.TrapLinkState), "trap_rcv_process_request: Forcing heavy sweep. Received trap:128"},
	} {
		if c.got != c.want {
			t.Errorf("got  %q\nwant %q", c.got, c.want)
		}
	}
}

func notice(number smp.TrapNumber, kind smp.NoticeType, from smp.ProducerType) *smp.Notice {
	n := &smp.Notice{}
	n.SetIsGeneric(true)
	n.SetType(kind)
	n.SetProducerType(from)
	n.SetTrapNumber(number)
	return n
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFile: appending, erasing, the limit, and a file that was moved away.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path, moved := filepath.Join(dir, "log"), filepath.Join(dir, "log.1")
	var alarm bytes.Buffer
	open := func(cfg Config) *File {
		cfg.Path, cfg.Alarm = path, &alarm
		f, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	say := func(f *File, line string) {
		if _, err := f.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	say(open(Config{}), "one")
	f := open(Config{})
	say(f, "two")
	if got := text(t, path); got != "one\ntwo\n" {
		t.Errorf("appended: %q", got)
	}
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	say(f, "three") // without a signal, as where OpenSM's rule rotates logs
	if err := f.Reopen(); err != nil {
		t.Fatal(err)
	}
	say(f, "four")
	if old, now := text(t, moved), text(t, path); old != "one\ntwo\n" || now != "three\nfour\n" {
		t.Errorf("moved away: %q, then %q", old, now)
	}
	if err := errors.Join(os.Rename(path, moved), os.WriteFile(path, nil, 0o600)); err != nil { // "create" of logrotate
		t.Fatal(err)
	}
	say(f, "five")
	if old, now := text(t, moved), text(t, path); old != "three\nfour\n" || now != "five\n" {
		t.Errorf("moved away and made: %q, then %q", old, now)
	}
	f = open(Config{Erase: true})
	say(f, "five")
	if got := text(t, path); got != "five\n" {
		t.Errorf("erased: %q", got)
	}
	f = open(Config{Limit: 12})
	say(f, "sixsix") // with five, the limit
	if alarm.Len() > 0 {
		t.Errorf("alarm: %s", &alarm)
	}
	say(f, "x")
	if got := text(t, path); got != "x\n" || !strings.Contains(alarm.String(), "exceeds the limit") {
		t.Errorf("beyond the limit: %q; alarm %q", got, &alarm)
	}
	say(f, "a line longer than the limit")
	if got := text(t, path); got != "a line longer than the limit\n" {
		t.Errorf("a long line: %q", got)
	}
}

// TestFailures: a log that cannot be written is reported three times, and one that
// cannot be opened again goes on.
func TestFailures(t *testing.T) {
	if _, err := Open(Config{Path: t.TempDir()}); err == nil {
		t.Error("a folder was opened")
	}
	var alarm bytes.Buffer
	if full, err := Open(Config{Path: "/dev/full", Alarm: &alarm}); err != nil {
		t.Log(err)
	} else {
		for range 10 {
			if _, err := full.Write([]byte("x\n")); err == nil {
				t.Error("the full device took a line")
			}
		}
		if lines := strings.Count(alarm.String(), "\n"); lines != maxAlarms {
			t.Errorf("%d alarms: %s", lines, &alarm)
		}
		full.Close()
	}
	dir := filepath.Join(t.TempDir(), "sub")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := Open(Config{Path: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := f.Reopen(); err == nil {
		t.Error("a file in a folder that is gone was opened")
	}
	fmt.Fprintln(f, "on")
	if got := text(t, filepath.Join(dir+".moved", "log")); got != "on\n" {
		t.Errorf("the old file says %q", got)
	}
}

func TestNoAllocations(t *testing.T) {
	h := NewHandler(discard{}, Options{Flags: DefaultFlags})
	r := slog.NewRecord(time.Now(), slog.LevelInfo, SubnetUp, 0)
	r.AddAttrs(slog.String("sets", "none"), slog.String("example", "a b"))
	if n := testing.AllocsPerRun(100, func() { h.Handle(context.Background(), r) }); n > 0 {
		t.Errorf("%v allocations a line", n)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
