package ibsim

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"ibsm/mad/fabric"
	"ibsm/mad/fabric/net"
)

// serve offers a fabric by our Server until the test ends.
func serve(t testing.TB, topology string, f fabric.Config, cfg ServerConfig) *simulator {
	t.Helper()
	n, err := net.Parse("test.net", []byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	s := &simulator{Config: Config{Node: "H1"}}
	if cfg.Listen == "" {
		cfg.SockName = fmt.Sprintf("ibsm-test-%d-%d", os.Getpid(), simulators.Add(1))
		s.SockName = cfg.SockName
	} else {
		s.Server, s.Port = "127.0.0.1", remotePort
	}
	cfg.Fabric = fabric.New(n, f)
	if s.server, err = Listen(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Run(ctx) }()
	s.kill = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.kill)
	return s
}
