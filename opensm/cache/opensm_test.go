package cache

import (
	"bufio"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ibsm/mad"
	"ibsm/mad/madtest"
)

const example = "/usr/share/doc/ibsim-utils/net-examples/net.2sw2path4hca"

// opensm runs OpenSM once over a fresh ibsim, with this cache directory.
func opensm(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Open(example)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	host := ""
	for lines := bufio.NewScanner(file); lines.Scan() && host == ""; {
		if strings.HasPrefix(lines.Text(), "Hca") {
			host = strings.Split(lines.Text(), `"`)[1]
		}
	}
	cmd := madtest.Peer(t, dir, madtest.StartIbsim(t, example), host, "opensm", "-o", "-f",
		filepath.Join(t.TempDir(), "log"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "MASTER") {
		t.Fatalf("opensm: %v\n%s", err, out)
	}
}

type contents struct {
	lids  map[mad.GUID]LIDRange
	keys  map[mad.GUID]mad.MKey
	links map[End]End
}

func readAll(t *testing.T, dir string) (c contents) {
	t.Helper()
	f := Files{Dir: dir}
	lids, w1, err1 := f.ReadLIDs(0)
	keys, w2, err2 := f.ReadMKeys()
	links, w3, err3 := f.ReadNeighbors()
	if len(w1)+len(w2)+len(w3) > 0 || err1 != nil || err2 != nil || err3 != nil {
		t.Fatalf("warned %v %v %v, %v %v %v", w1, w2, w3, err1, err2, err3)
	}
	return contents{lids, keys, links}
}

// OpenSM's files are read, and ours are read by it: it gives the LIDs that we say, keeps
// those of absent ports, and writes what we would.
func TestOpenSM(t *testing.T) {
	t.Parallel()
	theirs := t.TempDir()
	opensm(t, theirs)
	c := readAll(t, theirs)
	// 2 switches and 4 hosts, of which the file links 4 ports besides the two trunks.
	if len(c.lids) < 6 || len(c.keys) != len(c.lids) || len(c.links) < 12 {
		t.Fatalf("OpenSM wrote %d LIDs, %d keys, %d ends of links", len(c.lids), len(c.keys), len(c.links))
	}
	base := mad.LID(0x100)
	for g := range c.lids {
		c.lids[g] = LIDRange{base, base}
		base += 3
	}
	c.lids[0xabcdef] = LIDRange{7, 7}
	ours := t.TempDir()
	f := Files{Dir: ours}
	for _, err := range []error{f.WriteLIDs(c.lids), f.WriteMKeys(c.keys), f.WriteNeighbors(linksOf(c.links))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	opensm(t, ours)
	after := readAll(t, ours)
	if !maps.Equal(after.lids, c.lids) || !maps.Equal(after.keys, c.keys) || !maps.Equal(after.links, c.links) {
		t.Errorf("OpenSM made %+v\nof %+v", after, c)
	}
}
