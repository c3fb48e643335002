package main

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"
)

// TestChooseSocket: where instances run there is no usual socket; the one that is master
// is meant, if it is one.
func TestChooseSocket(t *testing.T) {
	for name, c := range map[string]struct {
		states map[string]string
		want   string
	}{
		"none":          {nil, "ibsm.sock"},
		"the usual one": {map[string]string{"ibsm.sock": "STANDBY", "1.sock": "MASTER"}, "ibsm.sock"},
		"one":           {map[string]string{"1.sock": "STANDBY"}, "1.sock"},
		"one master": {map[string]string{"1.sock": "STANDBY", "2.sock": "MASTER", "3.sock": "STANDBY"},
			"2.sock"},
		"no master":                  {map[string]string{"1.sock": "STANDBY", "2.sock": "NOT-ACTIVE"}, "ibsm.sock"},
		"masters of several subnets": {map[string]string{"1.sock": "MASTER", "2.sock": "MASTER"}, "ibsm.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, state := range c.states {
				l, err := net.Listen("unix", filepath.Join(dir, file))
				if err != nil {
					t.Fatal(err)
				}
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					fmt.Fprintf(w, `{"state":%q}`, state)
				})}
				go server.Serve(l)
				t.Cleanup(func() { server.Close() })
			}
			if got := chooseSocket(filepath.Join(dir, "ibsm.sock")); filepath.Base(got) != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
		})
	}
}
