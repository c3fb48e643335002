package ctl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/opensm/names"
)

// roles are what this program does when a test runs it as another process: it is reported
// by the variable of that name.
var roles = map[string]func(path string) error{
	"CTL_TEST_LISTEN": func(path string) error {
		if _, err := ctl.Listen(path, ""); err != nil {
			return err
		}
		fmt.Println("listening")
		_, err := io.ReadAll(os.Stdin) // until killed
		return err
	},
	"CTL_TEST_ASK": func(path string) error {
		err := ctl.NewClient(path).Get(context.Background(), "/v1/status", nil, nil)
		if errors.Is(err, ctl.ErrUnreachable) && errors.Is(err, fs.ErrPermission) {
			fmt.Println("refused")
			return nil
		}
		return err
	},
}

func TestMain(m *testing.M) {
	for name, play := range roles {
		if path := os.Getenv(name); path != "" {
			if err := play(path); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// source is a Source that a test fills.
type source struct {
	status ctl.Status
	none   bool // there is no subnet
	rows   func(ctl.List, ctl.Filter) (iter.Seq[any], error)
	plan   func(reroute bool) (*ctl.Plan, error)
	dump   func(io.Writer) error
	// planning takes the place of plan; partitions plans partitions, and applies them for no text.
	planning   func(ctx context.Context) (*ctl.Plan, error)
	partitions func(text []byte) ([]ctl.PartitionRow, error)

	mu     sync.Mutex
	orders []ctl.Order
	given  names.Map // the last node-name-map of a request
	flags  uint8
}

func (s *source) Status() *ctl.Status { return &s.status }

func (s *source) Subnet() ctl.Subnet {
	if s.none {
		return nil
	}
	return s
}

func (s *source) Order(ctx context.Context, o ctl.Order) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders = append(s.orders, o)
	return nil
}

func (s *source) SAStats() *ctl.SAStats {
	return &ctl.SAStats{Replies: []ctl.SAReplies{{Attribute: "PathRecord", Status: "ok", Count: 3}},
		Dropped: []ctl.SADrops{}, Packets: []ctl.GSIPackets{{Kind: "SA request", Received: 5, Dropped: 2}},
		Times: []ctl.SATimes{}}
}

func (s *source) Activity() *ctl.Activity {
	return &ctl.Activity{Status: &s.status, Sweeps: map[string]uint64{"light": 2}}
}

func (s *source) Generation() uint64 { return 7 }

func (s *source) Rows(l ctl.List, f ctl.Filter) (iter.Seq[any], error) { return s.rows(l, f) }

func (s *source) Why(port, partition string) (*ctl.Why, error) {
	return &ctl.Why{Port: port, Partition: partition}, nil
}

func (s *source) Quality(context.Context) (*ctl.Quality, error) {
	return &ctl.Quality{Links: 4, Fullest: 9}, nil
}

func (s *source) Security() *ctl.Security {
	return &ctl.Security{
		Rules: []ctl.SecurityRule{{Rule: "m_key", State: ctl.RuleFails, Text: "3 of 4 ports accept Sets from any host",
			Do: "set a secret m_key"}},
	}
}

func (s *source) CounterStatus(context.Context) (*ctl.CounterStatus, error) {
	return &ctl.CounterStatus{Enabled: true, Age: -1, Ports: 2}, nil
}

func (s *source) Counters(_ context.Context, port string, _ bool) (iter.Seq[*ctl.PortCounters], error) {
	if port == "none" {
		return nil, ctl.ErrNotNow
	}
	return slices.Values(
		[]*ctl.PortCounters{
			{PortOf: ctl.PortOf{Node: port},
				Counters: []ctl.Counter{{Name: "a", Value: 1, Total: 2, AtLeast: true, Rose: 3, Error: true}}},
		}), nil
}

func (s *source) IsolateLink(_ context.Context, port string, _ time.Duration) (*ctl.IsolatedLink, error) {
	return &ctl.IsolatedLink{}, nil
}
func (s *source) HealLink(context.Context, string) (*ctl.IsolatedLink, error) {
	return &ctl.IsolatedLink{}, nil
}
func (s *source) SickLinks(context.Context) (*ctl.SickLinks, error) {
	return &ctl.SickLinks{Age: -1}, nil
}

func (s *source) TopCounters(_ context.Context, by ctl.Top, most int) (*ctl.TopPorts, error) {
	return &ctl.TopPorts{By: by, More: most}, nil
}

func (s *source) Congestions(context.Context) (*ctl.Congestions, error) {
	return &ctl.Congestions{Age: 3, Open: []ctl.Congestion{{Cause: "a", Ports: 2}}}, nil
}

func (s *source) ClearCounters(_ context.Context, port string) (*ctl.ClearedCounters, error) {
	if port == "none" {
		return nil, ctl.ErrNotNow
	}
	return &ctl.ClearedCounters{Ports: 1}, nil
}

func (s *source) CongestionControl(context.Context) (*ctl.CongestionControl, error) {
	return &ctl.CongestionControl{Enabled: true, Requests: 2}, nil
}

func (s *source) Cabling() *ctl.Cabling { return &ctl.Cabling{Seen: "no plan"} }

func (s *source) Rails() *ctl.Rails { return &ctl.Rails{Seen: "no rails: none"} }

func (s *source) QoS() (*ctl.QoS, error) {
	return &ctl.QoS{Default: ctl.QoSLevel{SL: 3}}, nil
}

func (s *source) PathRecord(from, to string, ask *ctl.PathRequest) (*ctl.PathAnswer, error) {
	a := &ctl.PathAnswer{Rule: from + " to " + to}
	if ask.ServiceID != nil {
		a.Rule += fmt.Sprint(", service ", *ask.ServiceID)
	}
	if ask.PKey != nil {
		a.Rule += fmt.Sprint(", P_Key ", *ask.PKey)
	}
	if ask.QoSClass != nil {
		a.Rule += fmt.Sprint(", class ", *ask.QoSClass)
	}
	return a, nil
}

func (s *source) Diagnose(port, other string) (iter.Seq[*ctl.Diagnosis], error) {
	if port == "nobody" {
		return nil, fmt.Errorf("%w: no node is named nobody", ctl.ErrNotFound)
	}
	return func(yield func(*ctl.Diagnosis) bool) {
		yield(&ctl.Diagnosis{Port: ctl.End{Desc: port + other}, State: "Down", Reasons: []ctl.Reason{}})
	}, nil
}

func (s *source) Generations() []ctl.Generation {
	return []ctl.Generation{{Generation: 3, Last: 4, Counts: map[string]int{"node": 1}}}
}

func (s *source) Diff(from, to uint64) (*ctl.Diff, error) {
	if to > 4 {
		return nil, fmt.Errorf("%w: no such generation", ctl.ErrNotFound)
	}
	return &ctl.Diff{Span: ctl.Span{From: from, To: 4}, Changes: []ctl.Change{{What: "node", Name: "a", To: "CA"}}}, nil
}

func (s *source) Path(from, to string) (*ctl.Path, error) {
	if to == "nowhere" {
		return nil, fmt.Errorf("%w: no node is named nowhere", ctl.ErrNotFound)
	}
	return &ctl.Path{Result: from + " to " + to}, nil
}

func (s *source) Named(given names.Map) ctl.Subnet {
	s.given = given
	return s
}

func (s *source) Dumps() []string { return []string{"lfts"} }

func (s *source) Dump(_ context.Context, w io.Writer, _ string) error { return s.dump(w) }

func (s *source) Plan(ctx context.Context, q ctl.PlanQuery) (*ctl.Plan, error) {
	if s.planning != nil {
		return s.planning(ctx)
	}
	reroute := q.Reroute
	return s.plan(reroute)
}

func (s *source) PlanPartitions(text []byte) ([]ctl.PartitionRow, error) { return s.partitions(text) }

func (s *source) ApplyPartitions(bool) ([]ctl.PartitionRow, error) { return s.partitions(nil) }

func (s *source) Reload() *ctl.Reloaded {
	finding := ctl.Finding{File: "f", Line: 2, Column: 5, Severity: "note", Text: "text"}
	return &ctl.Reloaded{File: "f", Changed: []string{"lmc"}, Findings: []ctl.Finding{finding}}
}

func (s *source) RotateMKeys() (uint32, error) { return 3, nil }

func (s *source) Settings() []ctl.Setting {
	return []ctl.Setting{{Key: "lmc", Value: "1", Chosen: true, Source: "master", Position: "settings of 0x1.toml"},
		{Key: "sm_key", Value: "-", Source: "default", Note: "not shown"}}
}

func (s *source) LogFlags() uint8     { return s.flags }
func (s *source) SetLogFlags(f uint8) { s.flags = f }

// bench is a server over a socket.
type bench struct {
	*testing.T
	*source
	*ctl.Client
	server *ctl.Server
	events *ctl.Ring
	path   string
}

// serve serves a source until the test ends, over the control socket and on one more set of listeners.
func serve(t *testing.T, s *source, cfg ctl.Config, more ...ctl.Listeners) *bench {
	t.Helper()
	b := &bench{T: t, source: s, events: ctl.NewRing(8), path: filepath.Join(t.TempDir(), "s")}
	l, err := ctl.Listen(b.path, "")
	if err != nil {
		t.Fatal(err)
	}
	on := ctl.Listeners{}
	if more != nil {
		on = more[0]
	}
	on.Control = l
	cfg.Source, cfg.Plan, cfg.Generations, cfg.Diff, cfg.Events = s, s.Plan, s.Generations, s.Diff, b.events
	cfg.Reload, cfg.Settings, cfg.RotateMKeys = s.Reload, s.Settings, s.RotateMKeys
	cfg.LogFlags, cfg.SetLogFlags = s.LogFlags, s.SetLogFlags
	cfg.Counters, cfg.CongestionControl = s, s.CongestionControl
	if s.partitions != nil {
		cfg.PlanPartitions, cfg.ApplyPartitions = s.PlanPartitions, s.ApplyPartitions
	}
	b.server = ctl.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- b.server.Serve(ctx, on) }()
	b.Client = ctl.NewClient(b.path)
	t.Cleanup(func() {
		b.Client.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		if _, err := os.Stat(b.path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is left: %v", err)
		}
	})
	return b
}

// mustAnswer asks for the status.
func (b *bench) mustAnswer() {
	b.Helper()
	var st ctl.Status
	if err := b.Get(b.Context(), "/v1/status", nil, &st); err != nil || st.Where != b.source.status.Where {
		b.Fatalf("status %+v, %v", st, err)
	}
}

// until waits for what the server counts.
func (b *bench) until(what string, is func() bool) {
	b.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); runtime.Gosched() {
		if time.Now().After(deadline) {
			b.Fatalf("not in 20 s: %s", what)
		}
	}
}

// text is a reply as it comes.
func (b *bench) text(method, path string) string {
	b.Helper()
	body, err := b.Open(b.Context(), method, path, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

const get, post = http.MethodGet, http.MethodPost
