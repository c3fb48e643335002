package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ibsm/conf"
	"ibsm/mad"
)

// withAlias is an SA database in which a port has as many alias GUIDs.
func withAlias(port mad.GUID, aliases int) string {
	text := fmt.Sprintf("GUIDInfo Record: base_guid=%v lid=0x1 block_num=0x0 guid0=%v", port, port)
	for i := range 7 {
		guid := mad.GUID(0)
		if i < aliases {
			guid = port + 0x100*mad.GUID(i+1)
		}
		text += fmt.Sprintf(" guid%d=%v", i+1, guid)
	}
	return text + "\n"
}

// TestReadSADB: of the files that there can be, the one that was written last is read, if it is of
// this subnet and the store is older. It is found where OpenSM has it, and where this manager had
// it while there were more managers on the host, or fewer. Where several managers have one file, a
// warning says what is needed before OpenSM comes back.
func TestReadSADB(t *testing.T) {
	type file struct {
		ago     time.Duration
		port    mad.GUID
		aliases int
	}
	const own, other = "opensm.0x0000000000000001/opensm-sa.dump", "opensm-sa.dump"
	stored := func(ago time.Duration) time.Time { return time.Now().Add(-ago) }
	for _, c := range []struct {
		name    string
		files   map[string]file
		stored  time.Time
		several bool
		aliases int // that are restored, -1 for nothing
		whole   bool
		says    string
	}{
		{"no file", nil, time.Time{}, false, -1, false, "Can't open sa db file"},
		{"OpenSM's", map[string]file{other: {1, 1, 1}}, time.Time{}, false, 1, true, "restored"},
		{"an older store", map[string]file{other: {1, 1, 1}}, stored(2 * time.Hour), false, 1, true, "restored"},
		{"a newer store", map[string]file{other: {2, 1, 1}}, stored(time.Hour), false, -1, true,
			"older than the store"},
		{"one of another subnet", map[string]file{other: {1, 9, 1}}, time.Time{}, false, -1, false,
			"to another subnet"},
		{"from a time with several managers", map[string]file{other: {2, 1, 1}, own: {1, 1, 2}}, time.Time{}, false, 2,
			true, ""},
		{"several managers: the own one is newer", map[string]file{other: {2, 1, 1}, own: {1, 1, 2}}, time.Time{}, true,
			2, true, "no_clients_rereg FALSE"},
		{"several managers: OpenSM's is newer", map[string]file{other: {1, 1, 1}, own: {2, 1, 2}}, time.Time{}, true, 1,
			true, ""},
		{"several managers: it is of the other", map[string]file{other: {1, 9, 1}, own: {2, 1, 2}}, time.Time{}, true,
			2, true, "to another subnet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, f := range c.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(withAlias(f.port, f.aliases)), 0o600); err != nil {
					t.Fatal(err)
				}
				(&cacheFile{ago: f.ago * time.Hour}).age(t, path)
			}
			text := "sa_db_file " + filepath.Join(dir, other) + "\ndump_files_dir " + dir + "\nno_clients_rereg TRUE\n"
			t.Setenv(severalMark, "")
			if c.several {
				t.Setenv(severalMark, "0x1,0x2")
				text += "dump_files_dir " + filepath.Join(dir, filepath.Dir(own)) + "\n"
			}
			env := conf.Environment{Getenv: os.Getenv, ReadFile: func(string) ([]byte, error) {
				return []byte(text), nil
			}}
			var log bytes.Buffer
			s := newState(conf.Load([]string{"--config=x"}, env), slog.New(slog.NewTextHandler(&log, nil)),
				func(string, error) {})
			s.port = 1
			s.warnSADB()
			if warned := strings.Contains(log.String(), "no_clients_rereg"); warned != c.several {
				t.Errorf("warned: %t", warned)
			}
			reg, whole := s.restoreRegistrations(c.stored, func(port mad.GUID) bool { return port == 1 })
			got := -1
			if reg != nil {
				got = reg.Counts().Aliases
			}
			if got != c.aliases || whole != c.whole || !strings.Contains(log.String(), c.says) {
				t.Errorf("%d aliases, whole %t, want %d and %t; log %s", got, whole, c.aliases, c.whole, &log)
			}
		})
	}
}
