package daemon

import (
	"testing"

	"ibsm/conf"
)

// TestNobodyChoseEngine: without a list of engines, also with the one that OpenSM writes into its files, nobody has
// chosen any; a setting of the balancing of min-hop is a choice.
func TestNobodyChoseEngine(t *testing.T) {
	for _, c := range []struct{ src, args, want string }{
		{"", "", "auto,minhop"},
		{"routing_engine (null)\n", "", "auto,minhop"},
		{"scatter_ports 0\nguid_routing_order_file (null)\nport_shifting FALSE\n", "", "auto,minhop"},
		{"routing_engine minhop\n", "", "minhop"},
		{"routing_engine auto\n", "", "auto,minhop"},
		{"", "-R minhop", "minhop"},
		{"routing_engine (null)\n", "-R updn", "updn,minhop"},
		{"scatter_ports 7\n", "", "minhop"},
		{"port_shifting TRUE\n", "", "minhop"},
	} {
		args := []string{}
		if c.args != "" {
			args = []string{c.args[:2], c.args[3:]}
		}
		l := load(c.src, args...)
		if err := l.Report.Err(conf.Start); err != nil {
			t.Fatal(err)
		}
		got := chain(l.Config, nil)
		if got.String() != c.want || got[0].Unchosen != (c.want == "auto,minhop" && c.src != "routing_engine auto\n") {
			t.Errorf("%q %s: %v, nobody chose it: %t", c.src, c.args, got, got[0].Unchosen)
		}
		if err := checkEngines(l.Config); err != nil {
			t.Error(err)
		}
	}
}
