package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The layout of a bbolt file, in the byte order of the host. bbolt trusts what it maps
// into memory: a damaged page makes it panic in goroutines of its own, run in circles
// or read what is not there. So the file is walked here before bbolt sees it.
//
//	page     0 id  8 flags  10 count  12 overflow  16 elements
//	meta    16 magic  20 version  24 page size  28 flags  32 root  40 sequence
//	        48 freelist  56 high-water mark  64 transaction  72 checksum of 16 to 71
//	branch   0 pos  4 key size  8 page                   pos counts from the element
//	leaf     0 flags  4 pos  8 key size  12 value size
//	bucket   0 root, 0 for a page that follows  8 sequence
const (
	pageSize      = 4096
	pageHeader    = 16
	elementSize   = 16
	boltMagic     = 0xED0CDAED
	boltVersion   = 2
	noFreelist    = ^uint64(0)
	branchFlag    = 1
	leafFlag      = 2
	bucketElement = 1
	maxDepth      = 40
)

var host = binary.NativeEndian

// verifier walks the pages of a file.
type verifier struct {
	file  io.ReaderAt
	pages uint64 // high-water mark
	seen  []bool // each page has one place
}

// verify reports what is wrong with the structure of a file of a length: ErrNotStore
// or errDamaged, which it also is when it cannot be read.
func verify(file io.ReaderAt, size int64) error {
	head := make([]byte, 2*pageSize)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	head = head[:n]
	meta := newestMeta(head)
	if meta == nil {
		return headless(head)
	}
	root, freelist, pages := host.Uint64(meta[32:]), host.Uint64(meta[48:]), host.Uint64(meta[56:])
	switch {
	case host.Uint32(meta[20:]) != boltVersion || host.Uint32(meta[24:]) != pageSize || freelist != noFreelist:
		return fmt.Errorf("%w: it is a database with another version, page size or list of free pages", ErrNotStore)
	case size < 0 || pages > uint64(size)/pageSize:
		return fmt.Errorf("%w: it is cut off: %d pages are missing", errDamaged, pages-uint64(size)/pageSize)
	}
	v := verifier{file: file, pages: pages, seen: make([]bool, pages)}
	return v.page(root, nil, nil, 0)
}

// newestMeta is the meta page that bbolt would choose, nil if none is whole.
func newestMeta(head []byte) (newest []byte) {
	for i := range 2 {
		if len(head) < (i+1)*pageSize {
			break
		}
		meta := head[i*pageSize:][:pageSize]
		sum := fnv.New64a()
		sum.Write(meta[16:72])
		if host.Uint32(meta[16:]) != boltMagic || host.Uint64(meta[72:]) != sum.Sum64() {
			continue
		}
		if newest == nil || host.Uint64(meta[64:]) > host.Uint64(newest[64:]) {
			newest = meta
		}
	}
	return newest
}

// headless reports whether the file is a store that lost both of its meta pages.
func headless(head []byte) error {
	for at := 0; at+20 <= len(head); at += pageSize {
		if host.Uint32(head[at+16:]) == boltMagic {
			return fmt.Errorf("%w: both of its header pages are damaged", errDamaged)
		}
	}
	if len(bytes.Trim(head, "\x00")) == 0 {
		return fmt.Errorf("%w: it begins with zeros only", errDamaged)
	}
	return fmt.Errorf("%w: its header is unknown; name another file, or move it away", ErrNotStore)
}

// page checks a page and all below it. Its keys are not below low and, unless high is
// nil, below high.
func (v *verifier) page(id uint64, low, high []byte, depth int) error {
	if id < 2 || id >= v.pages || depth > maxDepth {
		return fmt.Errorf("%w: there is no page %d at depth %d", errDamaged, id, depth)
	}
	p := make([]byte, pageSize)
	if _, err := v.file.ReadAt(p, int64(id)*pageSize); err != nil {
		return fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
	}
	overflow := uint64(host.Uint32(p[12:]))
	if host.Uint64(p) != id || overflow >= v.pages-id {
		return fmt.Errorf("%w: page %d says that it is page %d with %d more", errDamaged, id, host.Uint64(p), overflow)
	}
	for i := id; i <= id+overflow; i++ {
		if v.seen[i] {
			return fmt.Errorf("%w: page %d is in two places", errDamaged, i)
		}
		v.seen[i] = true
	}
	if overflow > 0 {
		p = append(p, make([]byte, overflow*pageSize)...)
		if _, err := v.file.ReadAt(p[pageSize:], int64(id+1)*pageSize); err != nil {
			return fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
		}
	}
	return v.elements(id, p, low, high, depth)
}

// elements checks what is in a page, which may be one inside of a bucket's value.
func (v *verifier) elements(id uint64, p, low, high []byte, depth int) error {
	flags, count := host.Uint16(p[8:]), int(host.Uint16(p[10:]))
	branch := flags == branchFlag
	if !branch && flags != leafFlag || branch && count == 0 || pageHeader+count*elementSize > len(p) {
		return fmt.Errorf("%w: page %d has flags %d and %d elements", errDamaged, id, flags, count)
	}
	keys := make([][]byte, count)
	values := make([][]byte, count)
	for i := range count {
		var fits bool
		if keys[i], values[i], fits = element(p, pageHeader+i*elementSize, branch); !fits {
			return fmt.Errorf("%w: element %d of page %d reaches beyond it", errDamaged, i, id)
		}
		if i > 0 && bytes.Compare(keys[i-1], keys[i]) >= 0 ||
			bytes.Compare(keys[i], low) < 0 || high != nil && bytes.Compare(keys[i], high) >= 0 {
			return fmt.Errorf("%w: element %d of page %d is out of order", errDamaged, i, id)
		}
	}
	for i := range count {
		e := p[pageHeader+i*elementSize:]
		var err error
		switch {
		case branch:
			end := high
			if i+1 < count {
				end = keys[i+1]
			}
			err = v.page(host.Uint64(e[8:]), keys[i], end, depth+1)
		case host.Uint32(e) == bucketElement:
			err = v.bucket(id, values[i], depth)
		case host.Uint32(e) != 0:
			err = fmt.Errorf("%w: element %d of page %d has flags %d", errDamaged, i, id, host.Uint32(e))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// element returns key and value, and whether they lie in the page behind the element.
func element(p []byte, at int, branch bool) (key, value []byte, fits bool) {
	pos, keySize, valueSize := uint64(host.Uint32(p[at:])), uint64(host.Uint32(p[at+4:])), uint64(0)
	if !branch {
		pos, keySize, valueSize = uint64(host.Uint32(p[at+4:])), uint64(host.Uint32(p[at+8:])),
			uint64(host.Uint32(p[at+12:]))
	}
	if keySize == 0 || pos < elementSize || uint64(at)+pos+keySize+valueSize > uint64(len(p)) {
		return nil, nil, false
	}
	rest := p[uint64(at)+pos:]
	return rest[:keySize], rest[keySize : keySize+valueSize], true
}

// bucket checks the pages of a bucket.
func (v *verifier) bucket(id uint64, value []byte, depth int) error {
	if len(value) < 16 {
		return fmt.Errorf("%w: a bucket in page %d has no root", errDamaged, id)
	}
	if root := host.Uint64(value); root != 0 {
		return v.page(root, nil, nil, depth+1)
	}
	inline := value[16:]
	if len(inline) < pageHeader || host.Uint16(inline[8:]) != leafFlag || depth >= maxDepth {
		return fmt.Errorf("%w: a bucket in page %d has no page of its own", errDamaged, id)
	}
	return v.elements(id, inline, nil, nil, depth+1)
}
