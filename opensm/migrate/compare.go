package migrate

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ibsm/mad"
	"ibsm/registry"
)

// Registrations are what hosts have registered, by a text that names each. Values are what must stay beside that: the
// MLID of a group. Members that only send are left out, and so are groups that only they have made: they come and go,
// as hosts send and have sent.
type Registrations map[string]string

// AddGroup, AddMember and AddService add one, by the texts that both managers have for it.
func (r Registrations) AddGroup(mgid string, mlid mad.LID) {
	r.add("group "+mgid, fmt.Sprintf("MLID 0x%04x", uint16(mlid)))
}
func (r Registrations) AddMember(mgid, port string) { r["member "+port+" of group "+mgid] = "" }
func (r Registrations) AddService(id, gid string)   { r["service "+id+" of "+gid] = "" }

// Add adds those of another manager.
func (r Registrations) Add(others Registrations) {
	for name, value := range others {
		r.add(name, value)
	}
}

// add adds one. A group of two subnets has an MLID in each.
func (r Registrations) add(name, value string) {
	was, is := r[name]
	values := strings.Split(was, ", ")
	switch {
	case !is:
		r[name] = value
	case !slices.Contains(values, value):
		values = append(values, value)
		slices.Sort(values)
		r[name] = strings.Join(values, ", ")
	}
}

// Of are the registrations of a file.
func Of(reg *registry.Registry) Registrations {
	r := Registrations{}
	for g := range reg.Groups() {
		stays := g.WellKnown
		for m := range reg.Members(g.MGID) {
			if m.JoinState.Receives() {
				r.AddMember(m.MGID.String(), m.Port.String())
				stays = true
			}
		}
		if stays {
			r.AddGroup(g.MGID.String(), g.MLID)
		}
	}
	for v := range reg.Services() {
		r.AddService(fmt.Sprintf("0x%016x", v.ID), v.GID.String())
	}
	return r
}

// Count is how many of the registrations begin with a word.
func (r Registrations) Count(word string) (n int) {
	for name := range r {
		if strings.HasPrefix(name, word+" ") {
			n++
		}
	}
	return n
}

// String has the counts.
func (r Registrations) String() string {
	count := func(word string) string { return several(r.Count(word), word) }
	return fmt.Sprintf("%s, %s, %s", count("group"), count("member"), count("service"))
}

func several(n int, name string) string {
	if n == 1 {
		return "1 " + name
	}
	return fmt.Sprintf("%d %ss", n, name)
}

// Lost are the differences that matter: what is not in after, or has another value there.
func (r Registrations) Lost(after Registrations) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		now, is := after[name]
		switch {
		case !is:
			list = append(list, name+" is missing")
		case now != r[name]:
			list = append(list, fmt.Sprintf("%s has %s instead of %s", name, now, r[name]))
		}
	}
	return list
}

// LIDs are the LIDs of ports by GUID.
type LIDs map[string]mad.LID

// Moved are the ports whose LID differs in after. Ports that are not there are passed over.
func (l LIDs) Moved(after LIDs) (list []string) {
	for _, port := range slices.Sorted(maps.Keys(l)) {
		if now := after[port]; now != 0 && now != l[port] {
			list = append(list, fmt.Sprintf("port %s has LID %d instead of %d", port, now, l[port]))
		}
	}
	return list
}

// subnetEnd is an end of a cable in opensm-subnet.lst.
var subnetEnd = regexp.MustCompile(`PortGUID:([0-9A-Fa-f]{16}) [^}]*\{[^}]*\} LID:([0-9A-Fa-f]{4}) `)

// ParseSubnet reads the LIDs of opensm-subnet.lst, which OpenSM writes in each heavy sweep.
func ParseSubnet(text []byte) LIDs {
	l := LIDs{}
	for _, m := range subnetEnd.FindAllSubmatch(text, -1) {
		lid, err := strconv.ParseUint(string(m[2]), 16, 16)
		if err == nil && lid != 0 {
			l["0x"+strings.ToLower(string(m[1]))] = mad.LID(lid)
		}
	}
	return l
}

// ParseMembers reads the members that saquery -m prints, but for those that only send. whole is false for an answer
// that was cut off, as on ibsim: then it ends in records of zeroes.
func ParseMembers(text string) (r Registrations, whole bool) {
	r, whole = Registrations{}, true
	var mgid, port mad.GID
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ".")
		value = strings.TrimLeft(value, ".")
		switch name {
		case "MGID":
			mgid = gidOf(value)
			whole = whole && mgid != mad.GID{}
		case "PortGid":
			port = gidOf(value)
		case "ScopeState": // of the member: the scope and, in the low half, the JoinState
			state, err := strconv.ParseUint(value, 0, 8)
			if err == nil && mgid != (mad.GID{}) && registry.JoinState(state&15).Receives() {
				r.AddMember(mgid.String(), port.String())
			}
		}
	}
	return r, whole
}

// gidOf is zero for what is no GID.
func gidOf(text string) mad.GID {
	address, err := netip.ParseAddr(text)
	if err != nil || !address.Is6() {
		return mad.GID{}
	}
	return address.As16()
}

// Members are those of the registrations that are members of groups.
func (r Registrations) Members() Registrations {
	members := Registrations{}
	for name, value := range r {
		if strings.HasPrefix(name, "member ") {
			members[name] = value
		}
	}
	return members
}
