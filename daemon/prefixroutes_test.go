package daemon

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/conf"
)

func TestReadPrefixRoutes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "prefix-routes.conf")
	if err := os.WriteFile(file, []byte("fe80000000000001 1235\nzz 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file string
		routes     int
		warning    string // "" for none
	}{
		{"a file", file, 1, file + ":2:1"},
		{"no file", filepath.Join(dir, "none"), 0, ""},
		{"a directory", dir, 0, "cannot read"},
	} {
		var log bytes.Buffer
		l := conf.Load([]string{"--prefix_routes_file", c.file}, Environment)
		routes := readRoutes(nil, l, slog.New(slog.NewTextHandler(&log, nil))).routes
		if len(routes) != c.routes || (log.Len() > 0) != (c.warning != "") ||
			!strings.Contains(log.String(), c.warning) {
			t.Errorf("%s: %d routes, %q", c.name, len(routes), log.String())
		}
	}
}
