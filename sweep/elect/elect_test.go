package elect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/smp"
)

var doNames = map[Do]string{Nothing: "nothing", BecomeMaster: "become master", StandBy: "stand by",
	HandOver: "hand over", PrepareHandover: "prepare handover", AwaitHandover: "await handover",
	Discover: "discover", Resweep: "resweep", TakeOver: "take over", BecomeInactive: "become inactive",
	Inquire: "inquire", ReadAll: "read all", Poll: "poll", Look: "look", SendTrap: "send trap", Offer: "offer",
	End: "end"}

var controls = map[string]uint32{"handover": smp.ControlHandover, "acknowledge": smp.ControlAcknowledge,
	"disable": smp.ControlDisable, "standby": smp.ControlStandby, "discover": smp.ControlDiscover}

var states = map[string]smp.SMState{"NOT-ACTIVE": smp.NotActive, "DISCOVERING": smp.Discovering, "STANDBY": smp.Standby,
	"MASTER": smp.Master}

// play is one case of a transcript under way.
type play struct {
	m   *Machine
	key uint64
	now time.Duration
}

// newPlay reads the line that names this manager.
func newPlay(line string) (*play, error) {
	words := strings.Fields(line)[1:]
	cfg := Config{SMKey: 1}
	guid, priority, _ := strings.Cut(words[0], "/")
	g, err := mad.ParseGUID(guid)
	if err != nil {
		return nil, err
	}
	p, err := strconv.ParseUint(priority, 10, 4)
	if err != nil {
		return nil, err
	}
	cfg.GUID, cfg.Priority = g, uint8(p)
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "key":
			cfg.SMKey, err = strconv.ParseUint(value, 0, 64)
		case "poll":
			cfg.PollInterval, err = time.ParseDuration(value)
		case "retries":
			cfg.PollRetries, err = strconv.Atoi(value)
		case "ignore":
			cfg.IgnoreOthers = true
		case "unmirrored":
			cfg.Unmirrored = true
		case "inactive":
			cfg.Inactive = true
		case "master":
			p, err = strconv.ParseUint(value, 10, 4)
			cfg.MasterPriority = uint8(p)
		case "allow":
			var g mad.GUID
			g, err = mad.ParseGUID(value)
			cfg.Allowed = append(cfg.Allowed, g)
		default:
			err = fmt.Errorf("unknown option %q", w)
		}
		if err != nil {
			return nil, err
		}
	}
	return &play{m: New(cfg), key: cfg.SMKey, now: time.Hour}, nil
}

// manager reads GUID/priority/STATE with or without /key.
func (p *play) manager(word string) (i smp.SMInfo, err error) {
	part := strings.Split(word, "/")
	if len(part) < 3 || len(part) > 4 {
		return i, fmt.Errorf("manager %q", word)
	}
	guid, err := mad.ParseGUID(part[0])
	if err != nil {
		return i, err
	}
	priority, err := strconv.ParseUint(part[1], 10, 4)
	if err != nil {
		return i, err
	}
	state, ok := states[part[2]]
	if !ok {
		return i, fmt.Errorf("state %q", part[2])
	}
	key := p.key
	if len(part) == 4 {
		if key, err = strconv.ParseUint(part[3], 0, 64); err != nil {
			return i, err
		}
	}
	i.SetGUID(guid)
	i.SetPriority(uint8(priority))
	i.SetSMState(state)
	i.SetSMKey(key)
	return i, nil
}

// event lets something happen and says what the machine made of it.
func (p *play) event(line string) (string, error) {
	words := strings.Fields(line)
	peer := words[len(words)-1] == "ibsm"
	if peer {
		words = words[:len(words)-1]
	}
	var them []smp.SMInfo
	for _, w := range words[1:] {
		if !strings.Contains(w, "/") {
			break
		}
		i, err := p.manager(w)
		if err != nil {
			return "", err
		}
		if peer {
			binary.BigEndian.PutUint64(i[markAt:], answered)
		}
		them = append(them, i)
	}
	if want, ok := eventSizes[words[0]]; ok && len(them) != want {
		return "", fmt.Errorf("%d managers, want %d", len(them), want)
	}
	do := Nothing
	switch words[0] {
	case "walk":
		do = p.m.Decide(p.now, them)
	case "tick":
		if do = p.tick(); do == Nothing {
			return "", fmt.Errorf("nobody is polled")
		}
	case "silence":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			return "", err
		}
		for end := p.now + d; do == Nothing || do == Poll; do = p.next() {
			if due, ok := p.m.Due(); !ok || due > end {
				do, p.now = Nothing, end
				break
			}
		}
	case "complete":
		do = p.m.Complete(p.now, them[0].GUID())
	case "cleared":
		do = p.m.Port(p.now, false)
	case "unplugged":
		do = p.m.Unplugged(p.now)
	case "path-lost":
		do = p.m.LosePath()
	case "configured":
		p.m.Configure(p.now, Config{Priority: p.m.cfg.Priority, SMKey: p.m.cfg.SMKey})
	case "resumed":
		p.m.Resumed(p.now)
	case "asked":
		q := New(Config{GUID: them[0].GUID(), Priority: them[0].Priority()})
		q.state = them[0].SMState()
		question := q.Question()
		do = p.m.Asked(&question)
	case "leave":
		do = p.m.Leave(p.now, them)
	case "reply":
		do = p.m.Reply(p.now, &them[0])
	case "seen":
		do = p.m.Seen(&them[0])
	case "port":
		p.m.PortDown()
	default:
		mod, ok := controls[words[0]]
		if !ok {
			return "", fmt.Errorf("unknown event %q", words[0])
		}
		var status mad.Status
		if do, status = p.m.Control(p.now, mod, &them[0]); status != mad.StatusOK {
			if status != 0x1c || do != Nothing {
				return "", fmt.Errorf("status %#x, and %s", uint16(status), doNames[do])
			}
			return "refused, " + p.state(), nil
		}
	}
	return doNames[do] + ", " + p.state(), nil
}

// eventSizes is how many managers an event is about, where there must be so many.
var eventSizes = map[string]int{"reply": 1, "seen": 1, "asked": 1, "complete": 1, "handover": 1, "acknowledge": 1,
	"disable": 1, "standby": 1, "discover": 1}

// tick lets time go on to the next poll, or to what comes instead.
func (p *play) tick() Do {
	for {
		if _, ok := p.m.Due(); !ok {
			return Nothing
		}
		if do := p.next(); do != Nothing {
			return do
		}
	}
}

// next lets time go on to what is due next. A look at the port finds its agent well and
// IsSM set: then there is nothing to do.
func (p *play) next() Do {
	due, _ := p.m.Due()
	p.now = max(p.now, due)
	do := p.m.Tick(p.now)
	if do == Look {
		return p.m.Port(p.now, true)
	}
	return do
}

func (p *play) state() string {
	polled := "-"
	if g := p.m.Polled(); g != 0 {
		polled = fmt.Sprintf("%#x", uint64(g))
	}
	return p.m.State().String() + ", " + polled
}

func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("../../testdata/elect/*.txt")
	if err != nil || len(files) < 6 {
		t.Fatal("transcripts are missing:", files, err)
	}
	played := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var p *play
		for n, line := range strings.Split(string(text), "\n") {
			at := fmt.Sprintf("%s:%d", filepath.Base(file), n+1)
			line = strings.TrimSpace(line)
			event, want, isEvent := strings.Cut(line, " -> ")
			switch {
			case line == "":
				p = nil
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "us "):
				if p, err = newPlay(line); err != nil {
					t.Fatalf("%s: %v", at, err)
				}
			case !isEvent || p == nil:
				t.Fatalf("%s: %q is no event", at, line)
			default:
				got, err := p.event(event)
				if err != nil {
					t.Fatalf("%s: %s: %v", at, event, err)
				}
				if got != want {
					t.Errorf("%s: %s -> %s, want %s", at, event, got, want)
				}
				played++
			}
		}
	}
	if played < 100 {
		t.Errorf("only %d events", played)
	}
}

// TestPollTimes: the first poll at once, the others an interval apart, and the death of
// a master that answered last just now is known within six intervals. Its port is looked
// at four times a second.
func TestPollTimes(t *testing.T) {
	m := New(Config{GUID: 2})
	var master smp.SMInfo
	master.SetGUID(1)
	master.SetSMState(smp.Master)
	if _, ok := m.Due(); ok {
		t.Error("a poll is due before anyone is known")
	}
	start := 5 * time.Minute
	m.Decide(start, []smp.SMInfo{master})
	var polls []time.Duration
	looks := 0
	for now := start; ; now, _ = m.Due() {
		do := m.Tick(now)
		if do == Discover {
			if now-start != time.Minute || looks != 4*60 {
				t.Errorf("the master is dead after %v, and %d looks at its port", now-start, looks)
			}
			break
		}
		switch do {
		case Look:
			looks++
		case Poll:
			if polls = append(polls, now-start); len(polls) == 1 {
				m.Reply(now, &master)
			}
		case Nothing:
			if due, _ := m.Due(); due <= now {
				t.Fatal("due, but nothing to do")
			}
		}
	}
	want := []time.Duration{0, 10 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second, 50 * time.Second}
	if !slices.Equal(polls, want) {
		t.Errorf("polls at %v, want %v", polls, want)
	}
	if _, ok := m.Due(); ok {
		t.Error("a dead manager is polled")
	}
}

func TestInfo(t *testing.T) {
	m := New(Config{GUID: 1, Priority: 15, SMKey: 0x77})
	m.SetGUID(0xfeed)
	i := m.Info()
	if i.GUID() != 0xfeed || i.Priority() != 15 || i.SMKey() != 0x77 || i.SMState() != smp.Discovering ||
		i.ActCount() != 0 {
		t.Errorf("SMInfo is %v %d %#x %v", i.GUID(), i.Priority(), i.SMKey(), i.SMState())
	}
}

// TestMarks: the marks by which managers of this kind know each other are those of all versions:
// one that is upgraded finds others that are not. They stand in reserved bytes of SMInfo.
func TestMarks(t *testing.T) {
	m := New(Config{GUID: 7, SMKey: 9})
	ask := m.Question()
	if at := bytes.Index(ask[:], []byte("ibsm-ask")); at != 56 || ask.SMKey() != 0 {
		t.Errorf("a question has its mark at %d, SM_Key %d", at, ask.SMKey())
	}
	if reply := m.Answer(&ask); string(reply[56:]) != "ibsm-yes" {
		t.Errorf("a question is answered with %q", reply[56:])
	}
	if reply := m.Answer(&smp.SMInfo{}); !bytes.Equal(reply[56:], make([]byte, 8)) {
		t.Errorf("anybody else is answered with %q", reply[56:])
	}
}

// TestOrder: outranks orders managers totally, and agrees with what we think of us.
func TestOrder(t *testing.T) {
	all := []struct {
		priority uint8
		guid     mad.GUID
	}{{15, 9}, {5, 1}, {5, 1<<63 - 1}, {5, 1 << 63}, {5, 1<<64 - 1}, {0, 2}}
	for i, a := range all {
		for j, b := range all {
			var x, y smp.SMInfo
			x.SetPriority(a.priority)
			x.SetGUID(a.guid)
			y.SetPriority(b.priority)
			y.SetGUID(b.guid)
			if outranks(&x, &y) != (i < j) {
				t.Errorf("%v outranks %v: %v", a, b, i >= j)
			}
			m := New(Config{GUID: b.guid, Priority: b.priority})
			if m.higher(&x) != (i < j) {
				t.Errorf("%v is higher than us, %v: %v", a, b, i >= j)
			}
		}
	}
}

// A shorter time between polls counts for the poll that is due, and our port stays ours.
// A standby that is raised polls at once, so that the master learns of it.
func TestConfigure(t *testing.T) {
	m := New(Config{GUID: 7, Priority: 1})
	var master smp.SMInfo
	master.SetGUID(3)
	master.SetPriority(5)
	master.SetSMState(smp.Master)
	m.Decide(0, []smp.SMInfo{master})
	m.Tick(0)
	if m.due != 10*time.Second {
		t.Fatalf("polls at %v", m.due)
	}
	m.Configure(time.Second, Config{Priority: 1, SMKey: 4, PollInterval: 2 * time.Second})
	info := m.Info()
	if m.due != 3*time.Second || info.GUID() != 7 || info.Priority() != 1 || info.SMKey() != 4 ||
		m.State() != smp.Standby {
		t.Errorf("polls at %v, %+v", m.due, info)
	}
	m.Configure(time.Second, Config{PollInterval: time.Hour})
	if m.due != 3*time.Second {
		t.Errorf("a poll was put off to %v", m.due)
	}
	m.Configure(time.Second, Config{Priority: 9})
	if do := m.Tick(time.Second); do != Poll {
		t.Errorf("raised, the standby does %v", do)
	}
	if do := m.Reply(time.Second, &master); do != SendTrap {
		t.Errorf("raised above the master, it does %v", do)
	}
}
