package ibsim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/mad/txn"
	"ibsm/mad/txn/txntest"
	"ibsm/sim/fabric"
)

// remotePort is a control port that little else uses, for ibsim's -r.
const remotePort = 27070

// modes runs a test with ibsim and with our Server, over the local sockets and over
// UDP.
func modes(t *testing.T, test func(t *testing.T, s *simulator)) {
	t.Run("local", func(t *testing.T) { test(t, startSimulator(t, smallNet)) })
	t.Run("remote", func(t *testing.T) {
		s := startSimulator(t, smallNet, "-r", "-l", fmt.Sprint(remotePort))
		s.Server, s.Port = "localhost", remotePort
		test(t, s)
	})
	t.Run("Server local", func(t *testing.T) { test(t, serve(t, smallNet, fabric.Config{}, ServerConfig{})) })
	t.Run("Server remote", func(t *testing.T) {
		test(t, serve(t, smallNet, fabric.Config{}, ServerConfig{Listen: fmt.Sprint("127.0.0.1:", remotePort)}))
	})
}

func TestWalk(t *testing.T) {
	modes(t, func(t *testing.T, s *simulator) {
		p, e := dial(t, s.Config)
		// NodeInfo (IBA 14.2.5.3): type at 2, ports at 3, node GUID at 12, port
		// number at 36.
		for _, tt := range []struct {
			route       []uint8
			kind, ports uint8
			arrivesAt   uint8
		}{
			{nil, 1, 1, 1},
			{[]uint8{1}, 2, 8, 1},
			{[]uint8{1, 2}, 1, 1, 1},
			{[]uint8{1, 3}, 2, 8, 1},
			{[]uint8{1, 3, 2}, 1, 1, 1},
			{[]uint8{1, 3, 1}, 2, 8, 3},
		} {
			outcomes, err := txntest.Do(t.Context(), e, txn.Config{}, []txn.Request{nodeInfo(tt.route...)})
			if err != nil {
				t.Fatal(err)
			}
			o := outcomes[0]
			if o.Result != txn.Replied || o.Status != mad.StatusOK || o.Data[2] != tt.kind || o.Data[3] != tt.ports ||
				o.Data[36] != tt.arrivesAt {
				t.Errorf("route %v: %+v", tt.route, o)
			}
			if guid := mad.GUID(binary.BigEndian.Uint64(o.Data[12:])); (guid == p.NodeGUID()) != (len(tt.route) == 0) {
				t.Errorf("route %v: node GUID %v, our own %v", tt.route, guid, p.NodeGUID())
			}
		}
		outcomes, err := txntest.Do(t.Context(), e, txn.Config{}, []txn.Request{nodeInfo(1, 7)})
		if err != nil || outcomes[0].Result != txn.TimedOut || outcomes[0].Attempts != 4 {
			t.Errorf("route to nowhere: %+v %v", outcomes[0], err)
		}
		if p.Node() != "H1" || p.Malformed() != 0 {
			t.Errorf("node %q, %d malformed", p.Node(), p.Malformed())
		}
	})
}

func Test100000Requests(t *testing.T) {
	modes(t, func(t *testing.T, s *simulator) {
		_, e := dial(t, s.Config)
		requests := make([]txn.Request, 100_000)
		for i := range requests {
			requests[i] = nodeInfo(1, 3, 2)
		}
		// The local sockets lose nothing; UDP does when the simulator is slower than
		// the window grows.
		cfg := txn.Config{Retries: 20, MinWindow: 16, PerDevice: txn.DefaultMaxWindow}
		if s.Server == "" {
			cfg.Timeout = time.Minute
		}
		outcomes, err := txntest.Do(t.Context(), e, cfg, requests)
		if err != nil {
			t.Fatal(err)
		}
		retries := 0
		for i, o := range outcomes {
			if o.Result != txn.Replied || o.Data != outcomes[0].Data {
				t.Fatalf("outcome %d: %+v", i, o)
			}
			retries += o.Attempts - 1
		}
		if s.Server == "" && retries != 0 || e.Dropped() != 0 {
			t.Errorf("%d retries, %d dropped", retries, e.Dropped())
		}
	})
}

// Two clients: a request that the simulator does not answer itself, SMInfo, goes
// to the client that has set IsSM, and its reply comes back.
func TestSMInfoBetweenClients(t *testing.T) {
	modes(t, func(t *testing.T, s *simulator) {
		other := s.Config
		other.Node = "H3"
		sm, smEngine := dial(t, other)
		if err := sm.SetIsSM(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		_, asker := dial(t, s.Config)
		go func() {
			<-smEngine.Ready()
			ds, err := smEngine.Receive(nil)
			if err != nil || len(ds) == 0 {
				return
			}
			d := ds[0]
			d.Packet.SetMethod(mad.MethodGetResp)
			d.Packet.SetReturning()
			d.Packet.Data()[63] = 77
			smEngine.Send([]mad.Datagram{d})
		}()
		ask := nodeInfo(1, 3, 2)
		ask.Attr = 0x20
		outcomes, err := txntest.Do(t.Context(), asker, txn.Config{Timeout: 5 * time.Second, Retries: -1},
			[]txn.Request{ask})
		if err != nil || outcomes[0].Result != txn.Replied || outcomes[0].Data[63] != 77 {
			t.Errorf("%+v %v", outcomes, err)
		}
	})
}

func TestLinkAndIsSM(t *testing.T) {
	s := startSimulator(t, smallNet)
	p, e := dial(t, s.Config)
	// PortInfo (IBA 14.2.5.6): LID at 16, CapabilityMask at 20, IsSM its bit 1.
	portInfo := txn.Request{Method: mad.MethodGet, Attr: 0x15, Mod: 1}
	ask := func() txn.Outcome {
		o, err := txntest.Do(t.Context(), e, txn.Config{}, []txn.Request{portInfo})
		if err != nil || o[0].Result != txn.Replied {
			t.Fatal(o, err)
		}
		return o[0]
	}
	for _, is := range []bool{true, false} {
		if err := p.SetIsSM(t.Context(), is); err != nil {
			t.Fatal(err)
		}
		if mask := ask().Data[23]; (mask&2 != 0) != is {
			t.Errorf("IsSM %v: CapabilityMask ends in %#x", is, mask)
		}
	}
	if lid, state, err := p.Link(t.Context()); lid != 0 || state != 2 || err != nil {
		t.Errorf("LID %v, state %d, %v: want no LID, Initialize", lid, state, err)
	}
	set := portInfo
	set.Method, set.Data = mad.MethodSet, ask().Data
	binary.BigEndian.PutUint16(set.Data[16:], 0x1234)
	set.Data[32], set.Data[33] = 0, set.Data[33]&^0xf0 // no change of state
	if o, err := txntest.Do(t.Context(), e, txn.Config{}, []txn.Request{set}); err != nil ||
		o[0].Status != mad.StatusOK {
		t.Fatal(o, err)
	}
	if lid, _, err := p.Link(t.Context()); lid != 0x1234 || err != nil {
		t.Errorf("LID %v, %v: want 0x1234", lid, err)
	}
}

func TestDialFails(t *testing.T) {
	s := startSimulator(t, smallNet)
	nowhere := s.Config
	nowhere.Node = "H9"
	idle := launchSimulator(t, smallNet).Config
	idle.Timeout = 50 * time.Millisecond
	for _, tt := range []struct {
		name    string
		cfg     Config
		want    string
		refused bool // the error is ECONNREFUSED
	}{
		{"no simulator", Config{SockName: "ibsm-none"},
			"ibsim: no simulator at @ibsm-none:ctl: connection refused; start ibsim or set IBSIM_SOCKNAME", true},
		{"no server", Config{Server: "127.0.0.1", Port: 27099},
			"ibsim: no simulator at 127.0.0.1:27099: connection refused; start ibsim or set IBSIM_SERVER_NAME", true},
		{"network not started", idle, "no answer within 50ms: i/o timeout; start its network", false},
		{"no node", nowhere, `client refused: it has no node "H9"`, false},
		{"long name", Config{SockName: strings.Repeat("x", 100)}, "at most", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Dial(t.Context(), tt.cfg)
			if err == nil {
				p.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v\nwant %s", err, tt.want)
			}
			if errors.Is(err, syscall.ECONNREFUSED) != tt.refused {
				t.Errorf("%v: is connection refused %v, want %v", err, !tt.refused, tt.refused)
			}
		})
	}
}

// maxClients is how many ibsim serves.
const maxClients = 10

// Slots are given back: far more clients than the simulator serves at a time.
func TestCloseFreesTheSlot(t *testing.T) {
	s := startSimulator(t, smallNet)
	for range 3 * maxClients {
		p, err := Dial(t.Context(), s.Config)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		p.Close()
	}
	var open []*Port
	for range maxClients {
		p, err := Dial(t.Context(), s.Config)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, p)
	}
	if _, err := Dial(t.Context(), s.Config); err == nil || !strings.Contains(err.Error(), "no room for another") {
		t.Errorf("client %d: %v", maxClients+1, err)
	}
	for _, p := range open {
		p.Close()
	}
}

// A question on the control socket waits for the one before no longer than its caller does.
func TestQuestionsInTurn(t *testing.T) {
	modes(t, func(t *testing.T, s *simulator) {
		p, _ := dial(t, s.Config)
		p.control.turn <- struct{}{} // as another question does
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.SetIsSM(ctx, true); !errors.Is(err, context.Canceled) {
			t.Errorf("behind another question: %v", err)
		}
		<-p.control.turn
		if err := p.SetIsSM(t.Context(), true); err != nil {
			t.Error(err)
		}
	})
}

func TestServerDies(t *testing.T) {
	modes(t, func(t *testing.T, s *simulator) {
		p, e := dial(t, s.Config)
		requests := make([]txn.Request, 1_000_000)
		for i := range requests {
			requests[i] = nodeInfo(1, 3, 2)
		}
		go s.kill()
		_, err := txntest.Do(t.Context(), e,
			txn.Config{MinWindow: txn.DefaultMaxWindow, PerDevice: txn.DefaultMaxWindow}, requests)
		if !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "is gone") {
			t.Errorf("%v: want that the simulator is gone", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := p.SetIsSM(ctx, true); err == nil {
			t.Error("the dead simulator sets IsSM")
		}
	})
}

func BenchmarkNodeInfo(b *testing.B) {
	for _, window := range []int{1, 4, 16, 512} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			_, e := dial(b, startSimulator(b, smallNet).Config)
			requests := make([]txn.Request, 20_000)
			for i := range requests {
				requests[i] = nodeInfo(1, 3, 2)
			}
			for b.Loop() {
				if _, err := txntest.Do(b.Context(), e,
					txn.Config{MinWindow: window, MaxWindow: window, PerDevice: window}, requests); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(requests)*b.N)/b.Elapsed().Seconds(), "SMP/s")
		})
	}
}
