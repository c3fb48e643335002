// Package partitionstest makes partition files and the settings about them for tests.
package partitionstest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"ibsm/mad"
)

// Case is a partition file with the settings that decide what comes of it.
type Case struct {
	File    string
	Both    bool   // allow_both_pkeys
	Keep    bool   // keep_pkey_indexes
	Enforce string // part_enforce
}

// Random is a Case about some ports. Its file has one meaning for OpenSM and for ibsm.
func Random(rng *rand.Rand, ports []mad.GUID) Case {
	return Case{
		File: File(rng, ports), Both: rng.IntN(2) == 0, Keep: rng.IntN(3) > 0,
		Enforce: pick(rng, "both", "both", "both", "in", "out", "off"),
	}
}

// Conf is the Case as lines of opensm.conf.
func (c *Case) Conf() string {
	return fmt.Sprintf("allow_both_pkeys %s\nkeep_pkey_indexes %s\npart_enforce %s\n", truth(c.Both), truth(c.Keep),
		c.Enforce)
}

func truth(is bool) string { return strings.ToUpper(fmt.Sprint(is)) }

// File is a file of one to five definitions.
func File(rng *rand.Rand, ports []mad.GUID) string {
	var b strings.Builder
	for range 1 + rng.IntN(5) {
		b.WriteString(pick(rng, "Default=0x7fff", "Default=0x7fff", "blue=0x1", "mpi=0x20", "high=0x100", "red=0x2"))
		b.WriteString(pick(rng, "", "", ", ipoib") + pick(rng, "", "", ", indx0"))
		b.WriteString(pick(rng, "", ", defmember=full", ", defmember=limited", ", defmember=both") + " :")
		for i := range 1 + rng.IntN(4) {
			if i > 0 {
				b.WriteString(",")
			}
			who := pick(rng, "ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF", "")
			if who == "" || rng.IntN(2) == 0 {
				who = ports[rng.IntN(len(ports))].String()
			}
			b.WriteString(" " + who + pick(rng, "", "=full", "=limited", "=both"))
		}
		b.WriteString(" ;\n")
	}
	return b.String()
}

func pick(rng *rand.Rand, words ...string) string { return words[rng.IntN(len(words))] }
