package cache

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ibsm/atomicfile"
	"ibsm/conf/diag"
	"ibsm/mad"
	"ibsm/regularfile"
)

// Names of the files.
const (
	guid2lid  = "guid2lid"
	guid2mkey = "guid2mkey"
	neighbors = "neighbors"
)

// maxSize is more than a file of the largest subnet has.
const maxSize = 64 << 20

// Files are the files of a directory. A Write does nothing when the file holds the same
// already, as far as Read or Write reported. It is for one goroutine.
type Files struct {
	Dir  string
	Sync bool // each file is on disk before it takes the place of the old (fsync_high_avail_files)
	// Reader reads the files; nil for one that never stops.
	Reader *regularfile.Reader

	held map[string][sha256.Size]byte // by name: the digest of what the file holds, where that is known
}

// ReadLIDs reads guid2lid, by port GUID, with ranges checked against the LMC in force.
// A file that is not there holds nothing. The list is of records that were skipped;
// an error is what OpenSM gives the file up for, after the records returned.
func (f *Files) ReadLIDs(lmc uint8) (map[mad.GUID]LIDRange, diag.List, error) {
	path, b, err := f.read(guid2lid)
	if b == nil {
		return nil, nil, err
	}
	lids, skipped, err := parseLIDs(path, b, min(lmc, 7))
	f.remember(guid2lid, printLIDs(lids), skipped, err)
	return lids, skipped, err
}

// ReadMKeys reads guid2mkey, by port GUID, as ReadLIDs does.
func (f *Files) ReadMKeys() (map[mad.GUID]mad.MKey, diag.List, error) {
	path, b, err := f.read(guid2mkey)
	if b == nil {
		return nil, nil, err
	}
	keys, skipped, err := parseMKeys(path, b)
	f.remember(guid2mkey, printMKeys(keys), skipped, err)
	return keys, skipped, err
}

// ReadNeighbors reads neighbors, each link from both ends, as ReadLIDs does.
func (f *Files) ReadNeighbors() (map[End]End, diag.List, error) {
	path, b, err := f.read(neighbors)
	if b == nil {
		return nil, nil, err
	}
	links, skipped, err := parseNeighbors(path, b)
	f.remember(neighbors, printNeighbors(linksOf(links)), skipped, err)
	return links, skipped, err
}

// remember keeps the digest of what a file certainly holds: nothing that was skipped besides.
func (f *Files) remember(name string, print content, skipped diag.List, err error) {
	if err != nil || len(skipped) > 0 {
		delete(f.held, name)
		return
	}
	f.hold(name, print.digest())
}

func (f *Files) hold(name string, digest [sha256.Size]byte) {
	if f.held == nil {
		f.held = map[string][sha256.Size]byte{}
	}
	f.held[name] = digest
}

// ModTime is when guid2lid was written last, the zero time if it is not there.
func (f *Files) ModTime() time.Time {
	written, _ := f.Reader.ModTime(filepath.Join(f.Dir, guid2lid))
	return written
}

// forget has the next Writes write, whatever the files held.
func (f *Files) forget() { clear(f.held) }

func (f *Files) read(name string) (path string, b []byte, err error) {
	path = filepath.Join(f.Dir, name)
	if b, err = f.Reader.Read(path, maxSize); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return path, b, err
}

// WriteLIDs writes guid2lid. OpenSM does not forget ports that are absent: neither
// should a caller.
func (f *Files) WriteLIDs(lids map[mad.GUID]LIDRange) error {
	return f.write(guid2lid, 0o644, printLIDs(lids))
}

// WriteMKeys writes guid2mkey, which its owner alone can read.
func (f *Files) WriteMKeys(keys map[mad.GUID]mad.MKey) error {
	return f.write(guid2mkey, 0o600, printMKeys(keys))
}

// WriteNeighbors writes neighbors. links has each link from both ends, in any order, and is sorted.
func (f *Files) WriteNeighbors(links []Link) error {
	return f.write(neighbors, 0o644, printNeighbors(links))
}

// content prints the text of a file, the same each time.
type content func(w *bufio.Writer)

func printLIDs(m map[mad.GUID]LIDRange) content {
	return printRecords(m, func(w *bufio.Writer, l LIDRange) {
		fmt.Fprintf(w, "0x%04x 0x%04x", uint16(l.Min), uint16(l.Max))
	})
}

func printMKeys(m map[mad.GUID]mad.MKey) content {
	return printRecords(m, func(w *bufio.Writer, k mad.MKey) { w.Write(appendHex(w.AvailableBuffer(), uint64(k))) })
}

// printRecords prints the records of m in order.
func printRecords[V any](m map[mad.GUID]V, print func(*bufio.Writer, V)) content {
	guids := slices.Sorted(maps.Keys(m))
	return func(w *bufio.Writer) {
		for _, g := range guids {
			w.Write(append(appendHex(w.AvailableBuffer(), uint64(g)), ' '))
			print(w, m[g])
			w.WriteString("\n\n")
		}
	}
}

func linksOf(m map[End]End) []Link {
	links := make([]Link, 0, len(m))
	for near, far := range m {
		links = append(links, Link{near, far})
	}
	return links
}

func printNeighbors(links []Link) content {
	slices.SortFunc(links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.Near.GUID, b.Near.GUID), cmp.Compare(a.Near.Port, b.Near.Port))
	})
	return func(w *bufio.Writer) {
		for _, l := range links {
			w.Write(append(l.Far.append(append(l.Near.append(w.AvailableBuffer()), ' ')), "\n\n"...))
		}
	}
}

// appendHex prints 16 digits.
func appendHex(b []byte, v uint64) []byte {
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], v)
	return hex.AppendEncode(append(b, "0x"...), bytes[:])
}

func (print content) write(w io.Writer) error {
	b := bufio.NewWriter(w)
	print(b)
	return b.Flush() // the first error of all
}

func (print content) digest() [sha256.Size]byte {
	h := sha256.New()
	_ = print.write(h) // which takes everything
	return [sha256.Size]byte(h.Sum(nil))
}

// write puts a new file in the place of the old, unless that holds the same.
func (f *Files) write(name string, mode os.FileMode, print content) error {
	digest := print.digest()
	if held, known := f.held[name]; known && held == digest {
		return nil
	}
	delete(f.held, name)
	err := os.MkdirAll(f.Dir, 0o755) // as OpenSM makes it
	if err == nil {
		err = atomicfile.Replace(filepath.Join(f.Dir, name), mode, f.Sync, print.write)
	}
	if err != nil {
		return err
	}
	f.hold(name, digest)
	return nil
}
