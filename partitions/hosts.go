package partitions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/topo"
)

// Members that OpenSM does not know: a range of GUIDs, hosts by their names, and port groups. Which ports they are
// follows from the subnet at each sweep. A name is the first word of an adapter's NodeDescription, as its host claims
// it.

// PortGroups are the groups of ports that a file may name.
type PortGroups struct {
	// Check says why a group cannot be a member, nil if it can. claims says whether it may go by descriptions of nodes.
	Check func(name string, claims bool) error
	// Members are the end ports of a group in a subnet.
	Members func(t *topo.Topo, name string) []topo.PortIdx
}

// groupMark begins the name of a port group.
const groupMark = "@"

// extended parses a member that OpenSM does not know; ok is false for other words.
func extended(text string) (m Member, ok bool) {
	if name, is := strings.CutPrefix(text, groupMark); is {
		return Member{Who: OfGroup, Name: name}, name != "" && strings.Trim(name, blank) == name
	}
	if first, last, is := strings.Cut(text, "-"); is && strings.HasPrefix(text, "0") {
		a, junk, wide := number(strings.TrimRight(first, blank))
		b, alsoJunk, alsoWide := number(strings.TrimLeft(last, blank))
		ok := !junk && !wide && !alsoJunk && !alsoWide && a > 0 && a <= b &&
			strings.HasPrefix(strings.TrimLeft(last, blank), "0x")
		return Member{Who: InRange, Port: mad.GUID(a), Last: mad.GUID(b)}, ok
	}
	if !isHostPattern(text) {
		return m, false
	}
	return Member{Who: Hosts, Name: text}, true
}

// isHostPattern reports whether a word may be the name of a host, or a pattern for names. Words that resemble those of
// the file and long rows of hexadecimal digits are no names: they are typing errors.
func isHostPattern(text string) bool {
	if text == "" || len(text) > mad.DataSize || digit(text[0]) < 10 || strings.IndexByte("-.", text[0]) >= 0 {
		return false
	}
	glob := isGlob(text)
	if p, err := parseGlob(text); err != nil || len(p) == 0 {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			strings.IndexByte("-._", c) >= 0 || glob && strings.IndexByte("*?[]", c) >= 0) {
			return false
		}
	}
	const shortestGUID = 8
	return glob || portMeant(text) == "" || hexMeant(text) != "" && len(text) < shortestGUID
}

// isGlob reports whether a word is a pattern rather than a name.
func isGlob(text string) bool { return strings.ContainsAny(text, "*?[") }

// piece is a part of a pattern: bytes as they are, one of any kind, any number of bytes, or a number.
type piece struct {
	text      string // "*", "?", or bytes; "" for a number
	low, high uint64
	width     int // of the number, 0 for one without leading zeros
}

// parseGlob parses a pattern: * is any text, ? one character, [001-100] a number of three digits, [1-100] one without
// zeros before it, [7] just that.
func parseGlob(text string) (pieces []piece, err error) {
	for len(text) > 0 {
		switch c := text[0]; c {
		case '*', '?':
			if c != '*' || len(pieces) == 0 || pieces[len(pieces)-1].text != "*" {
				pieces = append(pieces, piece{text: text[:1]})
			}
			text = text[1:]
		case ']':
			return nil, fmt.Errorf("a ] has no [")
		case '[':
			end := strings.IndexByte(text, ']')
			if end < 0 {
				return nil, fmt.Errorf("a [ has no ]")
			}
			n, ok := parseNumbers(text[1:end])
			if !ok {
				return nil, fmt.Errorf("%s is not a range of numbers such as [001-100]", text[:end+1])
			}
			pieces, text = append(pieces, n), text[end+1:]
		default:
			end := until(text, "*?[]")
			pieces, text = append(pieces, piece{text: text[:end]}), text[end:]
		}
	}
	return pieces, nil
}

// Pattern is a name, or a pattern for names as partitions.conf has them for hosts. The zero Pattern matches "" alone.
type Pattern struct{ pieces []piece }

// ParsePattern parses a pattern: * is any text, ? one character, [001-100] a number of three digits, [1-100] one
// without zeros before it. The error says what is wrong with it.
func ParsePattern(text string) (Pattern, error) {
	if text == "" || len(text) > mad.DataSize {
		return Pattern{}, fmt.Errorf("it has %d characters instead of 1 to %d", len(text), mad.DataSize)
	}
	pieces, err := parseGlob(text)
	return Pattern{pieces}, err
}

// Matches reports whether the pattern means a name. Its time is bounded by the lengths of both.
func (p Pattern) Matches(name string) bool { return matches(p.pieces, name) }

// mostDigits bounds numbers in patterns.
const mostDigits = 15

func parseNumbers(text string) (p piece, ok bool) {
	first, last, is := strings.Cut(text, "-")
	if !is {
		last = first
	}
	for _, end := range []struct {
		text string
		to   *uint64
	}{{first, &p.low}, {last, &p.high}} {
		if end.text == "" || len(end.text) > mostDigits || strings.Trim(end.text, "0123456789") != "" {
			return p, false
		}
		for i := range len(end.text) {
			*end.to = *end.to*10 + digit(end.text[i])
		}
	}
	if len(first) > 1 && first[0] == '0' {
		p.width = len(first)
	}
	return p, p.low <= p.high && (p.width == 0 || len(first) == len(last))
}

// offsets are offsets in the name of a host, up to its length.
type offsets [mad.DataSize + 1]bool

// matches reports whether a name is one that a pattern means. The time is bounded by the lengths of both.
func matches(pieces []piece, name string) bool {
	if len(name) > mad.DataSize || len(pieces) > 0 && pieces[0].isText() && !strings.HasPrefix(name, pieces[0].text) {
		return false
	}
	at := offsets{true} // up to which the pieces so far match
	for i := range pieces {
		p, next := &pieces[i], offsets{}
		for from := range len(name) + 1 {
			if at[from] {
				p.match(name, from, &next)
				if p.text == "*" { // what follows is among its ends
					break
				}
			}
		}
		at = next
	}
	return at[len(name)]
}

func (p *piece) isText() bool { return p.text != "" && p.text != "*" && p.text != "?" }

// match notes where the piece ends that begins at an offset.
func (p *piece) match(name string, from int, ends *offsets) {
	switch {
	case p.text == "*":
		for to := from; to <= len(name); to++ {
			ends[to] = true
		}
	case p.text == "?":
		if from < len(name) {
			ends[from+1] = true
		}
	case p.text != "":
		if strings.HasPrefix(name[from:], p.text) {
			ends[from+len(p.text)] = true
		}
	default:
		p.number(name, from, ends)
	}
}

// number notes where a number of the piece ends that begins at an offset.
func (p *piece) number(name string, from int, ends *offsets) {
	n := uint64(0)
	for to := from; to < len(name) && digit(name[to]) < 10 && to-from < mostDigits; to++ {
		n = n*10 + digit(name[to])
		width := to + 1 - from
		plain := p.width == 0 && (width == 1 || name[from] != '0')
		if (plain || width == p.width) && n >= p.low && n <= p.high {
			ends[to+1] = true
		}
	}
}

// HostPort is an end port of an adapter, for a HostIndex.
type HostPort[P any] struct {
	Node mad.GUID
	Desc string // of the node
	Port P
}

// HostIndex finds ports by the names of their hosts.
type HostIndex[P any] struct {
	hosts   []string // in order
	ports   map[string][]P
	claimed map[string]string // by host: a NodeDescription that two nodes have
}

// NewHostIndex is the index of the end ports of adapters.
func NewHostIndex[P any](ports []HostPort[P]) *HostIndex[P] {
	x := &HostIndex[P]{ports: map[string][]P{}, claimed: map[string]string{}}
	nodes := map[string]mad.GUID{} // by description
	for _, p := range ports {
		host, _, _ := strings.Cut(strings.TrimSpace(p.Desc), " ")
		if host == "" {
			continue
		}
		desc := strings.TrimSpace(p.Desc)
		if other, known := nodes[desc]; known && other != p.Node {
			x.claimed[host] = desc
		}
		nodes[desc] = p.Node
		x.ports[host] = append(x.ports[host], p.Port)
	}
	x.hosts = slices.Sorted(maps.Keys(x.ports))
	return x
}

// Find are the ports of the hosts that a name or a pattern means, and the hosts among them that are left out, as two
// nodes have one NodeDescription: which of them is the host cannot be known.
func (x *HostIndex[P]) Find(pattern string) (ports []P, claimed []string) {
	if !isGlob(pattern) {
		if x.claimed[pattern] != "" {
			return nil, []string{pattern}
		}
		return x.ports[pattern], nil
	}
	pieces, err := parseGlob(pattern)
	if err != nil {
		return nil, nil // Parse has refused it
	}
	prefix := ""
	if len(pieces) > 0 && pieces[0].isText() {
		prefix = pieces[0].text
	}
	first, _ := slices.BinarySearch(x.hosts, prefix)
	for _, host := range x.hosts[first:] {
		switch {
		case !strings.HasPrefix(host, prefix):
			return ports, claimed
		case !matches(pieces, host):
		case x.claimed[host] != "":
			claimed = append(claimed, host)
		default:
			ports = append(ports, x.ports[host]...)
		}
	}
	return ports, claimed
}

// HostsOf is the index of a subnet.
func HostsOf(t *topo.Topo) *HostIndex[topo.PortIdx] {
	var ports []HostPort[topo.PortIdx]
	for _, p := range t.EndPorts {
		if node := &t.Nodes[t.Ports[p].Node]; node.Type == mad.CA {
			ports = append(ports, HostPort[topo.PortIdx]{node.GUID, node.Desc.String(), p})
		}
	}
	return NewHostIndex(ports)
}

// lookUp are the end ports of a Member that OpenSM does not know, and the hosts that it leaves out.
func (c *compiler) lookUp(m *Member) (ports []topo.PortIdx, claimed []string) {
	switch s := &c.scratch; m.Who {
	case Hosts:
		return c.hosts().Find(m.Name)
	case OfGroup:
		ports, known := s.groups[m.Name]
		if !known && c.Policy.groups != nil {
			ports = c.Policy.groups.Members(c.t, m.Name)
			if s.groups == nil {
				s.groups = map[string][]topo.PortIdx{}
			}
			s.groups[m.Name] = ports
		}
		return ports, nil
	case InRange:
		return inRange(c.t, m.Port, m.Last), nil
	}
	return nil, nil
}

// hosts is the index of the subnet.
func (c *compiler) hosts() *HostIndex[topo.PortIdx] {
	if c.scratch.hosts == nil {
		c.scratch.hosts = HostsOf(c.t)
	}
	return c.scratch.hosts
}

// maxClaims bounds the claims that are kept.
const maxClaims = 200

// claim notes the hosts that a Member of a partition leaves out.
func (c *compiler) claim(part *Partition, m *Member) {
	if m.Who != Hosts || len(c.Claims) >= maxClaims {
		return
	}
	if len(c.hosts().claimed) == 0 {
		return
	}
	_, claimed := c.hosts().Find(m.Name)
	for _, host := range claimed {
		c.Claims = append(c.Claims, Claim{host, c.hosts().claimed[host], part.Name, m.Position})
	}
}

// inRange are the end ports with GUIDs of a range.
func inRange(t *topo.Topo, first, last mad.GUID) []topo.PortIdx {
	from, _ := slices.BinarySearchFunc(t.EndPorts, first, func(p topo.PortIdx, guid mad.GUID) int {
		return cmp.Compare(t.Ports[p].GUID, guid)
	})
	ports := t.EndPorts[from:]
	past := slices.IndexFunc(ports, func(p topo.PortIdx) bool { return t.Ports[p].GUID > last })
	if past < 0 {
		return ports
	}
	return ports[:past]
}

// Claim is a host that is no member by its name, because two nodes have its NodeDescription.
type Claim struct {
	Host, Desc, Partition string
	Position              diag.Position // of the member
}

// String is the claim for a message.
func (c Claim) String() string {
	return fmt.Sprintf(
		"two nodes have the NodeDescription %q: host %s is no member of partition %s by its name; write its port GUIDs, or correct the description", c.Desc, shown(c.Host), shown(c.Partition))
}

// ByNames reports whether members go by names of hosts, so that a new NodeDescription can change tables.
func (p *Policy) ByNames() bool {
	return p != nil && slices.ContainsFunc(p.Partitions, func(part Partition) bool {
		return slices.ContainsFunc(part.Members, func(m Member) bool { return m.Who == Hosts || m.Who == OfGroup })
	})
}

// IsPattern reports whether a member is none that OpenSM knows and no plain name of a host: a range, a pattern, a
// group.
func (m *Member) IsPattern() bool {
	return m.Who == InRange || m.Who == OfGroup || m.Who == Hosts && isGlob(m.Name)
}

// Names reports whether a partition of the file has an item for a member.
func (f *File) Names(partition string, m Member) bool {
	found, _, err := f.find(partition)
	return err == nil && len(mentions(found, m)) > 0
}

// Export is the text of the file for OpenSM: in place of members that OpenSM does not know it has the ports that find
// returns for them, in their order, or NONE. Everything else stays.
func (f *File) Export(find func(m Member) ([]mad.GUID, error)) ([]byte, error) {
	var patches []patch
	for i := range f.Definitions {
		for j := range f.Definitions[i].Items {
			item := &f.Definitions[i].Items[j]
			m, is := extended(item.Name.Text)
			if item.IsGroup() || strings.HasPrefix(noneWord, item.Name.Text) || !is || isSet(item.Name.Text) {
				continue
			}
			ports, err := find(m)
			if err != nil {
				return nil, fmt.Errorf("%v: %s: %w", f.at(item.Name), shown(item.Name.Text), err)
			}
			membership := f.Src[item.Name.end():item.end()]
			texts := []string{noneWord}
			if len(ports) > 0 {
				texts = texts[:0]
			}
			for _, p := range ports {
				texts = append(texts, p.String()+membership)
			}
			separator := ",\n" + indent
			patches = append(patches, patch{item.Name.Start, item.end(), strings.Join(texts, separator)})
		}
	}
	exported, err := f.apply(patches)
	if err != nil {
		return nil, err
	}
	return []byte(exported.Src), nil
}

// isSet reports whether a word is the beginning of that of a set of ports.
func isSet(text string) bool {
	return slices.ContainsFunc(whoNames, func(w struct {
		name string
		who  Who
	}) bool {
		return strings.HasPrefix(w.name, text)
	})
}
