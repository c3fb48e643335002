package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ibsm/conf"
	"ibsm/mad"
	"ibsm/store"
	"ibsm/sweep/lids"
)

// cacheFile is a guid2lid with a LID for each port from 1 on, 0 for none, that was written so
// long ago.
type cacheFile struct {
	ago  time.Duration
	lids []mad.LID
}

func (f *cacheFile) write(t *testing.T, dir string) {
	t.Helper()
	if f == nil {
		return
	}
	var text strings.Builder
	for i, lid := range f.lids {
		if lid != 0 {
			fmt.Fprintf(&text, "%v 0x%04x 0x%04x\n\n", mad.GUID(i+1), uint16(lid), uint16(lid))
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "guid2lid")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f.age(t, path)
}

func (f *cacheFile) age(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-f.ago)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// putStore makes the store of port 1 with these LIDs.
func (f *cacheFile) putStore(t *testing.T, dir string) {
	t.Helper()
	if f == nil {
		return
	}
	path := filepath.Join(dir, mad.GUID(1).String(), storeFile)
	st, _, err := store.Open(store.Config{Path: path, Prefix: mad.DefaultPrefix, Port: 1})
	if err != nil {
		t.Fatal(err)
	}
	var b store.Batch
	for i, lid := range f.lids {
		if lid != 0 {
			b.LIDs = append(b.LIDs, store.LID{Port: mad.GUID(i + 1), Base: lid})
		}
	}
	st.Put(b, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := st.Run(ctx); err != nil { // writes what is there
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	f.age(t, path)
}

// TestCacheSources: of the store, OpenSM's own guid2lid and that of the port, what was written
// last takes precedence, and what the others say of other ports is kept: an absent host keeps its
// LID when a host gets a second manager, or has one again, and when OpenSM has been master. The
// only manager writes OpenSM's own, one of several its port's.
func TestCacheSources(t *testing.T) {
	at := func(ago time.Duration, lids ...mad.LID) *cacheFile { return &cacheFile{ago * time.Hour, lids} }
	for _, c := range []struct {
		name                string
		store, opensm, port *cacheFile
		want                []mad.LID // of ports 1 and on
	}{
		{"nothing", nil, nil, nil, nil},
		{"from OpenSM", nil, at(1, 1, 2), nil, []mad.LID{1, 2}},
		{"OpenSM has been master since", at(2, 1, 0, 3), at(1, 1, 2, 4), nil, []mad.LID{1, 2, 4}},
		{"OpenSM's is older", at(1, 1, 0, 3), at(2, 1, 2, 4), nil, []mad.LID{1, 2, 3}},
		// Before, an instance wrote its port's file and never read OpenSM's.
		{"upgrade: the port's is newer than OpenSM's", nil, at(2, 1, 5, 4), at(1, 1, 0, 3, 5), []mad.LID{1, 0, 3, 5}},
		{"upgrade, with the store", at(1, 1, 0, 3, 5), at(3, 1, 5, 4), at(2, 1, 0, 3, 5), []mad.LID{1, 0, 3, 5}},
		{"OpenSM's is newer than the port's", nil, at(1, 1, 5, 4), at(2, 1, 0, 3, 6), []mad.LID{1, 5, 4, 6}},
		{"another subnet's, with the store", at(2, 1, 2), at(1, 0, 0, 1, 2), nil, []mad.LID{1, 2}},
		{"the port's of another subnet, with the store", at(2, 1, 2), nil, at(1, 0, 0, 1, 2), []mad.LID{1, 2}},
	} {
		for _, several := range []string{"", "1"} {
			t.Run(c.name+several, func(t *testing.T) {
				dir, stores := t.TempDir(), t.TempDir()
				t.Setenv("OSM_CACHE_DIR", dir)
				t.Setenv(severalMark, several)
				own := filepath.Join(dir, mad.GUID(1).String())
				c.store.putStore(t, stores)
				c.opensm.write(t, dir)
				c.port.write(t, own)
				s := newState(
					conf.Load([]string{"--state_dir=" + stores},
						conf.Environment{Getenv: os.Getenv, ReadFile: os.ReadFile}), slog.New(slog.DiscardHandler),
					func(string, error) {})
				if err := s.open(1); err != nil {
					t.Fatal(err)
				}
				var got []mad.LID
				for _, l := range s.storedLIDs() {
					got = append(got, make([]mad.LID, int(l.Port)-len(got))...)
					got[l.Port-1] = l.Base
				}
				s.cache.PutLIDs(ranges([]lids.Assignment{{Port: 99, Base: 99}}))
				s.close()
				if !slices.Equal(got, c.want) {
					t.Errorf("LIDs %v, want %v", got, c.want)
				}
				folder := dir
				if several != "" {
					folder = own
				}
				if text, err := os.ReadFile(filepath.Join(folder, "guid2lid")); err != nil ||
					!strings.Contains(string(text), mad.GUID(99).String()) {
					t.Errorf("%s: %v, %s", folder, err, text)
				}
			})
		}
	}
}
