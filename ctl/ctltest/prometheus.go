package ctltest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Prometheus starts one, of that path, that scrapes target every second until the test ends, and returns when it
// has done so once. ask is the value of the one sample that a query has. rules are files.
func Prometheus(t *testing.T, path, target, feature string, rules ...string) (ask func(query string) string) {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config,
		fmt.Appendf(
			nil, "global: {evaluation_interval: 1s}\nrule_files: [%s]\nscrape_configs:\n- job_name: ibsm\n  scrape_interval: 1s\n  static_configs:\n  - targets: [%q]\n", strings.Join(rules, ", "), target), 0o644); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	var out strings.Builder
	cmd := exec.Command(path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+addr, "--enable-feature="+feature)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if cmd.Wait(); t.Failed() {
			t.Logf("%s", out.String())
		}
	})
	ask = func(query string) string {
		resp, err := http.Get("http://" + addr + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		var reply struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || len(reply.Data.Result) != 1 {
			return fmt.Sprintf("%d results, %v", len(reply.Data.Result), err)
		}
		return fmt.Sprint(reply.Data.Result[0].Value[1])
	}
	for deadline := time.Now().Add(time.Minute); ask("up") != "1"; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("Prometheus has not scraped after a minute; up is %s", ask("up"))
		}
	}
	return ask
}
