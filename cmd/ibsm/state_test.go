package main_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"ibsm/mad"
	"ibsm/store"
)

// home is where managers that run one after the other, each on a fabric that may have
// lost its power since, keep what they know.
type home struct {
	t             *testing.T
	net           string
	state, caches string
}

func newHome(t *testing.T) *home {
	return &home{t: t, net: generated("fattree:k=4").file(t), state: filepath.Join(t.TempDir(), "state"),
		caches: filepath.Join(t.TempDir(), "caches")}
}

// start starts a manager on a simulator, which it waits to come up, and returns the end
// of the line that says so.
func (h *home) start(s *simulator, argv ...string) (p *process, up string) {
	h.t.Helper()
	env := append(s.env(s.net.managerHost()), "OSM_CACHE_DIR="+h.caches, "OSM_TMP_DIR="+s.dir, "IBSM_SOCKET=none")
	p = start(h.t, nil, s.dir, env, argv...)
	p.await("SUBNET UP")
	return p, p.await("\n")
}

func (h *home) ibsm(s *simulator) (*process, string) {
	h.t.Helper()
	return h.start(s, program(h.t, "ibsm"), "--ibsim", "-f", "stdout", "-s", "0", "--state_dir", h.state)
}

func (h *home) opensm(s *simulator, options ...string) (*process, string) {
	h.t.Helper()
	conf := s.path("opensm.conf")
	if err := os.WriteFile(conf, []byte("force_log_flush TRUE\n"), 0o666); err != nil {
		h.t.Fatal(err)
	}
	return h.start(s, append([]string{"ibsim-run", "opensm", "-F", conf, "-f", "stdout", "-s", "0"}, options...)...)
}

// lids is the fabric with its LIDs as ibnetdiscover sees it.
func (s *simulator) lids() string {
	s.t.Helper()
	text, err := s.topology()
	if err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// stored is what the one store of the home holds at this moment, as a restart would
// find it.
func (h *home) stored() *store.Contents {
	h.t.Helper()
	paths, _ := filepath.Glob(filepath.Join(h.state, "*", "state.db"))
	if len(paths) != 1 {
		return store.NewContents()
	}
	image, err := os.ReadFile(paths[0])
	if err != nil {
		h.t.Fatal(err)
	}
	guid, err := mad.ParseGUID(filepath.Base(filepath.Dir(paths[0])))
	copied := filepath.Join(h.t.TempDir(), "copy.db")
	if err != nil || os.WriteFile(copied, image, 0o600) != nil {
		h.t.Fatal("cannot copy the store:", err)
	}
	st, c, err := store.Open(store.Config{Path: copied, Prefix: mad.DefaultPrefix, Port: guid})
	if err != nil {
		h.t.Fatal(err)
	}
	_ = st.Close()
	return c
}

// eventually waits for something that makes no noise.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience())
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not within %v: %s", patience(), what)
		}
	}
}

func (h *home) cache(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.caches, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

var lidRecord = regexp.MustCompile(`0x([0-9a-f]{4}) 0x[0-9a-f]{4}\n`)

// raised is a guid2lid in which all LIDs are higher by 0x100.
func raised(guid2lid string) string {
	return lidRecord.ReplaceAllStringFunc(guid2lid, func(record string) string {
		lid, _ := strconv.ParseUint(record[2:6], 16, 16)
		return fmt.Sprintf("0x%04x 0x%04x\n", lid+0x100, lid+0x100)
	})
}

// TestLIDsLast: LIDs come from OpenSM's file, from the store, from either in whose time
// the other was not there; and a manager that is killed and started again writes
// nothing at all.
func TestLIDsLast(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := startIbsim(t, h.net)
	p, _ := h.ibsm(s)
	p.stop()
	fresh := s.lids()
	want := raised(h.cache("guid2lid"))
	if err := os.WriteFile(filepath.Join(h.caches, "guid2lid"), []byte(want), 0o666); err != nil {
		t.Fatal(err)
	}

	s = startIbsim(t, h.net)
	p, _ = h.ibsm(s)
	moved := s.lids()
	if moved == fresh {
		t.Error("the file that somebody has changed since has no effect")
	}
	eventually(t, "the mastership term is in the store", func() bool {
		c := h.stored()
		return len(c.Terms) == 2 && len(c.LIDs) > 0 && c.LIDs[0].Base > 0x100 &&
			strings.Contains(string(c.Configuration), "interval = ")
	})
	p.kill()
	p, up := h.ibsm(s)
	if !strings.Contains(up, "sets=none") || s.lids() != moved {
		t.Errorf("started again after kill -9: %s", up)
	}
	p.kill()

	if err := os.RemoveAll(h.caches); err != nil {
		t.Fatal(err)
	}
	s = startIbsim(t, h.net)
	p, _ = h.ibsm(s)
	p.stop()
	if s.lids() != moved {
		t.Error("a fabric that lost its power has other LIDs than those in the store")
	}
	if got := h.cache("guid2lid"); got != want {
		t.Errorf("guid2lid becomes\n%s, was\n%s", got, want)
	}

	s = startIbsim(t, h.net)
	p, _ = h.opensm(s)
	p.stop()
	if s.lids() != moved {
		t.Error("OpenSM takes over with other LIDs")
	}
	s = startIbsim(t, h.net)
	p, _ = h.opensm(s, "-r")
	p.stop()
	anew := s.lids()
	if anew == moved {
		t.Error("opensm -r gives the same LIDs")
	}
	s = startIbsim(t, h.net)
	p, _ = h.ibsm(s)
	p.stop()
	if s.lids() != anew {
		t.Error("LIDs that OpenSM gave meanwhile are not those of the next start")
	}
}

// embedded runs a manager on a fabric of its own, once.
func (h *home) embedded(options ...string) result {
	h.t.Helper()
	argv := []string{program(h.t, "ibsm"), "--fabric", h.net, "-o", "-f", "stdout", "--state_dir", h.state}
	return run(h.t, h.t.TempDir(), []string{"OSM_CACHE_DIR=" + h.caches}, append(argv, options...)...)
}

// path is the store, which there must be.
func (h *home) path() string {
	h.t.Helper()
	paths, _ := filepath.Glob(filepath.Join(h.state, "*", "state.db"))
	if len(paths) != 1 {
		h.t.Fatalf("stores: %v", paths)
	}
	return paths[0]
}

// storeOfPort1 puts the store of another port at path.
func storeOfPort1(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	s, _, err := store.Open(store.Config{Path: path, Prefix: mad.DefaultPrefix, Port: 1})
	if err != nil {
		return err
	}
	return s.Close()
}

// anotherSchema makes a store one of the next schema.
func anotherSchema(path string) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Update(func(tx *bbolt.Tx) error {
		key, value := []byte("schema"), binary.BigEndian.AppendUint64(nil, store.Schema+1)
		sum := crc32.Checksum(append([]byte("schema"), value...), crc32.MakeTable(crc32.Castagnoli))
		return tx.Bucket([]byte("meta")).Put(key, append(binary.BigEndian.AppendUint32(nil, sum), value...))
	})
}

// TestStoreRefused: a store that is not this manager's ends the start with what to do,
// and stays as it is.
func TestStoreRefused(t *testing.T) {
	t.Parallel()
	write := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	for _, c := range []struct {
		name    string
		make    func(path string) error
		options []string
		says    []string
	}{
		{"another port", storeOfPort1, nil,
			[]string{"state store belongs to another port", "0x0000000000000001", "move the file away"}},
		{"another schema", anotherSchema, nil,
			[]string{"written by another version of ibsm", "run the version that wrote it"}},
		{"a text", write("# LIDs\n"), nil, []string{"not a state store of ibsm", "move it away"}},
		{"a folder", func(path string) error {
			_ = os.Remove(path)
			return os.Mkdir(path, 0o700)
		}, nil, []string{"not a state store of ibsm"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			if r := h.embedded(); r.status != 0 {
				t.Fatalf("status %d: %s%s", r.status, r.stdout, r.stderr)
			}
			if c.make != nil {
				if err := c.make(h.path()); err != nil {
					t.Fatal(err)
				}
			}
			before, _ := os.ReadFile(h.path())
			lids := h.cache("guid2lid")
			r := h.embedded(c.options...)
			if r.status != 1 || strings.Contains(r.stdout, "SUBNET UP") {
				t.Errorf("status %d: %s", r.status, tail(r.stdout))
			}
			// A dry run is refused, too, and by the same words.
			if dry := h.embedded("--dry-run"); dry.status != 1 || !strings.Contains(dry.stderr, c.says[0]) {
				t.Errorf("dry run: status %d, %s", dry.status, dry.stderr)
			}
			for _, text := range append(c.says, h.path()) {
				if !strings.Contains(r.stderr, text) || !strings.Contains(r.stdout, text) {
					t.Errorf("%q is not said in\n%s or in the log\n%s", text, r.stderr, tail(r.stdout))
				}
			}
			if after, _ := os.ReadFile(h.path()); !bytes.Equal(before, after) || h.cache("guid2lid") != lids {
				t.Error("a file has changed")
			}
		})
	}
}

// TestStoreInUse: a second manager for the same port ends, naming the first.
func TestStoreInUse(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first := start(t, nil, t.TempDir(), []string{"OSM_CACHE_DIR=" + h.caches}, program(t, "ibsm"), "--fabric", h.net,
		"-f", "stdout", "--state_dir", h.state)
	first.await("SUBNET UP")
	r := h.embedded()
	who := fmt.Sprintf("process %d (ibsm)", first.cmd.Process.Pid)
	if r.status != 1 || !strings.Contains(r.stderr, "in use by another process, "+who) {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	first.kill()
	if r := h.embedded(); r.status != 0 {
		t.Errorf("after the first was killed: status %d: %s", r.status, r.stderr)
	}
}

// TestStoreDamaged: a damaged store is set aside and the manager starts; so it does
// without a guid2lid that is damaged, unless that is all there is.
func TestStoreDamaged(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.embedded()
	path := h.path()
	lids := raised(h.cache("guid2lid"))
	spoil := func(name string, change func([]byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, change(b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	guid2lid := filepath.Join(h.caches, "guid2lid")
	spoil(guid2lid, func([]byte) []byte { return []byte(lids) })
	spoil(path, func(b []byte) []byte { return b[:len(b)/2] })
	r := h.embedded()
	aside, _ := filepath.Glob(path + ".damaged-*")
	if r.status != 0 || len(aside) != 1 || !strings.Contains(r.stdout, "store is damaged") ||
		!strings.Contains(r.stdout, aside[0]) {
		t.Errorf("status %d, set aside %v:\n%s", r.status, aside, tail(r.stdout))
	}
	if h.cache("guid2lid") != lids {
		t.Error("LIDs are not those of guid2lid")
	}

	garbage := func([]byte) []byte { return []byte(" 0x1\n") }
	spoil(guid2lid, garbage)
	if r = h.embedded(); r.status != 0 || h.cache("guid2lid") != lids {
		t.Errorf("with a damaged guid2lid: status %d, LIDs\n%s", r.status, h.cache("guid2lid"))
	}
	spoil(guid2lid, garbage)
	if err := os.RemoveAll(h.state); err != nil {
		t.Fatal(err)
	}
	if r = h.embedded(); r.status != 1 || !strings.Contains(r.stderr, "guid2lid:1:1") ||
		!strings.Contains(r.stderr, "--stay_on_fatal") {
		t.Errorf("with nothing but a damaged guid2lid: status %d: %s", r.status, r.stderr)
	}
	if r = h.embedded("--stay_on_fatal"); r.status != 0 {
		t.Errorf("which should be skipped: status %d: %s", r.status, r.stderr)
	}
}

// TestForeignCaches: a guid2lid of another subnet, as managers leave there that share a
// folder, moves no LID.
func TestForeignCaches(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.embedded()
	lids := h.cache("guid2lid")
	foreign := "0x0000000000000001 0x0001 0x0001\n\n0x0000000000000002 0x0002 0x0030\n\n"
	if err := os.WriteFile(filepath.Join(h.caches, "guid2lid"), []byte(foreign), 0o666); err != nil {
		t.Fatal(err)
	}
	r := h.embedded()
	if r.status != 0 || h.cache("guid2lid") != lids ||
		!strings.Contains(r.stdout, "guid2lid belongs to another subnet") {
		t.Errorf("status %d, LIDs\n%s\n%s", r.status, h.cache("guid2lid"), tail(r.stdout))
	}
}
