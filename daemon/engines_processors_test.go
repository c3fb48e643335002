package daemon

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"ibsm/conf"
	"ibsm/routing"
	"ibsm/routing/routingtest"
	"ibsm/sweep/engines"
)

// TestProcessors: each engine makes the same bytes with 1, 2 and 7 processors, of random fabrics with damage and random
// settings. The number of processors is set when a process starts, so the test starts itself.
func TestProcessors(t *testing.T) {
	if os.Getenv("IBSM_PROCESSORS") != "" {
		for _, name := range engines.Names() {
			fmt.Println(name, digest(t, name))
		}
		return
	}
	said := map[string]string{}
	for _, number := range []string{"1", "2", "7"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestProcessors$")
		cmd.Env = append(os.Environ(), "GOMAXPROCS="+number, "IBSM_PROCESSORS="+number)
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, name := range engines.Names() {
			_, rest, is := strings.Cut("\n"+string(text), "\n"+name+" ")
			if sum, _, _ := strings.Cut(rest, "\n"); !is || said[name] != "" && said[name] != sum {
				t.Errorf("%s: %q with %s processors, %q with others", name, sum, number, said[name])
			} else {
				said[name] = sum
			}
		}
	}
	t.Log(said)
}

// digest is what an engine makes of some fabrics, and how many it routes.
func digest(t *testing.T, name string) string {
	fabrics := 20
	if os.Getenv("IBSM_PROOF") != "" {
		fabrics = 300
	}
	hash, routed := sha256.New(), 0
	encode := json.NewEncoder(hash)
	for number := range uint64(fabrics) {
		f := routingtest.NewDamaged(t, name, number)
		loaded := conf.Load([]string{"-F", f.Conf}, Environment)
		files, _, err := selectedFiles(loaded)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := chain(loaded.Config, files)[0].Route(t.Context(), f.In)
		if err == nil {
			routed++
			var found []any // but for the weights, which are settings
			if f := tables.Findings; f != nil {
				found = []any{f.Roots, f.Computes, f.Tree, f.Lanes, f.Mesh}
			}
			err = encode.Encode(struct {
				*routing.Tables
				Findings []any
				Rules    bool // in place of its functions
			}{tables, found, tables.Rules != nil})
		} else {
			_, err = fmt.Fprintln(hash, err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if routed == 0 {
		t.Errorf("%s routes nothing", name)
	}
	return fmt.Sprintf("%d of %d, %.8x", routed, fabrics, hash.Sum(nil))
}
