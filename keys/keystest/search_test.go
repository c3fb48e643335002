package keystest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"ibsm/keys"
)

// TestFind: each form is found in the middle of a text, and what is not added is not.
func TestFind(t *testing.T) {
	const key = 0xfedcba9876543210
	var s Search
	s.AddKey("key", key)
	s.AddBytes("seed", []byte("a seed of more than eight bytes"))
	b := binary.BigEndian.AppendUint64(nil, key)
	texts := []string{
		fmt.Sprint(uint64(key)), fmt.Sprintf("%x", uint64(key)), fmt.Sprintf("%#X", uint64(key)), string(b),
		fmt.Sprintf("%x", bits.ReverseBytes64(key)), fmt.Sprint(b),
		fmt.Sprintf("% X", b), fmt.Sprint(bits.ReverseBytes64(key)), "254, 220, 186, 152, 118, 84, 50, 16",
		string(binary.LittleEndian.AppendUint64(nil, key)),
	}
	for before := range 7 {
		texts = append(texts,
			base64.StdEncoding.EncodeToString(slices.Concat([]byte("and on it goes")[:before], b, []byte("the end"))))
	}
	for _, text := range texts {
		if got := s.Find([]byte("<" + text + ">")); !slices.Equal(got, []string{"key"}) {
			t.Errorf("in %q: %v", text, got)
		}
	}
	if got := s.Find([]byte("a seed of more than eight bytes, " + texts[0] + texts[1])); !slices.Equal(got,
		[]string{"seed", "key"}) {
		t.Errorf("both: %v", got)
	}
	for _, text := range []string{"", "short", "a seed of another", fmt.Sprint(uint64(key + 1))} {
		if got := s.Find([]byte(text)); got != nil {
			t.Errorf("in %q: %v", text, got)
		}
	}
}

// TestAddSecret: the file of a secret shows it, and so does what follows from it. What a manager needs to seal it is
// not that.
func TestAddSecret(t *testing.T) {
	secret, err := keys.New(bytes.NewReader(bytes.Repeat([]byte{7, 8}, 16)))
	if err != nil {
		t.Fatal(err)
	}
	var s Search
	if err := s.AddSecret(secret, 2, []uint64{5, 6}); err != nil {
		t.Fatal(err)
	}
	own := secret.Ports(2)
	for what, text := range map[string]string{
		"the secret": string(secret.Text()), "m_key": fmt.Sprint(secret.MKey()), "sm_key": fmt.Sprint(secret.SMKey()),
		"sa_key": fmt.Sprint(secret.SAKey()),
		"the key of a manager that asks to be let in":    fmt.Sprint(own.Knock()),
		"the M_Key of port 0x0000000000000005, number 3": fmt.Sprint(own.With(3, 5)),
		"the M_Key of port 0x0000000000000006, number 1": fmt.Sprint(own.With(1, 6)),
	} {
		if got := s.Find([]byte(text)); !slices.Equal(got, []string{what}) {
			t.Errorf("%s: %v", what, got)
		}
	}
	sealed, err := secret.Seal("correct horse battery", bytes.NewReader(bytes.Repeat([]byte{9}, 64)))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := base64.StdEncoding.DecodeString(sealed[:len(sealed)-1])
	if got := slices.Concat(s.Find([]byte(sealed)), s.Find(packed)); err != nil || got != nil {
		t.Errorf("what is sealed shows %v, %v", got, err)
	}
}
