package partitions

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator writes files for the grammar, most of them right.
type generator struct {
	*rand.Rand
	b    strings.Builder
	wild bool // also what OpenSM misreads
}

func (g *generator) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *generator) write(s string) { g.b.WriteString(s) }

func (g *generator) blanks() {
	if g.chance(30) {
		g.write(g.pick(" ", "  ", "\t"))
	}
}

// generateFile writes a file of a few definitions.
func generateFile(seed uint64, wild bool) string {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 6)), wild: wild}
	for range 1 + g.IntN(5) {
		g.lineEnds()
		g.definition()
	}
	g.lineEnds()
	return g.b.String()
}

func (g *generator) lineEnds() {
	for g.chance(40) {
		g.write(g.pick("\n", "# comment\n", "  # rate=7, sl=3\n", "# one, two; three : four\n", "\t\n"))
	}
}

func (g *generator) number(n int) string {
	return fmt.Sprintf(g.pick("%d", "0x%x", "0x%04X", "0%o"), n)
}

func (g *generator) definition() {
	switch name := g.pick("A", "B", "tenant one", "Default", "", "x_y-z", "ib0.2"); {
	case g.chance(80):
		g.write(name)
		g.blanks()
		g.write("=")
		g.blanks()
		g.write(g.number([]int{0x7fff, 0xffff, 1, 2, 0x10, 0x8010, 0x100, 0x18011, 0, 0x8000}[g.IntN(10)]))
	case g.chance(50):
		g.write(name)
	default:
		g.write(g.number(1 + g.IntN(20)))
	}
	for g.chance(50) {
		g.blanks()
		g.write(",")
		g.blanks()
		g.write(g.flag())
	}
	g.blanks()
	g.write(":")
	g.body()
	switch {
	case g.chance(80):
		g.write("\n")
	case g.wild && g.chance(30):
		g.write(g.pick(";", " ;\n", "\r\n"))
	}
}

func (g *generator) flag() string {
	if g.chance(50) {
		return g.pick("ipoib", "ipoib", "ipo", "i", "indx0", "defmember=full", "defmember=limited", "def=both", "d=f",
			"defmember=nonsense", "unknown=3", "INDX0")
	}
	return g.groupFlag()
}

func (g *generator) groupFlag() string {
	if g.chance(15) {
		return g.pick("mtu", "rate", "sl=16", "sl=x", "scope=0", "scope=16", "FlowLabel=0x100000", "TClass=300",
			"Q_Key=x", "other=2", "mtu=0", "rate=0", "mtu=6", "rate=1", "sl=2x", "rate=", "Q_Key=")
	}
	switch g.IntN(7) {
	case 0:
		return g.pick("mtu", "m", "mt") + "=" + g.number(1+g.IntN(5))
	case 1:
		return g.pick("rate", "r", "rat") + "=" + g.number(2+g.IntN(19))
	case 2:
		return g.pick("scope", "s", "sco") + "=" + g.number(1+g.IntN(15))
	case 3:
		return g.pick("sl") + "=" + g.number(g.IntN(16))
	case 4:
		return g.pick("Q_Key", "Q", "Q_") + "=" + g.number(g.IntN(1<<31))
	case 5:
		return g.pick("TClass", "T") + "=" + g.number(g.IntN(256))
	}
	return g.pick("FlowLabel", "F", "Flow") + "=" + g.number(g.IntN(1<<20))
}

func (g *generator) body() {
	items := g.IntN(7)
	for i := range items {
		g.blanks()
		if g.chance(30) {
			g.group()
			if g.wild && i == items-1 && g.chance(50) {
				break
			}
			g.write(g.pick("\n", "\n", " # comment\n", "   # rate=7, sl=6\n"))
			continue
		}
		g.write(g.member())
		switch {
		case i == items-1:
		case g.chance(60):
			g.write(g.pick(",", ", ", ",,", " ,\n", ", # comment, ALL=full\n"))
		default:
			g.write(g.pick("\n", "  \n\n", " # comment; ALL\n"))
		}
	}
	g.blanks()
	if items > 0 && strings.HasSuffix(strings.TrimRight(g.b.String(), " \t"), "\n") && !g.wild {
		g.write("NONE")
	}
	g.write(";")
}

func (g *generator) member() string {
	who := g.pick("ALL", "A", "ALL_", "ALL_CAS", "ALL_S", "ALL_ROUTERS", "SELF", "S", "NONE", "0x100001", "0x100003",
		"0x100005", "0x100007",
		"0x0000000000100007", "0X300001", "1048579", "0x200000", "0xdead", "04000005")
	return who + g.pick("", "", "=full", "=limited", "=both", "=f", "=l", " = full", "=nonsense", "=")
}

func (g *generator) group() {
	g.write("mgid" + g.pick("=", " = ", "= "))
	g.write(g.pick("ff12:401b::1", "ff12:401b::ffff:ffff", "ff12:601b::1", "ff12:401b:8010::7", "ff12::5", "ff15::5",
		"ff12::6", "ff1e:0:0:1:2:3:4:5",
		"ff12:a01b::3", "ff32::1", "ff02::9", "fe80::1", "nonsense", "ff15:401b::ffff:ffff", "FF12::AbC",
		"ff12::1.2.3.4", "ff12:401b:ffff::4"))
	for flags := g.IntN(4); flags > 0; flags-- {
		g.write(g.pick(",", ", ", " , ") + g.groupFlag())
	}
	if g.chance(60) && !strings.Contains(g.b.String()[strings.LastIndex(g.b.String(), "mgid"):], ",") && !g.wild {
		g.write(",sl=3")
	}
}
