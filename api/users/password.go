package users

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// The costs of a password's hash (argon2id, RFC 9106): all hashes have the same, so that each check takes as long.
const (
	argonMemory  = 19456 // KiB
	argonPasses  = 2
	argonThreads = 1
)

// phcHead begins the text of a hash in the form of the password hashing competition.
var phcHead = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, argonMemory, argonPasses, argonThreads)

// hash is a password's hash.
type hash struct {
	salt [16]byte
	sum  [32]byte
}

// hidden is a value that no verb of fmt prints, wherever in another value it is: none of them calls a function.
type hidden[T any] func() T

func hide[T any](value T) hidden[T] { return func() T { return value } }

// Password is the hash of a password. The zero value is none.
type Password struct{ hash hidden[*hash] }

// Format hides the hash, whatever the verb.
func (Password) Format(f fmt.State, _ rune) { io.WriteString(f, "hidden") }

// IsSet reports whether there is a password.
func (p Password) IsSet() bool { return p.hash != nil }

// Lengths of a password in bytes.
const (
	shortestPassword = 8
	longestPassword  = 256
)

// NewPassword hashes a password with a new salt: 8 to 256 bytes of UTF-8 without control characters.
func NewPassword(text string) (Password, error) {
	switch {
	case len(text) < shortestPassword || len(text) > longestPassword:
		return Password{}, fmt.Errorf("the password has %d bytes: expected %d to %d", len(text), shortestPassword,
			longestPassword)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return Password{}, errors.New("the password has control characters, or is no UTF-8")
	}
	h := &hash{}
	rand.Read(h.salt[:])
	h.sum = derive(text, h.salt)
	return Password{hide(h)}, nil
}

// derive computes the hash of a password.
func derive(text string, salt [16]byte) [32]byte {
	return [32]byte(argon2.IDKey([]byte(text), salt[:], argonPasses, argonMemory, argonThreads, 32))
}

// is reports whether a password has a hash. It computes one, in some 20 ms and 19 MiB.
func (h *hash) is(text string) bool {
	sum := derive(text, h.salt)
	return subtle.ConstantTimeCompare(sum[:], h.sum[:]) == 1
}

// phc is the text of the hash.
func (p Password) phc() string {
	h, b64 := p.hash(), base64.RawStdEncoding.EncodeToString
	return phcHead + b64(h.salt[:]) + "$" + b64(h.sum[:])
}

// parsePassword parses the text of a hash. The error does not repeat it.
func parsePassword(text string) (Password, error) {
	rest, is := strings.CutPrefix(text, phcHead)
	salt, sum, both := strings.Cut(rest, "$")
	saltBytes, err := base64.RawStdEncoding.Strict().DecodeString(salt)
	sumBytes, err2 := base64.RawStdEncoding.Strict().DecodeString(sum)
	if !is || !both || err != nil || err2 != nil || len(saltBytes) != 16 || len(sumBytes) != 32 {
		return Password{}, fmt.Errorf("the password is not a hash %s and a salt of 16 bytes and a hash of 32: "+
			"set it with ibsmctl api user password", phcHead)
	}
	return Password{hide(&hash{[16]byte(saltBytes), [32]byte(sumBytes)})}, nil
}

// tokenPrefix begins each token, so that it can be found where it must not be.
const tokenPrefix = "ibsm_"

// Days of a token.
const (
	DefaultTokenDays = 365
	MostTokenDays    = 3650
)

// NewToken makes a token of 256 random bits that ends after so many days, 1 to 3,650. text is what a client sends: it
// is in no file, and cannot be shown again.
func NewToken(now time.Time, days int, note string) (t Token, text string, err error) {
	if days < 1 || days > MostTokenDays {
		return t, "", fmt.Errorf("a token cannot end after %d days: expected 1 to %d", days, MostTokenDays)
	}
	if err := checkNote(note); err != nil {
		return t, "", err
	}
	var secret [32]byte
	rand.Read(secret[:])
	text = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	sum := sha256.Sum256([]byte(text))
	made := now.UTC().Truncate(time.Second)
	return Token{ID: fmt.Sprintf("%x", sum[:4]), Made: made, Until: made.Add(time.Duration(days) * 24 * time.Hour),
		Note: note, sum: hide(sum)}, text, nil
}
