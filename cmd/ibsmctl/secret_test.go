package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/cmd/cli"
	"ibsm/keys"
)

// TestSecret: a secret is made once, and comes out of export and import as it was; nothing overwrites one.
func TestSecret(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	verb := func(stdin string, args ...string) (status int, stdout, stderr string) {
		var out, errs bytes.Buffer
		root := program()
		root.SetIn(strings.NewReader(stdin))
		status = cli.Run(t.Context(), root, append([]string{"security"}, args...), &out, &errs, nil)
		return status, out.String(), errs.String()
	}
	if err := os.WriteFile(file("phrase"), []byte("correct horse battery\r\nanother line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file(".ibsm-keys-77"), []byte("of a process that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := verb("", "new", file("keys")); status != 0 {
		t.Fatal(errs)
	}
	if left, err := filepath.Glob(file(".ibsm-keys-*")); err != nil || left != nil {
		t.Errorf("%q, %v are left", left, err)
	}
	made, err := os.ReadFile(file("keys"))
	if info, _ := os.Stat(file("keys")); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	status, sealed, errs := verb("", "export", "--passphrase-file", file("phrase"), file("keys"))
	if status != 0 || strings.Count(sealed, "\n") != 1 {
		t.Fatalf("%q, %s", sealed, errs)
	}
	if status, _, errs := verb(sealed, "import", "--passphrase-file", file("phrase"), file("copy")); status != 0 {
		t.Fatal(errs)
	}
	if copied, err := os.ReadFile(file("copy")); err != nil || !bytes.Equal(copied, made) {
		t.Errorf("the copy differs: %v", err)
	}
	secret, err := keys.Parse("keys", made)
	if status, shown, _ := verb("", "show", file("keys")); err != nil || status != 0 ||
		!strings.Contains(shown, fmt.Sprintf("\nsa_key 0x%016x\n", secret.SAKey())) {
		t.Errorf("show: %s, %v", shown, err)
	}
	os.WriteFile(file("other phrase"), []byte("another horse battery"), 0o600)
	for want, args := range map[string][]string{
		"exists already":           {"new", file("keys")},
		"exists already ":          {"import", "--passphrase-file", file("phrase"), file("keys")},
		"wrong passphrase":         {"import", "--passphrase-file", file("other phrase"), file("none")},
		"fewer than 12 bytes":      {"export", "--passphrase-file", os.DevNull, file("keys")},
		"expected the line":        {"export", "--passphrase-file", file("phrase"), file("phrase")},
		"no such file":             {"export", "--passphrase-file", file("phrase"), file("none")},
		"is a directory":           {"export", "--passphrase-file", file("phrase"), dir},
		"unknown verb of security": {"turn"},
	} {
		status, stdout, errs := verb(sealed, args...)
		if status == 0 || !strings.Contains(errs, strings.TrimSpace(want)) {
			t.Errorf("%s: status %d, %s", args, status, errs)
		}
		if secret := strings.TrimSpace(string(made[bytes.LastIndexByte(made[:len(made)-1], ' '):])); strings.Contains(
			stdout+errs, secret[:8]) {
			t.Errorf("%s shows the secret", args)
		}
	}
	if now, _ := os.ReadFile(file("keys")); !bytes.Equal(now, made) {
		t.Error("the secret was overwritten")
	}
	if left, _ := filepath.Glob(file(".ibsm-keys-*")); left != nil {
		t.Errorf("left behind: %s", left)
	}
}
