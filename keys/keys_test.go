package keys

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"ibsm/conf/diag"
)

// counting is a source of the bytes 0, 1, 2, ...
func counting() io.Reader {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return bytes.NewReader(b)
}

func made(t testing.TB) Secret {
	s, err := New(counting())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDerived compares with HKDF by hand (RFC 5869, 2.2 and 2.3: no salt is 32 zeros).
func TestDerived(t *testing.T) {
	s := made(t)
	by := func(key []byte, parts ...string) []byte {
		h := hmac.New(sha256.New, key)
		for _, p := range parts {
			io.WriteString(h, p)
		}
		return h.Sum(nil)
	}
	extracted := by(make([]byte, 32), string(s.value[:]))
	for name, got := range map[string]uint64{"sm_key": s.SMKey(), "sa_key": s.SAKey(), "m_key": s.MKey()} {
		if want := binary.BigEndian.Uint64(by(extracted, "ibsm "+name+"0", "\x01")); got != want {
			t.Errorf("%s is %#x, want %#x", name, got, want)
		}
	}
	mirror := s.Mirror()
	if want := by(extracted, "ibsm mirror", "\x01"); !bytes.Equal(mirror.Bytes(), want) {
		t.Errorf("the key of the mirror is %x, want %x", mirror.Bytes(), want)
	}
	election, none := s.Election(5), (&Secret{}).Election(5)
	number := string([]byte{0, 0, 0, 0, 0, 0, 0, 5})
	for _, c := range []struct {
		got             Key
		shared, purpose string
	}{{election, string(s.value[:]) + number, "ibsm election"}, {none, number, "ibsm election by sm_key"}} {
		want := by(by(make([]byte, 32), c.shared), c.purpose, "\x01")
		if !bytes.Equal(c.got.Bytes(), want) {
			t.Errorf("the key of elections is %x, want %x", c.got.Bytes(), want)
		}
	}
	if s.SMKey() == s.SAKey() || s.SAKey() == s.MKey() {
		t.Error("keys for different purposes are equal")
	}
}

func TestFile(t *testing.T) {
	s := made(t)
	for _, text := range []string{
		string(s.Text()), strings.ReplaceAll(string(s.Text()), "\n", "\r\n"),
		strings.TrimSuffix(string(s.Text()), "\n"), "\n" + string(s.Text()) + "# end\n\n",
	} {
		if got, err := Parse("f", []byte(text)); err != nil || got != s {
			t.Errorf("%q: %v", text, err)
		}
	}
	digits := hex.EncodeToString(s.value[:])
	for text, want := range map[string]string{
		"":                                               "f:1:1: the file has no secret",
		"ibsm-keys 1\n":                                  "f:1:1: the file has no secret",
		"m_key 5\n":                                      "f:1:1: expected the line ibsm-keys 1",
		"ibsm-keys 2\nsecret " + digits:                  "f:1:1: expected the line ibsm-keys 1",
		"ibsm-keys 1\nsecret " + digits[:62]:             "f:2:8: the secret has another form",
		"ibsm-keys 1\nsecret " + digits + "0":            "f:2:8: the secret has another form",
		"ibsm-keys 1\nsecret " + digits[:63]:             "f:2:8: the secret has another form",
		"ibsm-keys 1\n\nsecret x" + digits[1:]:           "f:3:8: the secret has another form",
		"ibsm-keys 1\nsecret " + digits + "\nx":          "f:3:1: expected one line of secret",
		string(s.Text()) + "secret " + digits:            "f:4:1: expected one line of secret",
		"ibsm-keys 1\nsecret " + strings.Repeat("0", 64): "f:1:1: a secret of nothing but zeros",
		strings.Repeat("#", MaxFile+1):                   "f:1:1: the file is too long",
	} {
		_, err := Parse("f", []byte(text))
		if at := (diag.Error{}); err == nil || !strings.HasPrefix(err.Error(), want) || !errors.As(err, &at) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		} else if strings.Contains(err.Error(), digits[:8]) {
			t.Errorf("%v shows a part of the secret", err)
		}
	}
}

// No verb of a format, and no JSON, shows a secret.
func TestHidden(t *testing.T) {
	s := made(t)
	key := Key(s)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		for _, v := range []any{s, &s, struct{ S Secret }{s}, []Secret{s}, key, &key, struct{ K Key }{key}} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, "1, 2") || strings.Contains(text, "0102") ||
				strings.Contains(text, "1 2") {
				t.Errorf("%s of %T shows %s", verb, v, text)
			}
		}
	}
	if text, err := json.Marshal(struct{ S Secret }{s}); err != nil || string(text) != `{"S":{}}` {
		t.Errorf("JSON: %s, %v", text, err)
	}
}

func TestSeal(t *testing.T) {
	s := made(t)
	const passphrase = "correct horse battery"
	sealed, err := s.Seal(passphrase, counting())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Open("  "+sealed+"\n", passphrase); err != nil || got != s {
		t.Errorf("opened: %v", err)
	}
	if _, err := Open(sealed, passphrase+" "); err != ErrSealed {
		t.Errorf("by another passphrase: %v", err)
	}
	if _, err := s.Seal("too short", counting()); err != ErrShort {
		t.Errorf("a short passphrase: %v", err)
	}
	if _, err := s.Seal(passphrase, strings.NewReader("few")); err == nil {
		t.Error("sealed without randomness")
	}
	other, _ := s.Seal(passphrase, strings.NewReader(strings.Repeat("x", 64)))
	if other == sealed {
		t.Error("salt and nonce do not matter")
	}
	for name, bad := range map[string]string{"empty": "", "cut": sealed[:len(sealed)-5],
		"longer": strings.TrimSpace(sealed) + "AAAA", "not base64": "!" + sealed[1:],
		"another version": "Ag" + sealed[2:]} {
		if _, err := Open(bad, passphrase); err != ErrForm {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, at := range []int{3, 25, 45, 90, 98} { // in the salt, the nonce, the secret and the tag
		changed := []byte(sealed)
		changed[at] = 'A' + (changed[at]-'A'+1)%26
		if _, err := Open(string(changed), passphrase); err == nil {
			t.Errorf("opened with character %d changed", at)
		}
	}
}

// FuzzOpen: nothing but a sealed secret opens, and nothing panics.
func FuzzOpen(f *testing.F) {
	s := made(f)
	sealed, _ := s.Seal("correct horse battery", counting())
	f.Add(sealed)
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := Open(text, "correct horse battery"); err == nil &&
			(got != s || strings.TrimSpace(text) != strings.TrimSpace(sealed)) {
			t.Errorf("%q opens", text)
		}
	})
}

// FuzzParse: what is taken is a secret whose file gives it again.
func FuzzParse(f *testing.F) {
	s := made(f)
	f.Add(s.Text())
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Parse("f", text)
		if err != nil {
			return
		}
		if again, err := Parse("f", got.Text()); err != nil || again != got {
			t.Errorf("%q: %v", text, err)
		}
	})
}
