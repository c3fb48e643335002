package keys

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A sealed secret is a line of base64 of
//
//	 0 version, 1
//	 1 salt
//	17 nonce
//	29 the secret, by AES-256-GCM with the first byte as additional data
//
// The key of AES is PBKDF2-HMAC-SHA256 of the passphrase and the salt, with 600,000 rounds.
const (
	version   = 1
	saltSize  = 16
	nonceSize = 12
	tagSize   = 16
	rounds    = 600_000
	sealedLen = 1 + saltSize + nonceSize + size + tagSize
	// MinPassphrase is the least length of a passphrase in bytes.
	MinPassphrase = 12
)

// Errors of Seal and Open.
var (
	ErrShort  = fmt.Errorf("the passphrase has fewer than %d bytes", MinPassphrase)
	ErrForm   = errors.New("not an encrypted secret, or part of it is missing: expected the output of ibsmctl security export")
	ErrSealed = errors.New("wrong passphrase, or the encrypted secret was changed")
)

// Seal is the secret as a line that only the passphrase opens. The error is ErrShort or that of the source of
// randomness.
func (s *Secret) Seal(passphrase string, random io.Reader) (string, error) {
	if len(passphrase) < MinPassphrase {
		return "", ErrShort
	}
	out := make([]byte, 1+saltSize+nonceSize, sealedLen)
	out[0] = version
	if _, err := io.ReadFull(random, out[1:]); err != nil {
		return "", err
	}
	out = sealing(passphrase, out).Seal(out, out[1+saltSize:], s.value[:], out[:1])
	return base64.StdEncoding.EncodeToString(out) + "\n", nil
}

// Open is the inverse of Seal. The error is ErrForm or ErrSealed.
func Open(sealed, passphrase string) (s Secret, err error) {
	sealed = strings.TrimSpace(sealed)
	if len(sealed) != base64.StdEncoding.EncodedLen(sealedLen) {
		return s, ErrForm
	}
	in, err := base64.StdEncoding.Strict().DecodeString(sealed)
	if err != nil || len(in) != sealedLen || in[0] != version {
		return s, ErrForm
	}
	value, err := sealing(passphrase, in).Open(nil, in[1+saltSize:1+saltSize+nonceSize], in[1+saltSize+nonceSize:],
		in[:1])
	if err != nil {
		return s, ErrSealed
	}
	copy(s.value[:], value)
	return s, nil
}

// sealing is the cipher by a passphrase and the salt of what is sealed.
func sealing(passphrase string, sealed []byte) cipher.AEAD {
	key, err := pbkdf2.Key(sha256.New, passphrase, sealed[1:1+saltSize], rounds, 32)
	if err != nil {
		panic(err) // only for lengths that SHA-256 cannot have
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // only for keys of another length
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // only for other blocks
	}
	return aead
}
