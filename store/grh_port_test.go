package store

import (
	"path/filepath"
	"testing"

	"ibsm/registry"
)

// TestGRHPorts: ports that demand a GRH are kept, in the log and in a snapshot.
func TestGRHPorts(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	s, c := open(t, cfg)
	r := c.Registry
	s.Put(register(t, r, putGroup(1)), nil)
	flush(t, s)
	_ = s.Close()
	for _, b := range []func() Batch{
		func() Batch { return Batch{} },
		func() Batch { return register(t, r, registry.PutGRHPort{Port: 5}, registry.PutGRHPort{Port: 6}) },
		func() Batch { return register(t, r, registry.DeleteGRHPort{Port: 5}) },
		func() Batch { return Batch{Registry: r.Freeze()} }, // a snapshot
	} {
		s, c := open(t, cfg)
		same(t, c, &Contents{Registry: r})
		s.Put(b(), nil)
		flush(t, s)
		_ = s.Close()
	}
	_, c = open(t, cfg)
	same(t, c, &Contents{Registry: r})
	if n := c.Registry.Counts(); n.GRHPorts != 1 || n.Groups != 1 {
		t.Errorf("%+v", n)
	}
}
