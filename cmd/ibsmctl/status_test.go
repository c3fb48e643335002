package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"ibsm/ctl"
)

// answersAt is a manager that is a standby, at a socket.
func answersAt(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"state":"STANDBY"}`)
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
}

// TestAwaitSocket: status --wait waits for a named socket, although another manager answers on the host. Without a name
// it waits for any instance, although the usual socket does not exist.
func TestAwaitSocket(t *testing.T) {
	dir := t.TempDir()
	usual, instance, other := filepath.Join(dir, "ibsm.sock"), filepath.Join(dir, "1.sock"),
		filepath.Join(dir, "2.sock")
	asked := 0
	a := &asker{}
	err := a.await(t.Context(), time.Minute, func(context.Context) error {
		if asked++; asked == 3 {
			answersAt(t, instance)
		}
		a.Client = ctl.NewClient(chooseSocket(usual))
		return nil
	})
	if err != nil || a.Address() != instance {
		t.Errorf("none was named: %v at %s", err, a.Address())
	}
	asked, a = 0, &asker{}
	err = a.await(t.Context(), time.Minute, func(context.Context) error {
		if asked++; asked == 3 {
			answersAt(t, other)
		}
		a.Client = ctl.NewClient(socketOf(other))
		return nil
	})
	if err != nil || a.Address() != other || asked != 3 {
		t.Errorf("one was named: %v at %s, asked %d times", err, a.Address(), asked)
	}
}

// TestRoutingText: the status says which routing engines are chosen, which one is used, and why not
// another.
func TestRoutingText(t *testing.T) {
	routed := func(st ctl.Status) ctl.Status {
		st.Subnet = &ctl.SubnetStatus{}
		return st
	}
	for _, c := range []struct {
		st   ctl.Status
		want string
	}{
		{ctl.Status{}, "no engine is configured: auto routes an unused subnet; routes in use are kept"},
		{ctl.Status{Engines: []string{"lash", "updn"}}, "configured: lash,updn"},
		{routed(ctl.Status{Engine: "minhop"}), "minhop"},
		{routed(ctl.Status{Engine: "lash", Engines: []string{"lash"}}), "lash"},
		{routed(ctl.Status{Engine: "updn", Engines: []string{"lash", "updn"},
			Refused: []ctl.EngineRefusal{{Engine: "lash", Reason: "more than 2 lanes are needed"}}}),
			"updn; lash failed: more than 2 lanes are needed; configured: lash,updn"},
		{routed(ctl.Status{Engine: "minhop", Engines: []string{"lash"}, RoutesKept: true, NotOf: "lash"}),
			"kept from another manager, repaired by minhop; lash would compute different routes; configured: lash"},
		{routed(ctl.Status{Engines: []string{"updn", "no_fallback"},
			Refused: []ctl.EngineRefusal{{Engine: "updn", Reason: "no root switch was found"}}}),
			"none: no routes are written; updn failed: no root switch was found; configured: updn,no_fallback"},
	} {
		if got := routingText(&c.st); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
