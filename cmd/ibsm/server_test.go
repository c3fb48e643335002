package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ibsm/api/users"
	"ibsm/ctl"
	"ibsm/rights"
)

// TestServerTakeover: ibsmctl on another host follows the master of two managers, says that it was killed and which one
// has taken over, and asks that one from then on.
func TestServerTakeover(t *testing.T) {
	s := newSuccession(t)
	s.manager.kill()
	conf, people := filepath.Join(s.dir, "opensm.conf"), filepath.Join(s.dir, "users.toml")
	if err := os.WriteFile(conf, []byte("master_sm_priority 14\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	made, token, err := users.NewToken(time.Now(), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	err = users.Change(t.Context(), people, func(set *users.Set) (*users.Set, error) {
		return set.Add(users.Account{User: rights.User{Name: "ops", Role: rights.Operator}, Tokens: []users.Token{made}})
	})
	if err != nil {
		t.Fatal(err)
	}
	var managers [2]*process
	var served [2]ctl.API
	for i := range managers {
		managers[i] = s.manage(i, 3, "-F", conf, "--api_addr", "127.0.0.1:0", "--api_users_file", people)
		if i == 0 {
			managers[0].await("SUBNET UP")
		}
		client := ctl.NewClient(s.sockets[i])
		defer client.Close()
		eventually(t, "the manager serves the API", func() bool {
			return client.Get(t.Context(), "/v1/api", nil, &served[i]) == nil
		})
	}
	managers[1].await("mirroring the client registrations of the master")
	profiles := filepath.Join(s.dir, "profiles.toml")
	text := fmt.Sprintf("[both]\nservers = [%q, %q]\nfingerprint = [%q, %q]\ntoken = %q\n", served[0].URL, served[1].URL,
		served[0].Fingerprint, served[1].Fingerprint, token)
	if err := os.WriteFile(profiles, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) *process {
		t.Helper()
		return start(t, nil, s.dir, []string{"IBSMCTL_PROFILES=" + profiles},
			append([]string{program(t, "ibsmctl"), "--server", "both"}, args...)...)
	}
	ask("status").await("MASTER")
	events, top := ask("events", "--follow"), ask("top", "--batch", "--interval", "500ms")
	events.await("SUBNET UP")
	top.await("MASTER")
	managers[0].kill()
	takeover := fmt.Sprintf("takeover: %s is master now, and %s is not", served[1].URL, served[0].URL)
	events.await(takeover)
	events.await("SUBNET UP")
	top.await(takeover)
	top.await("MASTER")
	ask("partitions", "put", "red", "host-03").await("red created")
}
