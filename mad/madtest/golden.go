// Package madtest is what tests of several packages share: the captured packets of
// testdata/mad, whose README says how they are written, the architecture's tables of
// fields, and the programs of others that are their witnesses.
package madtest

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ibsm/mad"
)

// umadHeader is the size of the header in front of the MAD in files whose names
// begin with "umad-".
const umadHeader = 64

// Packet is the MAD in testdata/mad/name.hex. What a file that was cut short does
// not hold is zero.
func Packet(t testing.TB, name string) (p mad.Packet) {
	t.Helper()
	b := Bytes(t, name)
	if strings.HasPrefix(name, "umad-") {
		b = b[umadHeader:]
	}
	copy(p[:], b)
	return p
}

// Bytes is the content of testdata/mad/name.hex, with the header of the umad device
// when it has one.
func Bytes(t testing.TB, name string) []byte {
	t.Helper()
	path := filepath.Join(root(t), "testdata", "mad", name+".hex")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return b
}

// root is the folder of go.mod, above the folder that a test runs in.
func root(t testing.TB) string {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			err = os.ErrNotExist
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("go.mod above the test's folder: %v", err)
	return ""
}

// parse reads rows of "offset: bytes" up to the last one, which has no bytes and
// whose offset is the length.
func parse(text string) ([]byte, error) {
	const longest = 4096
	b := make([]byte, 0, longest)
	ended := false
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		offset, digits, found := strings.Cut(line, ":")
		at, err := strconv.ParseUint(strings.TrimSpace(offset), 16, 16)
		row, err2 := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if !found || err != nil || err2 != nil || ended || int(at) < len(b) || int(at)+len(row) > longest {
			return nil, fmt.Errorf("line %d: want ascending \"offset: bytes\" in hexadecimal", i+1)
		}
		b = append(b[:at], row...)
		ended = len(row) == 0
	}
	if !ended {
		return nil, fmt.Errorf("the last row, with the length alone, is missing")
	}
	return b, nil
}
