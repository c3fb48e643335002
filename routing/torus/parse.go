package torus

import (
	"slices"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
)

// Bounds of a file.
const (
	MaxFile   = 4 << 20 // bytes; longer ones are refused
	maxErrors = 100
	maxSeeds  = 10_000
)

// see ends errors about seeds, as in OpenSM's log.
const see = "! See torus-2QoS.conf(5)"

// Parse reads torus-2QoS.conf. It takes every file that OpenSM takes, except where a number has
// other characters after it, or a seed contradicts itself; OpenSM does not look at these. Settings
// are nil with errors.
func Parse(file string, text []byte) (s *Settings, warnings, errors diag.List) {
	p := &parser{s: &Settings{PortGroupMax: defaultPortGroupMax, MaxChanges: defaultMaxChanges},
		at: diag.Position{File: file}}
	if len(text) > MaxFile {
		p.errors.Add(p.at, "the file is longer than %d bytes", MaxFile)
		return nil, nil, p.errors
	}
	for line := range strings.Lines(string(text)) {
		p.at.Line++
		p.line, p.at.Col = strings.TrimRight(line, " \t\r\n"), 0
		if len(p.errors) >= maxErrors {
			p.errors.Add(p.at, "too many errors: the rest of the file is not checked")
			return nil, p.warnings, p.errors
		}
		p.statement()
	}
	if len(p.errors) == 0 {
		p.finish()
	}
	if len(p.errors) > 0 {
		return nil, p.warnings, p.errors
	}
	return p.s, p.warnings, nil
}

// parser reads a file line by line.
type parser struct {
	s                *Settings
	line             string        // that is read
	at               diag.Position // of the last word
	size             diag.Position // of torus or mesh
	seeds            []diag.Position
	links            [][directions]diag.Position // by seed
	warnings, errors diag.List
}

// word is the next word of the line; ok is false at its end.
func (p *parser) word() (text string, ok bool) {
	from := max(p.at.Col-1, 0)
	for from < len(p.line) && !isBlank(p.line[from]) && p.at.Col > 0 {
		from++ // over the last word
	}
	for from < len(p.line) && isBlank(p.line[from]) {
		from++
	}
	p.at.Col = from + 1
	end := from
	for end < len(p.line) && !isBlank(p.line[end]) {
		end++
	}
	return p.line[from:end], end > from
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (p *parser) fail(format string, args ...any) { p.errors.Add(p.at, format, args...) }

// statement reads a line. What follows its last value is ignored.
func (p *parser) statement() {
	word, ok := p.word()
	if !ok || word[0] == '#' {
		return
	}
	switch word {
	case "torus", "mesh":
		p.topology(word == "mesh")
	case "next_seed":
		p.addSeed()
	case "port_order":
		p.portOrder()
	case "portgroup_max_ports":
		p.number(&p.s.PortGroupMax)
	case "max_changes":
		p.number(&p.s.MaxChanges)
	default:
		dim := strings.IndexByte(axes, word[0])
		switch {
		case dim >= 0 && word[1:] == "m_link":
			p.link(2 * dim)
		case dim >= 0 && word[1:] == "p_link":
			p.link(2*dim + 1)
		case dim >= 0 && word[1:] == "_dateline":
			p.dateline(dim)
		default:
			p.fail("no keyword found: expected torus, mesh, xp_link, xm_link, yp_link, ym_link, zp_link, zm_link, x_dateline, y_dateline, z_dateline, next_seed, portgroup_max_ports, port_order or max_changes")
		}
	}
}

// topology reads what follows torus or mesh.
func (p *parser) topology(mesh bool) {
	if p.size.Line > 0 {
		p.fail("the topology is already given on line %d", p.size.Line)
		return
	}
	p.size = p.at
	for dim := range p.s.Radix {
		word, ok := p.word()
		digits, open := word, mesh
		if ok {
			switch word[len(word)-1] {
			case 't', 'T':
				digits, open = word[:len(word)-1], false
			case 'm', 'M':
				digits, open = word[:len(word)-1], true
			}
		}
		n, err := strconv.ParseUint(digits, 0, 32)
		if err != nil || n == 0 {
			p.fail("missing required torus size specification! Expected the radix of %c, at least 1, with t or m after it for a ring or an open row", axes[dim])
			return
		}
		// a ring of two is a row with twice the links
		p.s.Radix[dim], p.s.Mesh[dim] = int(min(n, 1<<16)), open || n == 2
	}
	if product := p.s.Radix[0] * p.s.Radix[1] * p.s.Radix[2]; product > int(mad.MaxUnicastLID) {
		p.at = p.size
		p.fail("%d switches need more LIDs than a subnet has (%d)", product, mad.MaxUnicastLID)
	}
}

// number reads a number that is not negative.
func (p *parser) number(to *int) {
	word, _ := p.word()
	n, err := strconv.ParseUint(word, 0, 31)
	if err != nil {
		p.fail("expected a number")
		return
	}
	*to = int(n)
}

// portOrder reads a list of ports. OpenSM ignores repeated ones.
func (p *parser) portOrder() {
	p.s.PortOrder = nil
	for {
		word, ok := p.word()
		if !ok || word[0] == '#' {
			break
		}
		n, err := strconv.ParseUint(word, 0, 8)
		switch {
		case err != nil || n > maxPort:
			p.fail("expected the number of a port, 0 to %d", maxPort)
			return
		case slices.Contains(p.s.PortOrder, uint8(n)):
			p.warnings.Add(p.at, "Ignored duplicate port %d in port_order parsing", n)
		default:
			p.s.PortOrder = append(p.s.PortOrder, uint8(n))
		}
	}
}

// seed is the seed that lines are about.
func (p *parser) seed() *Seed {
	if len(p.s.Seeds) == 0 {
		p.addSeed()
	}
	return &p.s.Seeds[len(p.s.Seeds)-1]
}

func (p *parser) addSeed() {
	if len(p.s.Seeds) == maxSeeds {
		p.fail("more than %d seeds", maxSeeds)
		return
	}
	p.s.Seeds = append(p.s.Seeds, Seed{})
	p.seeds, p.links = append(p.seeds, p.at), append(p.links, [directions]diag.Position{})
}

// link reads the switches of a link; of two for one direction the last applies, as with OpenSM.
func (p *parser) link(direction int) {
	seed, at := p.seed(), p.at
	var guids [2]mad.GUID
	for i := range guids {
		word, _ := p.word()
		n, err := strconv.ParseUint(word, 0, 64)
		if err != nil {
			p.fail("expected the GUIDs of two switches (0x and hexadecimal digits)")
			return
		}
		guids[i] = mad.GUID(n)
	}
	seed.Links[direction] = &SeedLink{From: guids[0], To: guids[1]}
	p.links[len(p.links)-1][direction] = at
}

// dateline reads a position, which must be less than the radix in both directions.
func (p *parser) dateline(dim int) {
	seed := p.seed()
	word, _ := p.word()
	n, err := strconv.ParseInt(word, 0, 32)
	switch most := p.s.Radix[dim]; {
	case err != nil:
		p.fail("expected a position, a number")
	case most == 0:
		p.fail("dateline before the topology: expected torus or mesh on a line before it")
	case n <= -int64(most) || n >= int64(most):
		p.fail("dateline value for coordinate direction %d must be %d < dl < %d", dim+1, -most, most)
	default:
		seed.Dateline[dim] = int(n)
	}
}

// finish checks what can be known without a subnet.
func (p *parser) finish() {
	if p.size.Line == 0 {
		p.errors.Add(diag.Position{File: p.at.File, Line: max(p.at.Line, 1), Col: 1},
			"missing required torus size specification! Expected torus or mesh, and three radices")
		return
	}
	if p.s.Radix == [3]int{1, 1, 1} {
		p.errors.Add(p.size, "a torus of one switch has no links: expected a radix above 1")
		return
	}
	if len(p.s.Seeds) == 0 {
		p.s.Seeds, p.seeds, p.links = []Seed{{}}, []diag.Position{p.size}, make([][directions]diag.Position, 1)
		defer func() { p.s.Seeds = nil }()
	}
	for n := range p.s.Seeds {
		p.checkSeed(n)
	}
}

// checkSeed makes sure that a seed has the links that it needs, from one switch.
func (p *parser) checkSeed(n int) {
	seed := &p.s.Seeds[n]
	first := -1 // direction
	for dim, radix := range p.s.Radix {
		negative, positive := seed.Links[2*dim], seed.Links[2*dim+1]
		switch {
		case p.s.needsBoth(dim) && positive == nil:
			p.errors.Add(p.seeds[n],
				"Positive %c direction link required for topology seed configuration since radix == 4"+see, axes[dim])
		case p.s.needsBoth(dim) && negative == nil:
			p.errors.Add(p.seeds[n],
				"Negative %c direction link required for topology seed configuration since radix == 4"+see, axes[dim])
		case radix > 1 && positive == nil && negative == nil:
			p.errors.Add(p.seeds[n], "Positive or negative %c direction link required for topology seed configuration"+
				see, axes[dim])
		}
		for direction := 2 * dim; direction < 2*dim+2; direction++ {
			switch l := seed.Links[direction]; {
			case l == nil:
			case first < 0:
				first = direction
			case l.From != seed.Links[first].From && first/2 == dim:
				p.errors.Add(p.links[n][direction],
					"Positive/negative %c direction links for topology seed do not share a common switch"+see,
					axes[dim])
			case l.From != seed.Links[first].From:
				p.errors.Add(p.links[n][direction],
					"%c and %c direction links for topology seed do not share a common switch"+see, axes[first/2],
					axes[dim])
			}
		}
	}
}

func sortedOnce(guids []mad.GUID) []mad.GUID {
	slices.Sort(guids)
	return slices.Compact(guids)
}
