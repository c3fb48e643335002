package page

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"ibsm/ctl"
	"ibsm/ctl/ctltest"
	"ibsm/opensm/names"
	"ibsm/rights"
)

// fake is a manager with a subnet of nodes and links that a test changes. Lists that it lacks are empty.
type fake struct {
	mu         sync.Mutex
	state      ctl.Status
	nodes      []*ctl.Node
	links      []*ctl.Link
	generation uint64
	standby    bool
	diagnoses  []*ctl.Diagnosis
	security   ctl.Security
	cabling    ctl.Cabling
}

// newFake is a manager of a generated fabric.
func newFake(t testing.TB, spec string) *fake {
	nodes, links := ctltest.Rows(t, spec)
	return &fake{state: ctl.Status{State: "MASTER", Sweep: &ctl.SweepStatus{Up: true, Ended: time.Now()},
		SMs: []ctl.SM{{GUID: "0x1", State: "MASTER"}, {GUID: "0x2", State: "STANDBY", Mirrors: true, NextMaster: true}}},
		nodes: nodes, links: links, generation: 1}
}

// change changes the subnet.
func (f *fake) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	f.generation++
}

func (f *fake) Status() *ctl.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := f.state
	return &st
}

func (f *fake) Subnet() ctl.Subnet {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.standby {
		return nil
	}
	sub := &fakeSubnet{fake: f, generation: f.generation, diagnoses: slices.Clone(f.diagnoses)}
	for _, n := range f.nodes {
		one := *n
		sub.nodes = append(sub.nodes, &one)
	}
	for _, l := range f.links {
		one := *l
		sub.links = append(sub.links, &one)
	}
	return sub
}

func (f *fake) Order(context.Context, ctl.Order) error { return errors.New("not here") }
func (f *fake) SAStats() *ctl.SAStats                  { return &ctl.SAStats{} }
func (f *fake) Activity() *ctl.Activity                { return &ctl.Activity{} }

type fakeSubnet struct {
	*fake
	nodes      []*ctl.Node
	links      []*ctl.Link
	diagnoses  []*ctl.Diagnosis
	generation uint64
}

func (s *fakeSubnet) Rows(l ctl.List, _ ctl.Filter) (iter.Seq[any], error) {
	return func(yield func(any) bool) {
		switch l {
		case ctl.Nodes:
			for _, n := range s.nodes {
				if !yield(n) {
					return
				}
			}
		case ctl.Links:
			for _, l := range s.links {
				if !yield(l) {
					return
				}
			}
		case ctl.Ports:
			for _, l := range s.links {
				for _, e := range []ctl.End{l.From, l.To} {
					if !yield(&ctl.Port{GUID: e.Node, Node: e.Node, Desc: e.Desc, Type: e.Type, Num: e.Port, LID: e.LID,
						State: l.State}) {
						return
					}
				}
			}
		}
	}, nil
}

func (s *fakeSubnet) Path(string, string) (*ctl.Path, error) { return nil, ctl.ErrNotFound }
func (s *fakeSubnet) Why(string, string) (*ctl.Why, error)   { return nil, ctl.ErrNotFound }
func (s *fakeSubnet) Diagnose(string, string) (iter.Seq[*ctl.Diagnosis], error) {
	return slices.Values(s.diagnoses), nil
}
func (s *fakeSubnet) QoS() (*ctl.QoS, error) { return nil, ctl.ErrNotFound }
func (s *fakeSubnet) PathRecord(string, string, *ctl.PathRequest) (*ctl.PathAnswer, error) {
	return nil, ctl.ErrNotFound
}
func (s *fakeSubnet) Quality(context.Context) (*ctl.Quality, error) { return nil, ctl.ErrNotFound }
func (s *fakeSubnet) Security() *ctl.Security                       { return &s.security }
func (s *fakeSubnet) Rails() *ctl.Rails                             { return &ctl.Rails{} }
func (s *fakeSubnet) Cabling() *ctl.Cabling                         { return &s.cabling }
func (s *fakeSubnet) Named(names.Map) ctl.Subnet                    { return s }
func (s *fakeSubnet) Dumps() []string                               { return nil }
func (s *fakeSubnet) Dump(context.Context, io.Writer, string) error { return ctl.ErrNotFound }
func (s *fakeSubnet) Generation() uint64                            { return s.generation }

// serve serves the page of a manager to users with all rights.
func serve(t testing.TB, f *fake) *httptest.Server {
	t.Helper()
	control := ctl.New(ctl.Config{Source: f, More: New(Config{Source: f}).Routes()})
	mux, guard := http.NewServeMux(), ctl.Guard{}
	for _, rt := range control.Routes() {
		mux.HandleFunc(rt.String(), guard.Handler(&rt))
	}
	s := httptest.NewServer(control.Patient(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(rights.With(r.Context(), reader)))
	})))
	t.Cleanup(s.Close)
	return s
}

// get is the reply to a request.
func get(t testing.TB, s *httptest.Server, path string) (status int, text string, h http.Header) {
	t.Helper()
	resp, err := http.Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header
}
