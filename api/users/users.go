// Package users keeps the users of the API: their file, and the check of what a client presents to be one of them. It
// checks who a client is; package rights decides what it may do.
package users

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ibsm/mad"
	"ibsm/rights"
)

// DefaultFile is the file that is meant where none is named.
const DefaultFile = "/etc/ibsm/users.toml"

// MaxFile is the longest file that is read or written, in bytes.
const MaxFile = 1 << 20

// Bounds of a file.
const (
	mostUsers        = 10_000
	mostTokens       = 100 // of a user
	mostCertificates = 100 // of a user
	mostPatterns     = 100 // of a kind, of a tenant
	longestName      = 64
	longestNote      = 64
)

// Account is a user as in the file.
type Account struct {
	rights.User
	Certificates []string // DNS or URI SANs of client certificates, each for a whole name
	Password     Password // the zero value is none
	Tokens       []Token
}

// Token is a token as in the file. It does not contain what a client sends.
type Token struct {
	ID    string // 8 hexadecimal digits, of its own among the user's tokens
	Made  time.Time
	Until time.Time // from here on it is refused
	Note  string
	sum   hidden[[32]byte] // SHA-256 of what a client sends
}

// Format prints the token without what it is compared with, whatever the verb.
func (t Token) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "token %s until %s", t.ID, t.Until.Format(time.RFC3339))
}

// Format prints the user without the password and tokens, whatever the verb.
func (a Account) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "user %s, %v", a.Name, a.Role) }

// tokenOf is a token and its user.
type tokenOf struct {
	user  *Account
	token *Token
}

// Set are all users of a file. It is immutable; nil and the zero value have none.
type Set struct {
	accounts      []*Account // by name
	byName        map[string]*Account
	byCertificate map[string]*Account
	sums          hidden[map[[32]byte]tokenOf]
}

// Format prints how many users there are, whatever the verb.
func (s *Set) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%d users", s.Len()) }

// Len is the number of users.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.accounts)
}

// Accounts are the users, by name. The caller changes none of what they contain.
func (s *Set) Accounts() []Account {
	list := make([]Account, 0, s.Len())
	for i := range s.Len() {
		list = append(list, *s.accounts[i])
	}
	return list
}

// Find is the user of a name, and whether there is one.
func (s *Set) Find(name string) (Account, bool) {
	if a := s.find(name); a != nil {
		return *a, true
	}
	return Account{}, false
}

func (s *Set) find(name string) *Account {
	if s == nil {
		return nil
	}
	return s.byName[name]
}

// newSet are the users of a list. at is the index of the user whom the error is about.
func newSet(list []Account) (s *Set, at int, err error) {
	s = &Set{byName: map[string]*Account{}, byCertificate: map[string]*Account{},
		sums: hide(map[[32]byte]tokenOf{})}
	if len(list) > mostUsers {
		return nil, mostUsers, fmt.Errorf("there are more than %d users", mostUsers)
	}
	for i := range list {
		a := list[i]
		if err = s.add(&a); err != nil {
			return nil, i, err
		}
	}
	slices.SortFunc(s.accounts, func(a, b *Account) int { return cmp.Compare(a.Name, b.Name) })
	return s, 0, nil
}

// add adds a user to a Set that nobody else has yet.
func (s *Set) add(a *Account) error {
	if err := a.check(); err != nil {
		return err
	}
	if s.byName[a.Name] != nil {
		return fmt.Errorf("there are two users %s", a.Name)
	}
	for _, name := range a.Certificates {
		if of := s.byCertificate[name]; of != nil {
			return fmt.Errorf("user %s: certificate %s is that of user %s already", a.Name, name, of.Name)
		}
		s.byCertificate[name] = a
	}
	for i := range a.Tokens {
		t := &a.Tokens[i]
		if of, is := s.sums()[t.sum()]; is {
			return fmt.Errorf("user %s: token %s is token %s of user %s already", a.Name, t.ID, of.token.ID, of.user.Name)
		}
		s.sums()[t.sum()] = tokenOf{a, t}
	}
	s.byName[a.Name] = a
	s.accounts = append(s.accounts, a)
	return nil
}

// check is an error of a user that needs no other one.
func (a *Account) check() error {
	err := CheckName(a.Name)
	if err != nil {
		return err
	}
	switch {
	case a.Role == 0:
		err = errors.New("there is no role: expected role = \"reader\", \"tenant\", \"operator\" or \"admin\"")
	case a.Role != rights.Tenant && hasScope(&a.Scope):
		err = fmt.Errorf("partitions, pkeys, hosts and guids are for the role tenant, and the role is %v", a.Role)
	default:
		err = errors.Join(checkScope(&a.Scope), checkCertificates(a.Certificates), checkTokens(a.Tokens))
	}
	if err != nil {
		return fmt.Errorf("user %s: %w", a.Name, err)
	}
	return nil
}

// CheckName reports a name that no user can have. It repeats no name that is too long for one.
func CheckName(name string) error {
	const expected = "expected 1 to 64 letters, digits and . _ - @, of which the first is a letter or a digit"
	switch {
	case len(name) > longestName:
		return fmt.Errorf("the name of a user is too long: %s", expected)
	case name == "" || !isAlphanumeric(rune(name[0])) ||
		strings.ContainsFunc(name, func(c rune) bool { return !isAlphanumeric(c) && !strings.ContainsRune("._-@", c) }):
		return fmt.Errorf("%q is not a name of a user: %s", name, expected)
	}
	return nil
}

func isAlphanumeric(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func hasScope(s *rights.Scope) bool {
	return len(s.Names)+len(s.Keys)+len(s.Hosts)+len(s.GUIDs) > 0
}

func checkScope(s *rights.Scope) error {
	if max(len(s.Names), len(s.Keys), len(s.Hosts), len(s.GUIDs)) > mostPatterns {
		return fmt.Errorf("there are more than %d partitions, pkeys, hosts or guids", mostPatterns)
	}
	for _, pattern := range slices.Concat(s.Names, s.Hosts) {
		if err := rights.CheckPattern(pattern); err != nil {
			return err
		}
	}
	return nil
}

// checkCertificates checks names of certificates: a URI, as in SPIFFE, or a DNS name without a wildcard.
func checkCertificates(names []string) error {
	if len(names) > mostCertificates {
		return fmt.Errorf("there are more than %d certificates", mostCertificates)
	}
	for _, name := range names {
		unfit := func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }
		longest := 2048 // of a SPIFFE ID
		if !strings.Contains(name, "://") {
			unfit = func(c rune) bool { return !isAlphanumeric(c) && !strings.ContainsRune(".-_", c) }
			longest = 253
		}
		if name == "" || len(name) > longest || strings.ContainsFunc(name, unfit) {
			return fmt.Errorf("certificate %.100q is neither a DNS name without * nor a URI such as spiffe://cluster/ns/x", name)
		}
	}
	return nil
}

func checkTokens(tokens []Token) error {
	if len(tokens) > mostTokens {
		return fmt.Errorf("there are more than %d tokens: revoke some", mostTokens)
	}
	seen := map[string]bool{}
	for i := range tokens {
		t := &tokens[i]
		switch {
		case !isHex(t.ID, 8):
			return fmt.Errorf("token %d: the id is not 8 hexadecimal digits in lower case", i+1)
		case seen[t.ID]:
			return fmt.Errorf("there are two tokens %s", t.ID)
		case t.sum == nil:
			return fmt.Errorf("token %s has no sha256", t.ID)
		case t.Made.IsZero() || !t.Until.After(t.Made):
			return fmt.Errorf("token %s: the time until is not after made", t.ID)
		}
		if err := checkNote(t.Note); err != nil {
			return fmt.Errorf("token %s: %w", t.ID, err)
		}
		seen[t.ID] = true
	}
	return nil
}

func checkNote(note string) error {
	if len(note) > longestNote || strings.ContainsFunc(note, func(c rune) bool { return c < ' ' || c > '~' }) {
		return fmt.Errorf("the note has other than at most %d characters of ASCII", longestNote)
	}
	return nil
}

func isHex(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}

// text is the file of the users.
func (s *Set) text() []byte {
	var b strings.Builder
	io.WriteString(&b, "# Users of the API. Written by ibsmctl api user and ibsm, which keep no other comments. See docs/api.md.\n")
	for _, a := range s.accounts {
		fmt.Fprintf(&b, "\n[[user]]\nname = %q\nrole = %q\n", a.Name, a.Role)
		writeList(&b, "certificates", a.Certificates, func(s string) string { return s })
		if a.Password.IsSet() {
			fmt.Fprintf(&b, "password = %q\n", a.Password.phc())
		}
		writeList(&b, "partitions", a.Scope.Names, func(s string) string { return s })
		writeList(&b, "pkeys", a.Scope.Keys, KeysText)
		writeList(&b, "hosts", a.Scope.Hosts, func(s string) string { return s })
		writeList(&b, "guids", a.Scope.GUIDs, GUIDsText)
		for i := range a.Tokens {
			t := &a.Tokens[i]
			fmt.Fprintf(&b, "\n[[user.token]]\nid = %q\nsha256 = \"%x\"\nmade = %s\nuntil = %s\n", t.ID, t.sum(),
				t.Made.UTC().Format(time.RFC3339), t.Until.UTC().Format(time.RFC3339))
			if t.Note != "" {
				fmt.Fprintf(&b, "note = %q\n", t.Note)
			}
		}
	}
	return []byte(b.String())
}

func writeList[T any](b *strings.Builder, key string, list []T, text func(T) string) {
	if len(list) == 0 {
		return
	}
	quoted := make([]string, len(list))
	for i, e := range list {
		quoted[i] = fmt.Sprintf("%q", text(e))
	}
	fmt.Fprintf(b, "%s = [%s]\n", key, strings.Join(quoted, ", "))
}

// KeysText is a range of P_Keys as in the file.
func KeysText(of [2]mad.PKey) string { return rangeText(of) }

// GUIDsText is a range of GUIDs as in the file.
func GUIDsText(of [2]mad.GUID) string { return rangeText(of) }

func rangeText[T mad.PKey | mad.GUID](of [2]T) string {
	if of[0] == of[1] {
		return fmt.Sprint(of[0])
	}
	return fmt.Sprint(of[0], "-", of[1])
}

// certificate is the user of a name of certificates, nil without one.
func (s *Set) certificate(name string) *Account {
	if s == nil {
		return nil
	}
	return s.byCertificate[name]
}

// TokenID is the ID of the token that a text is, or of which it is the ID already; "" if the user has no such token.
func (s *Set) TokenID(user, text string) string {
	if of, is := s.token(sha256.Sum256([]byte(text))); is && of.user.Name == user {
		return of.token.ID
	}
	if a, is := s.Find(user); is && slices.ContainsFunc(a.Tokens, func(t Token) bool { return t.ID == text }) {
		return text
	}
	return ""
}

// token is the token of a sum and its user, and whether there is one.
func (s *Set) token(sum [32]byte) (tokenOf, bool) {
	if s.Len() == 0 {
		return tokenOf{}, false
	}
	of, is := s.sums()[sum]
	return of, is
}
