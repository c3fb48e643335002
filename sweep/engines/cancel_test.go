package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ibsm/mad"
	"ibsm/routing"
	"ibsm/routing/file"
	"ibsm/routing/minhop"
	"ibsm/routing/nue"
	"ibsm/routing/routingtest"
	"ibsm/routing/torus"
)

// asked is a context that counts how often it is asked whether it is done, and notes how long the process computes from
// one question to the next: an engine that works on one goroutine goes on for no longer after it is done.
type asked struct {
	context.Context
	times int           // questions
	last  int           // before it is done; 0 for none
	limit time.Duration // of computing before it is done; 0 for none

	mu         sync.Mutex
	from       string
	began, was time.Duration
	most       time.Duration
	where      string
}

// computed is how long the processors have worked for the process.
func computed() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (a *asked) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit > 0 {
		now, at := computed(), asker()
		if a.times == 0 {
			a.began, a.was = now, now
		}
		if took := now - a.was; took > a.most {
			a.most, a.where = took, a.from+" to "+at
		}
		a.was, a.from = computed(), at
		if now-a.began > a.limit {
			return context.Canceled
		}
	}
	if a.times++; a.last > 0 && a.times > a.last {
		return context.Canceled
	}
	return nil
}

// asker is the lines of routing engines that ask.
func asker() string {
	var pcs [12]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var lines []string
	for more := true; more && len(lines) < 3; {
		var f runtime.Frame
		f, more = frames.Next()
		if _, name, is := strings.Cut(f.File, "/routing/"); is {
			lines = append(lines, fmt.Sprintf("%s:%d", name, f.Line))
		}
	}
	return strings.Join(lines, " of ")
}

// large is a problem for an engine: a fat tree or torus, whose links have eight VLs.
func large(t *testing.T, name, tree, mesh string) (routing.In, *Settings) {
	s := &Settings{Nue: nue.Settings{QoS: true}}
	spec, isLarge := tree, os.Getenv("IBSM_PROOF") != ""
	switch {
	case name == "torus-2QoS":
		spec = mesh
	case name == "dragonfly" && isLarge:
		spec = "dragonfly:a=12,p=6,h=6"
	case name == "dragonfly":
		spec = "dragonfly"
	case name == "hyperx" && isLarge:
		spec = "hyperx:dims=16x16,hosts=8"
	case name == "hyperx":
		spec = "hyperx:dims=4x5,hosts=2"
	}
	in := routingtest.Problem(t, spec)
	in.Lanes = slices.Repeat([]uint8{8}, len(in.Topo.Ports))
	in.Workers = 1
	switch name {
	case "torus-2QoS":
		s.Torus = torusOf(t, &in)
	case "file":
		tables, err := minhop.Route(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		s.File.LFTs = &file.LFTs{}
		for sw, n := range in.Topo.Switches {
			s.File.LFTs.Switches = append(s.File.LFTs.Switches,
				file.LFT{GUID: in.Topo.Nodes[n].GUID, Port: tables.LFT[sw]})
		}
	}
	return in, s
}

// torusOf is the configuration for a torus of three equal dimensions.
func torusOf(t *testing.T, in *routing.In) *torus.Settings {
	t.Helper()
	radix := 1
	for radix*radix*radix < len(in.Topo.Switches) {
		radix++
	}
	guid := map[string]mad.GUID{}
	for _, n := range in.Topo.Switches {
		guid[strings.ReplaceAll(in.Topo.Nodes[n].Desc.String(), "-0", "-")] = in.Topo.Nodes[n].GUID
	}
	text := fmt.Sprintf("torus %d %d %d\n", radix, radix, radix)
	for dim, axis := range "xyz" {
		at := [3]int{1, 1, 1}
		from := guid[fmt.Sprintf("switch-%d-%d-%d", at[0], at[1], at[2])]
		at[dim]++
		text += fmt.Sprintf("%cp_link %#x %#x\n", axis, uint64(from),
			uint64(guid[fmt.Sprintf("switch-%d-%d-%d", at[0], at[1], at[2])]))
	}
	s, _, errs := torus.Parse("torus", []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return s
}

// TestCancelled: whenever an engine asks whether it is cancelled, it ends with the error of its context.
func TestCancelled(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			in, s := large(t, name, "fattree:k=6", "torus:dims=5x5x5,hosts=1")
			s.Balancing.Seed = 7
			e, _ := Find(name, s)
			all := &asked{Context: t.Context()}
			if _, err := e.Route(all, in); err != nil || all.times == 0 {
				t.Fatalf("asks %d times, %v", all.times, err)
			}
			for n := range 30 { // at each of the first questions, and now and then
				last := n + 1
				if n >= 20 {
					last = max(1, all.times*(n-20)/10)
				}
				if last >= all.times {
					continue
				}
				ctx := &asked{Context: t.Context(), last: last}
				if tables, err := e.Route(ctx, in); tables != nil || !errors.Is(err, context.Canceled) {
					t.Fatalf("after %d of %d questions: %v", ctx.last, all.times, err)
				}
			}
		})
	}
}

// TestCancelledSoon: on a tree of 39,366 hosts, or a torus of 38,416, no engine computes for 50 ms without asking
// whether it must end. The garbage collector, which works beside it, is off.
func TestCancelledSoon(t *testing.T) {
	if os.Getenv("IBSM_PROOF") == "" {
		t.Skip("measures; with IBSM_PROOF=1")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(8 << 30))
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			in, s := large(t, name, "fattree:k=54", "torus:dims=14x14x14,hosts=14")
			e, _ := Find(name, s)
			for range 3 { // a host that is busy takes its time from this measure, but not at the same place each time
				debug.FreeOSMemory() // so that nothing is left to be swept
				ctx := &asked{Context: t.Context(), limit: 2 * time.Minute}
				_, err := e.Route(ctx, in)
				ctx.Err()
				t.Logf("computed for %v, at most %v at a time, from %s; %v", ctx.was-ctx.began, ctx.most, ctx.where,
					err)
				if ctx.most <= 50*time.Millisecond {
					return
				}
			}
			t.Error("computes for more than 50 ms without a question")
		})
	}
}
