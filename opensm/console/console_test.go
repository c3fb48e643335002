package console

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
	"ibsm/opensm/perfdb"
	"ibsm/registry"
	"ibsm/view"
	"ibsm/view/viewtest"
)

// Answers are compared with OpenSM's in cmd/ibsm. The tests here are of what a healthy
// subnet on ibsim does not show.

// recorder is a Daemon that notes what it is reported.
type recorder struct {
	Daemon
	reported []string
}

func newRecorder(v *view.View) *recorder {
	r := &recorder{}
	note := func(format string, args ...any) { r.reported = append(r.reported, fmt.Sprintf(format, args...)) }
	r.Daemon = Daemon{
		Version: "OpenSM 3.3.23 (ibsm 0.1.0)", Now: func() time.Time { return time.Unix(0, 0) },
		View: func() *view.View { return v }, Registry: func() *registry.State { return nil },
		Status: func() Status { return Status{State: smp.Standby, SMs: []view.SM{{GUID: 1}}} },
		PerfMgr: PerfMgr{
			Status: func() PerfStatus {
				return PerfStatus{Enabled: true, Redirect: true, RemoveNodes: true, SweepTime: 180, Outstanding: 3,
					Max: 500}
			},
			Nodes: func() ([]perfdb.Node, error) {
				return []perfdb.Node{{GUID: 1, Name: "a", First: 1, Ports: 1}, {GUID: 2, Name: "b 2", Ports: 3},
					{GUID: 3, Name: " c  3 ", Ports: 1}}, nil
			},
			Redirects: func() ([]Redirect, error) {
				r := Redirect{Node: 2, Name: "b 2", Port0: true, From: 5, To: 9, QPN: 1, PKey: mad.DefaultPKey}
				next := r
				next.Port = 1
				return []Redirect{r, next}, nil
			},
			Do: func(o PerfOrder) error {
				note("perf %d", o)
				if o == PerfClear {
					return errors.New("not now")
				}
				return nil
			},
			SetSweepTime: func(seconds uint16) { note("sweep time %d", seconds) },
			Dump: func(table bool) error {
				note("dump %t", table)
				if table {
					return fs.ErrPermission
				}
				return nil
			},
			ForgetAbsent:    func() (int, error) { return 2, nil },
			ForgetRedirects: func(node mad.GUID) error { note("forget %v", node); return nil },
		},
		Config:      func() ([]byte, error) { return []byte("guid 0\n"), nil },
		ModuleLog:   func() (string, []byte, error) { return "/m", nil, fs.ErrNotExist },
		LogFlags:    func() uint8 { return 0x83 },
		SetLogFlags: func(f uint8) { note("flags %#x", f) }, SetPriority: func(p uint8) { note("priority %d", p) },
		SetSweeping: func(on bool) { note("sweeping %v", on) },
		Do: func(o Order) error {
			note("order %d", o)
			if o == Reroute {
				return errors.New("not now")
			}
			return nil
		},
		WriteFile: func(name string, text []byte) error {
			note("file %s: %d lines", name, bytes.Count(text, []byte("\n")))
			if name == "x" {
				return fs.ErrPermission
			}
			return nil
		},
		Acted: func(line string) { note("acted %s", line) },
	}
	return r
}

// TestActs: commands that change something are noted, then done.
func TestActs(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4,levels=2", 2)
	for _, c := range []struct {
		line, reported, answer string
	}{
		{"loglevel 0x07", "acted loglevel 0x07, flags 0x7", "Setting log level to 0x7\n"},
		{"loglevel x", "acted loglevel x, flags 0x0", "Setting log level to 0x0\n"},
		{"priority 15", "acted priority 15, priority 15", "Setting sm-priority to 15\n"},
		{"priority 16", "acted priority 16", "Invalid sm-priority 16; must be between 0 and 15\n"},
		{"sweep  off ", "acted sweep off, sweeping false", ""},
		{"sweep on", "acted sweep on, sweeping true", ""},
		{"resweep light", "acted resweep light, order 1", ""},
		{"resweep heavy", "acted resweep heavy, order 2", ""},
		{"reroute", "acted reroute, order 3", "not now\n"},
		{"update_desc", "acted update_desc, order 4", ""},
		{"dump_portguid . file /tmp/\x1b", "acted dump_portguid . file /tmp/?, file /tmp/\x1b: 14 lines", ""},
		{"dump_portguid file x .", "acted dump_portguid file x ., file x: 14 lines",
			"Could not open file x: permission denied\n"},
		{"dump_conf", "", "guid 0\n"},
		{"permodlog", "", ""},
		{"logflush on", "", ""},
		{"perfmgr", "", "Performance Manager status:\nstate                        : Enabled\nsweep state                  : Sleeping\n" +
			"sweep time                   : 180s\noutstanding queries/max      : 3/500\nremove missing nodes from DB : TRUE\nquery ClassPortInfo          : FALSE\n"},
		{"pm enable", "acted pm enable, perf 0", ""},
		{"perfmgr disable", "acted perfmgr disable, perf 1", ""},
		{"perfmgr sweep", "acted perfmgr sweep, perf 2", "sweep initiated...\n"},
		{"perfmgr clear_counters", "acted perfmgr clear_counters, perf 3", "not now\n"},
		{"perfmgr clear_rm_nodes", "acted perfmgr clear_rm_nodes, perf 4", ""},
		{"perfmgr set_rm_nodes", "acted perfmgr set_rm_nodes, perf 5", ""},
		{"perfmgr set_query_cpi", "acted perfmgr set_query_cpi, perf 6", ""},
		{"perfmgr clear_query_cpi", "acted perfmgr clear_query_cpi, perf 7", ""},
		{"perfmgr sweep_time 70000", "acted perfmgr sweep_time 70000, sweep time 4464", ""}, // as C's uint16_t
		{"perfmgr sweep_time x", "acted perfmgr sweep_time x",
			"sweep_time requires a positive time period (in seconds) to be specified\n"},
		{"perfmgr sweep_time", "acted perfmgr sweep_time",
			"sweep_time requires a time period (in seconds) to be specified\n"},
		{"perfmgr dump_counters", "acted perfmgr dump_counters, dump false", ""},
		{"pm dump_counters mach", "acted pm dump_counters mach, dump true", "permission denied\n"},
		{"pm clear_inactive", "acted pm clear_inactive", "Removed 2 nodes from Database\n"},
		{"pm pc nobody", "", "Node nobody not found...\n"},
		{"pm print_counters 0x99:1", "", "Node 0x99 not found...\n"},
		{"pm pc b 2:9", "", "Warning: \"9\" is not a valid port\n"},
		// a line has no blanks at its end, nor two in a row
		{"pm pc c 3:9", "", "Warning: \"9\" is not a valid port\n"},
		{"pm clear_redir c 3", "acted pm clear_redir c 3, forget 0x0000000000000003", ""},
		{"pm clear_redir b 3", "acted pm clear_redir b 3", "Node b 3 not found...\n"},
		{"pm pe", "", ""},
		{"pm clear_redir", "acted pm clear_redir, forget 0x0000000000000000", ""},
		{"pm clear_redir b 2", "acted pm clear_redir b 2, forget 0x0000000000000002", ""},
		{"pm clear_redir x", "acted pm clear_redir x", "Node x not found...\n"},
		{"pm dump_redir 0x1", "", "\nRedirection Table\n-----------------\n"},
		{"pm dump_redir", "",
			"\nRedirection Table\n-----------------\n   Node GUID       ESP0   Name\n   ---------       ----   ----\n   0x2 1      b 2\n" +
				"\n   Port Valid  LIDs     PKey  QP    PKey Index\n   ---- -----  ----     ----  --    ----------\n   0    1      5->9  0xffff 0x1   0\n   1    1      5->9  0xffff 0x1   0\n\n"},
		{"pm nonsense", "", "\"nonsense\" option not found\n"},
		{"version\x00 junk", "", "OpenSM 3.3.23 (ibsm 0.1.0)\n"},
	} {
		r := newRecorder(v)
		var out bytes.Buffer
		s := New(&r.Daemon, &out, false)
		more, err := s.Line(c.line)
		if reported := strings.Join(r.reported, ", "); reported != c.reported || out.String() != c.answer+Prompt ||
			!more || err != nil {
			t.Errorf("%q: %v, %v; reported %q, want %q; answer %q, want %q", c.line, more, err, reported, c.reported,
				&out, c.answer+Prompt)
		}
	}
}

// TestPerfMgrFails: the console shows why counters cannot be had, and not that there are none.
func TestPerfMgrFails(t *testing.T) {
	const table = "\nRedirection Table\n-----------------\n"
	failed := errors.New("not now")
	for line, want := range map[string]string{
		"pm pc": "", "pm pc b 2": "", "pm pe": "", "pm clear_inactive": "", "pm clear_redir": "",
		"pm clear_redir b 2": "",
		"pm dump_redir":      table, "pm dump_redir b 2": table,
	} {
		r := newRecorder(nil)
		r.PerfMgr.Nodes = func() ([]perfdb.Node, error) { return nil, failed }
		r.PerfMgr.Redirects = func() ([]Redirect, error) { return nil, failed }
		r.PerfMgr.ForgetAbsent = func() (int, error) { return 0, failed }
		r.PerfMgr.ForgetRedirects = func(mad.GUID) error { return failed }
		var out bytes.Buffer
		if _, err := New(&r.Daemon, &out, false).Line(line); err != nil || out.String() != want+"not now\n"+Prompt {
			t.Errorf("%s: %v, %q", line, err, &out)
		}
	}
}

// TestNoSubnet: a manager that manages no subnet answers all the same.
func TestNoSubnet(t *testing.T) {
	for line, want := range map[string]string{
		"querylid 1": "Invalid lid 1\n", "switchbalance": "", "lidbalance": "",
		"lidbalance 7":    "switchguid not found\n",
		"dump_portguid .": "Subnet is not ready yet. Try again later\n",
		"portstatus ca":   "\"Channel Adapter\" port status:\n   0 port(s) scanned on 0 nodes in 0 us\n\n",
	} {
		var out bytes.Buffer
		s := New(&newRecorder(nil).Daemon, &out, false)
		if _, err := s.Line(line); err != nil || out.String() != want+Prompt {
			t.Errorf("%s: %v, %q, want %q", line, err, &out, want+Prompt)
		}
	}
}

// TestLoop: the status is repeated until q, and nothing else is taken meanwhile.
func TestLoop(t *testing.T) {
	r := newRecorder(nil)
	var out bytes.Buffer
	s := New(&r.Daemon, &out, false)
	said := func(line string) string {
		out.Reset()
		if more, err := s.Line(line); !more || err != nil {
			t.Errorf("%q: %v, %v", line, more, err)
		}
		return out.String()
	}
	const hint = "use \"q<ret>\" to quit loop\n"
	if got := said("status loop"); !strings.HasPrefix(got, "Looping on status command...\n   OpenSM Version ") ||
		!strings.HasSuffix(got, hint) {
		t.Errorf("loop begins with %q", got)
	}
	if got := said("reroute"); got != hint || r.reported != nil {
		t.Errorf("a command within the loop: %q, %q", got, r.reported)
	}
	out.Reset()
	if err := s.Tick(); err != nil || strings.Count(out.String(), "Standby") != 1 ||
		strings.Contains(out.String(), Prompt) {
		t.Errorf("a tick: %v, %q", err, &out)
	}
	if got := said("q"); got != Prompt {
		t.Errorf("q: %q", got)
	}
	out.Reset()
	if s.Tick(); out.Len() > 0 {
		t.Errorf("a tick after the loop: %q", &out)
	}
}

// TestQuit: a client at a socket leaves, the terminal stays.
func TestQuit(t *testing.T) {
	for _, local := range []bool{false, true} {
		var out bytes.Buffer
		s := New(&newRecorder(nil).Daemon, &out, local)
		s.Greet()
		more, err := s.Line("quit")
		want := Prompt
		if local {
			want += Prompt
		}
		if more != local || err != nil || out.String() != want {
			t.Errorf("local %v: %v, %v, %q", local, more, err, &out)
		}
	}
}

// TestSlowExpressions: expressions that are made to be slow are given up.
func TestSlowExpressions(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4,levels=2", 2)
	for i := range v.Topo.Nodes {
		v.Topo.Nodes[i].Desc.Set(strings.Repeat("ab", 31))
	}
	const slow = "(.?){1000}z "
	r := newRecorder(v)
	calls := 0
	r.Now = func() time.Time { // each match takes a second
		calls++
		return time.Unix(int64(calls), 0)
	}
	var out bytes.Buffer
	s := New(&r.Daemon, &out, false)
	s.Line("dump_portguid " + strings.Repeat(slow, 9) + strings.Repeat("x", maxExpression+1))
	if !strings.HasSuffix(out.String(), "Skipping\nThe expressions take too long to be tried. Aborting\n"+Prompt) ||
		calls != int(matchPatience.Seconds())+2 {
		t.Errorf("after %d looks at the clock: %.200q", calls, &out)
	}
}

// TestGone: a client that takes nothing more ends the session, whatever must be said.
func TestGone(t *testing.T) {
	v := viewtest.New(t, "fattree:k=4", 2)
	for _, line := range []string{"help", "status", "portstatus", "switchbalance verbose", "lidbalance",
		"dump_portguid ."} {
		s := New(&newRecorder(v).Daemon, closed{}, false)
		if _, err := s.Line(line); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestNumbers holds number and signed to what glibc's strtoul and strtol return.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		text string
		base int
		want uint64
		rest string
	}{
		{"", 0, 0, ""}, {"0", 0, 0, ""}, {"12x", 0, 12, "x"}, {"012", 0, 10, ""}, {"09", 0, 0, "9"},
		{"0x1F", 0, 31, ""}, {"0X1g", 0, 1, "g"},
		{"0x", 0, 0, "x"}, {"0xg", 0, 0, "xg"}, {"x1", 0, 0, "x1"}, {"ff", 16, 255, ""}, {"0xff", 16, 255, ""},
		{"0x10", 10, 0, "x10"},
		{"18446744073709551616", 0, math.MaxUint64, ""},
	} {
		if got, rest := number(c.text, c.base); got != c.want || rest != c.rest {
			t.Errorf("number(%q, %d) = %d, %q; want %d, %q", c.text, c.base, got, rest, c.want, c.rest)
		}
	}
	for text, want := range map[string]int32{"-1": -1, "+7": 7, "": 0, "-": 0, "-0x10": -16, "--1": 0,
		"99999999999": 1215752191, "9999999999999999999999": -1} {
		if got := signed(text, 0); got != want {
			t.Errorf("signed(%q) = %d, want %d", text, got, want)
		}
	}
}

// TestLines: lines of all lengths, and ends without a line feed.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil}, {"a", []string{"a"}}, {"a\n", []string{"a"}}, {"\n\nb", []string{"", "", "b"}},
		{long[1:] + "\nb\n", []string{long[1:], "b"}},
		{long + "\nb\n", []string{"too long", "b"}},
		{strings.Repeat(long, 9) + "\n" + long + long + "\nb", []string{"too long", "too long", "b"}},
		{long + long, nil},
	} {
		var got []string
		l := NewLines(strings.NewReader(c.in))
		for {
			line, err := l.Next()
			if errors.Is(err, ErrTooLong) {
				line = "too long"
			} else if err != nil {
				break
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%.20q: %.60q, want %.60q", c.in, got, c.want)
		}
	}
}

// TestPortStatus: speeds that ibsim does not have.
func TestPortStatus(t *testing.T) {
	for _, c := range []struct {
		name                    string
		change                  func(*smp.PortInfo)
		speed                   mad.LinkSpeed
		disabled, speeds, width []issue
	}{
		{name: "NDR", change: func(*smp.PortInfo) {}, speed: mad.NDR},
		{name: "reduced to HDR", change: func(p *smp.PortInfo) {
			p.SetLinkSpeedExtActive(4)
		}, speed: mad.HDR, speeds: []issue{reducedSpeed}},
		{name: "HDR, NDR not enabled", change: func(p *smp.PortInfo) {
			p.SetLinkSpeedExtActive(4)
			p.SetLinkSpeedExtEnabled(7)
		}, speed: mad.HDR},
		{name: "NDR, not enabled", change: func(p *smp.PortInfo) {
			p.SetLinkSpeedExtEnabled(7)
		}, speed: mad.NDR, speeds: []issue{unenabledSpeed}},
		{name: "QDR, extended ones off", change: func(p *smp.PortInfo) {
			p.SetLinkSpeedExtActive(0)
			p.SetLinkSpeedExtEnabled(smp.LinkSpeedExtNone)
		}, speed: mad.QDR},
		{name: "no speed", change: func(p *smp.PortInfo) {
			p.SetLinkSpeedActive(0)
			p.SetLinkSpeedExtActive(0)
		}, speeds: []issue{unenabledSpeed, unknownSpeed}},
		{name: "QDR, extended ones enabled", change: func(p *smp.PortInfo) {
			p.SetLinkSpeedExtActive(0)
		}, speed: mad.QDR, speeds: []issue{reducedSpeed}},
		// Active and enabled widths and speeds as real devices report them, of links without a fault.
		{name: "Quantum-2", change: func(p *smp.PortInfo) {
			p.SetLinkWidthEnabled(19) // 1x, 4x, 2x
			p.SetLinkSpeedEnabled(5)  // SDR, QDR
		}, speed: mad.NDR},
		{name: "ConnectX-7", change: func(p *smp.PortInfo) {
			p.SetLinkWidthEnabled(19)
			p.SetLinkSpeedEnabled(1)
			p.SetLinkSpeedActive(0)
		}, speed: mad.NDR},
		{name: "aggregation node", change: func(p *smp.PortInfo) {
			p.SetLinkWidthEnabled(3)
			p.SetLinkSpeedExtEnabled(14)
		}, speed: mad.NDR},
		{name: "2x of 4x", change: func(p *smp.PortInfo) {
			p.SetLinkWidthEnabled(19)
			p.SetLinkWidthActive(mad.Width2x)
		}, speed: mad.NDR, width: []issue{reducedWidth}},
		{name: "1x of 4x", change: func(p *smp.PortInfo) {
			p.SetLinkWidthActive(mad.Width1x)
		}, speed: mad.NDR, width: []issue{reducedWidth}},
		{name: "no width", change: func(p *smp.PortInfo) {
			p.SetLinkWidthActive(0)
		}, speed: mad.NDR, width: []issue{unenabledWidth, unknownWidth}},
		{name: "disabled", change: func(p *smp.PortInfo) {
			p.SetPortState(smp.PortDown)
			p.SetPortPhysicalState(smp.PhysDisabled)
		}, disabled: []issue{disabled}},
	} {
		var p smp.PortInfo
		p.SetCapabilityMask(smp.IsExtendedSpeedsSupported)
		p.SetPortState(smp.PortActive)
		p.SetPortPhysicalState(smp.PhysLinkUp)
		p.SetLinkWidthActive(mad.Width4x)
		p.SetLinkWidthEnabled(mad.Width1x | mad.Width4x)
		p.SetLinkSpeedActive(4)
		p.SetLinkSpeedEnabled(7)
		p.SetLinkSpeedExtActive(8)
		p.SetLinkSpeedExtEnabled(15)
		p.SetLinkSpeedExtSupported(15)
		c.change(&p)
		counts := portCounts{width: map[mad.LinkWidth]int{}, speed: map[mad.LinkSpeed]int{}}
		var got []issue
		counts.countPort(&p, &p, func(i issue) { got = append(got, i) })
		want := slices.Concat(c.disabled, c.speeds, c.width)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) || c.speed != 0 && counts.speed[c.speed] != 1 {
			t.Errorf("%s: issues %v, want %v; speeds %v", c.name, got, want, counts.speed)
		}
	}
}

// FuzzSession has a session read anything.
func FuzzSession(f *testing.F) {
	for _, c := range commands {
		f.Add([]byte(c.name + "\nhelp " + c.name + "\n" + c.name + " x 0x1 ( file y\n"))
	}
	f.Add([]byte("status loop\nq\n\x00\xff\r\n"))
	f.Add([]byte(
		"switchbalance verbose 0x20\nlidbalance -1\nquerylid 99999999999999999999\ndump_portguid (((a{1,1000}){1,1000})) [[:x:]] \\1"))
	v := viewtest.New(f, "fattree:k=4,levels=2", 2)
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		s := New(&newRecorder(v).Daemon, &out, false)
		for lines := NewLines(bytes.NewReader(in)); ; {
			line, err := lines.Next()
			out.Reset()
			switch {
			case errors.Is(err, ErrTooLong):
				s.TooLong()
			case err != nil:
				return
			default:
				more, err := s.Line(line)
				if err != nil || more == (len(split(line)) > 0 && split(line)[0] == "quit" && s.state != looping) {
					t.Fatalf("%q: %v, %v", line, more, err)
				}
				if !more {
					return
				}
			}
			s.Tick()
			if strings.ContainsFunc(out.String(), func(r rune) bool { return r < ' ' && r != '\n' || r > '~' }) {
				t.Fatalf("%q is answered with %q", line, &out)
			}
		}
	})
}
