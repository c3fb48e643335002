package daemon

import (
	"bytes"
	"io/fs"
	"log/slog"
	"strings"
	"testing"

	"ibsm/conf"
)

// TestWarnOfLanes: whoever comes from an engine that gives paths SLs is warned before this
// manager does anything, also in a dry run.
func TestWarnOfLanes(t *testing.T) {
	for args, warned := range map[string]bool{
		"": false, "-R minhop": false, "-R updn": false, "-R sssp": false, "-R dfsssp": false, "-R lash,minhop": false,
		"-R torus-2QoS,no_fallback,minhop": false, "-R minhop,dfsssp": false, "-R nue --nue_max_num_vls 4": false,
	} {
		l := conf.Load(strings.Fields(args), conf.Environment{
			Getenv:   func(string) string { return "" },
			ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
		})
		var log, stderr bytes.Buffer
		warnOfEngines(l, slog.New(slog.NewTextHandler(&log, nil)), &stderr)
		for _, text := range []string{log.String(), stderr.String()} {
			if strings.Contains(text, "paths do not have the SLs") != warned {
				t.Errorf("%q: %s", args, text)
			}
		}
	}
}
