// Package rights is which user may do what: roles, and what a tenant may name. It decides from values alone. Package
// api/users reads them from a file.
package rights

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ibsm/mad"
)

// Right is what a request needs.
type Right uint8

// Rights, by what a user can do with them.
const (
	// Anyone is for requests that need no user.
	Anyone Right = iota
	// ReadOwn is for replies about partitions and their members: a tenant gets its own alone.
	ReadOwn
	// ChangeOwn is for changes of partitions: a tenant may change its own.
	ChangeOwn
	// Read is for replies about the whole subnet.
	Read
	// Operate is for changes of the subnet.
	Operate
	// Administer is for changes of what protects the subnet, and of users.
	Administer
)

// rightNames are the words of the documents.
var rightNames = [...]string{"anyone", "read own", "change own", "read", "operate", "administer"}

// String is the right in words.
func (r Right) String() string {
	if int(r) < len(rightNames) {
		return rightNames[r]
	}
	return fmt.Sprintf("right %d", r)
}

// Role is a set of rights.
type Role uint8

// Roles. The zero Role has the right Anyone alone.
const (
	Reader   Role = iota + 1 // reads everything
	Tenant                   // reads and changes partitions of its Scope
	Operator                 // reads everything, changes partitions and the subnet
	Admin                    // may do everything
)

var roleNames = [...]string{Reader: "reader", Tenant: "tenant", Operator: "operator", Admin: "admin"}

// Roles are all roles.
func Roles() []Role { return []Role{Reader, Tenant, Operator, Admin} }

// String is the role as in the file of users.
func (r Role) String() string {
	if r > 0 && int(r) < len(roleNames) {
		return roleNames[r]
	}
	return "none"
}

// ParseRole parses the name of a role.
func ParseRole(name string) (Role, error) {
	if i := slices.Index(roleNames[:], name); i > 0 {
		return Role(i), nil
	}
	return 0, fmt.Errorf("there is no role %q: expected %s", name, strings.Join(roleNames[Reader:], ", "))
}

// rightsOf are the rights of each role besides Anyone.
var rightsOf = [...][]Right{
	Reader:   {ReadOwn, Read},
	Tenant:   {ReadOwn, ChangeOwn},
	Operator: {ReadOwn, ChangeOwn, Read, Operate},
	Admin:    {ReadOwn, ChangeOwn, Read, Operate, Administer},
}

// May reports whether a role has a right.
func (r Role) May(right Right) bool {
	return right == Anyone || int(r) < len(rightsOf) && slices.Contains(rightsOf[r], right)
}

// User is a user whose credential was checked. It is immutable. nil is one without rights.
type User struct {
	Name  string
	Role  Role
	Scope Scope // of a Tenant; of no meaning for others
	// Until is the end of the token that the credential is; zero for other credentials.
	Until time.Time
}

// May reports whether the user has a right.
func (u *User) May(right Right) bool {
	if u == nil {
		return right == Anyone
	}
	return u.Role.May(right)
}

// Partition reports whether a partition is the user's: every one, unless the user is a tenant. key is 0 for a partition
// of which only the name is known.
func (u *User) Partition(name string, key mad.PKey) bool {
	switch {
	case !u.May(ReadOwn):
		return false
	case u.Role == Tenant:
		return u.Scope.partition(name, key.Base())
	}
	return true
}

// Member reports whether the user may name a port by its GUID, or a host by its name: the other one is zero.
func (u *User) Member(port mad.GUID, host string) bool {
	switch {
	case !u.May(ReadOwn):
		return false
	case u.Role == Tenant:
		return host != "" && matchesAny(u.Scope.Hosts, host) || port != 0 && u.Scope.GUIDs.has(port)
	}
	return true
}

// Scope is what a tenant may name. The zero Scope is nothing.
type Scope struct {
	// Names are patterns of names of partitions, in which * stands for any characters, and Keys ranges of P_Keys. Where
	// both are given, a partition has to match both.
	Names []string
	Keys  Ranges[mad.PKey]
	// Hosts are patterns of names of hosts, and GUIDs ranges of port GUIDs, which the tenant may make members. A host
	// chooses its name, and a GUID that is named need not be the tenant's: nothing else proves who owns them.
	Hosts []string
	GUIDs Ranges[mad.GUID]
}

func (s *Scope) partition(name string, key mad.PKey) bool {
	named, inRange := len(s.Names) > 0, len(s.Keys) > 0
	return (named || inRange) && (!named || matchesAny(s.Names, name)) &&
		(!inRange || s.Keys.has(key) || key == 0)
}

// Ranges are ranges of numbers, each with its first and its last one.
type Ranges[T cmp.Ordered] [][2]T

func (r Ranges[T]) has(n T) bool {
	return slices.ContainsFunc(r, func(of [2]T) bool { return of[0] <= n && n <= of[1] })
}

// ParseKeys parses a range of P_Keys, such as 0x100-0x1ff, or one P_Key: from 0x1 to 0x7ffe.
func ParseKeys(text string) (of [2]mad.PKey, err error) {
	return parse(text, "P_Keys from 0x1 to 0x7ffe, such as 0x100-0x1ff", func(text string) (mad.PKey, bool) {
		n, err := strconv.ParseUint(text, 0, 16)
		return mad.PKey(n), err == nil && n >= 1 && n <= 0x7ffe
	})
}

// ParseGUIDs parses a range of GUIDs, such as 0x0200000000000000-0x02ffffffffffffff, or one GUID.
func ParseGUIDs(text string) (of [2]mad.GUID, err error) {
	return parse(text, "GUIDs, such as 0x0200000000000000-0x02ffffffffffffff", func(text string) (mad.GUID, bool) {
		guid, err := mad.ParseGUID(text)
		return guid, err == nil && guid != 0
	})
}

// parse parses a range, or one value.
func parse[T cmp.Ordered](text, expected string, one func(string) (T, bool)) (of [2]T, err error) {
	first, last, several := strings.Cut(text, "-")
	if !several {
		last = first
	}
	var firstIs, lastIs bool
	of[0], firstIs = one(first)
	of[1], lastIs = one(last)
	if !firstIs || !lastIs || of[1] < of[0] {
		return of, fmt.Errorf("%q is not a range of %s", text, expected)
	}
	return of, nil
}

// CheckPattern reports a pattern of names that is not valid.
func CheckPattern(pattern string) error {
	outside := func(c rune) bool { return c <= ' ' || c > '~' }
	if pattern == "" || len(pattern) > 64 || strings.ContainsFunc(pattern, outside) {
		return fmt.Errorf("%q is not a pattern of names: expected 1 to 64 characters without blanks, such as tenant7-*",
			pattern)
	}
	return nil
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// matches reports whether a name matches a pattern. Its time is proportional to the product of their lengths at most.
func matches(pattern, name string) bool {
	pieces := strings.Split(pattern, "*")
	last := len(pieces) - 1
	rest, is := strings.CutPrefix(name, pieces[0])
	switch {
	case !is:
		return false
	case last == 0:
		return rest == ""
	}
	for _, p := range pieces[1:last] {
		at := strings.Index(rest, p)
		if at < 0 {
			return false
		}
		rest = rest[at+len(p):]
	}
	return strings.HasSuffix(rest, pieces[last])
}

// userKey is the key of a context's user.
type userKey struct{}

// With is a context of a request of a user.
func With(ctx context.Context, u *User) context.Context { return context.WithValue(ctx, userKey{}, u) }

// Of is the user of a request; nil where the context has none.
func Of(ctx context.Context) *User {
	if u, is := ctx.Value(userKey{}).(*User); is {
		return u
	}
	return nil
}
