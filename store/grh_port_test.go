package store

import (
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"ibsm/registry"
)

// TestGRHPorts: ports that demand a GRH are kept, in the log and in a snapshot, and in a store that a program
// wrote that did not have them.
func TestGRHPorts(t *testing.T) {
	cfg := testConfig(filepath.Join(t.TempDir(), "store.db"))
	s, c := open(t, cfg)
	r := c.Registry
	s.Put(register(t, r, putGroup(1)), nil)
	flush(t, s)
	_ = s.Close()
	db, err := openBolt(cfg.Path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bbolt.Tx) error { return putMeta(tx, metaSchema, 4) }); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
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
