package main

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"ibsm/ctl"
)

// TestPlansAtOnce: of operators who ask a manager at once each gets the preview that he asked for.
func TestPlansAtOnce(t *testing.T) {
	socket, _ := startManager(t, "fattree:k=4,levels=2")
	var all sync.WaitGroup
	for range 3 {
		for args, says := range map[string]string{
			"plan":                 `^0 Sets would be sent; nothing was written\nroutes: tree; [^\n]+\n$`,
			"plan --reroute":       `routing engine +tree +tree\n`,
			"plan --engine minhop": `routing engine +tree +minhop\n`, "plan --without leaf-02": `2 hosts are cut off`,
			"plan --engine updn": `\nroutes: updn\n2 pairs of switches without a route by the rules of updn, which neither hosts nor the manager need: connect_roots gives them one\n  from switch 0x\w+ "spine-02" to LID \d+ of "spine-01"\n  from switch`, "routes quality": `FLOWS BETWEEN`,
		} {
			all.Go(func() {
				var out bytes.Buffer
				if status := run(append([]string{"--socket", socket}, strings.Fields(args)...), &out,
					&out); status != 0 || !regexp.MustCompile("(?s)"+says).Match(out.Bytes()) {
					t.Errorf("%s: exit status %d\n%s", args, status, out.String())
				}
			})
		}
	}
	all.Wait()
}

// slowPlan is a plan that does not end.
func slowPlan(ctx context.Context, _ ctl.PlanQuery) (*ctl.Plan, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestTooManyPlans: an operator reads what to do where too many plans are waited for.
func TestTooManyPlans(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := ctl.Listen(socket, "")
	if err != nil {
		t.Fatal(err)
	}
	server := ctl.New(ctl.Config{Plan: slowPlan})
	ctx, cancel := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	tasks.Go(func() { _ = server.Serve(ctx, ctl.Listeners{Control: l}) })
	client := ctl.NewClient(socket)
	for range 18 {
		tasks.Go(func() { _, _ = client.Plan(ctx, nil, nil) })
	}
	for server.Stats().Waiting.Load() < 16 {
		runtime.Gosched()
	}
	var out bytes.Buffer
	status := run([]string{"--socket", socket, "plan"}, &out, &out)
	if want := "ibsmctl: error: 16 plans are already waiting\nhint: try again later, or stop commands that are waiting\n"; status != 1 || out.String() != want {
		t.Errorf("exit status %d\n%s", status, out.String())
	}
}
