package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"

	"go.etcd.io/bbolt"

	"ibsm/mad"
	"ibsm/registry"
)

// Schema is the newest version of the layout of the file. It is raised with every change of
// the layout below, and when registry gets another Kind. A file has the lowest version that has
// what is in it, so that an older ibsm can read it as long as nobody has used what is new.
const Schema = partitionsSchema

// Versions of the layout.
const (
	firstSchema      = 1
	partitionsSchema = 2 // there are, or were, partitions of callers
)

// schemaOf is the version of a file that has a registry.
func schemaOf(state *registry.State) uint64 {
	if state.PartitionNumber() > 0 {
		return partitionsSchema
	}
	return firstSchema
}

// Buckets, and what is in them. Numbers are big-endian. Every value but that of
// metaFormat begins with a checksum; see seal.
var (
	bucketMeta     = []byte("meta")     // names below -> values
	bucketLIDs     = []byte("lids")     // GUID -> base, LMC, absent
	bucketSnapshot = []byte("snapshot") // 0, 1, ... -> Changes that make the State
	bucketChanges  = []byte("changes")  // number of the first -> Changes
	bucketTerms    = []byte("terms")    // mastership terms: number -> began, master
	bucketTexts    = []byte("texts")    // name -> text
)

// Names in meta.
var (
	metaFormat   = []byte("format")
	metaSchema   = []byte("schema")
	metaPrefix   = []byte("prefix")
	metaPort     = []byte("port")
	metaSnapshot = []byte("snapshot") // the number of the State in the snapshot

	// How much there is of each, for a page can lose records and be whole without them.
	metaLIDs   = []byte("lids")
	metaTerms  = []byte("terms")
	metaTexts  = []byte("texts")
	metaPieces = []byte("pieces") // of the snapshot
	metaLast   = []byte("last")   // the number of the last Change
)

// format is the value of metaFormat.
const format = "ibsm store"

// pieceSize is about how long a piece of the snapshot is.
const pieceSize = 32 << 10

// errDamaged is for what no Store wrote.
var errDamaged = errors.New("the file is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal is a value with the checksum of its key and itself in front.
func seal(key, value []byte) []byte {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(value)), sum), value...)
}

// unseal is what was sealed.
func unseal(bucket, key, sealed []byte) ([]byte, error) {
	if len(sealed) < 4 {
		return nil, fmt.Errorf("%w: %s %x has no checksum", errDamaged, bucket, key)
	}
	value := sealed[4:]
	if crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value) != binary.BigEndian.Uint32(sealed) {
		return nil, fmt.Errorf("%w: the checksum of %s %x is wrong", errDamaged, bucket,
			key)
	}
	return value, nil
}

func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func putMeta(tx *bbolt.Tx, name []byte, n uint64) error {
	return tx.Bucket(bucketMeta).Put(name, seal(name, key64(n)))
}

func getMeta(tx *bbolt.Tx, name []byte) (uint64, error) {
	value, err := unseal(bucketMeta, name, tx.Bucket(bucketMeta).Get(name))
	if err == nil && len(value) != 8 {
		err = fmt.Errorf("%w: %s %s has another length", errDamaged, bucketMeta, name)
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), nil
}

// expect compares how much was found of something with what meta says.
func expect(tx *bbolt.Tx, name []byte, found uint64) error {
	want, err := getMeta(tx, name)
	if err == nil && found != want {
		err = fmt.Errorf("%w: the number of records of %s is %d instead of %d", errDamaged, name, found, want)
	}
	return err
}

// records iterates over the unsealed values of a bucket, which have a length of size
// if that is not 0, and keys of keySize.
func records(tx *bbolt.Tx, bucket []byte, keySize, size int) iter.Seq2[[2][]byte, error] {
	return func(yield func([2][]byte, error) bool) {
		b := tx.Bucket(bucket)
		if b == nil {
			yield([2][]byte{}, fmt.Errorf("%w: it has no %s", errDamaged, bucket))
			return
		}
		for cursor, k, v := b.Cursor(), []byte(nil), []byte(nil); ; {
			if k == nil {
				k, v = cursor.First()
			} else {
				k, v = cursor.Next()
			}
			if k == nil {
				return
			}
			value, err := unseal(bucket, k, v)
			if err == nil && (keySize > 0 && len(k) != keySize || size > 0 && len(value) != size) {
				err = fmt.Errorf("%w: %s %x has another length", errDamaged, bucket, k)
			}
			if !yield([2][]byte{k, value}, err) || err != nil {
				return
			}
		}
	}
}

// load reads everything. What it returns has no part of the file.
func load(tx *bbolt.Tx) (*Contents, error) {
	schema, err := getMeta(tx, metaSchema)
	if err != nil {
		return nil, err
	}
	c := &Contents{found: true, schema: schema}
	for r, err := range records(tx, bucketLIDs, 8, lidSize) {
		if err != nil {
			return nil, err
		}
		c.LIDs = append(c.LIDs, decodeLID(r[0], r[1]))
	}
	for r, err := range records(tx, bucketTerms, 8, 9) {
		if err != nil {
			return nil, err
		}
		c.Terms = append(c.Terms,
			Term{binary.BigEndian.Uint64(r[0]), r[1][8] == 1, int64(binary.BigEndian.Uint64(r[1]))})
	}
	texts := uint64(0)
	for r, err := range records(tx, bucketTexts, 0, 0) {
		if err != nil {
			return nil, err
		}
		texts++
		switch string(r[0]) {
		case textConfiguration:
			c.Configuration = append([]byte{}, r[1]...)
		case textPartitions:
			c.Partitions = append([]byte{}, r[1]...)
		case textKeys:
			c.Keys = append([]byte{}, r[1]...)
		case textRoutes:
			c.Routes = append([]byte{}, r[1]...)
		case textLinks:
			c.Links = append([]byte{}, r[1]...)
		}
	}
	if err := loadRegistry(tx, c); err != nil {
		return nil, err
	}
	return c, errors.Join(expect(tx, metaLIDs, uint64(len(c.LIDs))), expect(tx, metaTerms, uint64(len(c.Terms))),
		expect(tx, metaTexts, texts), expect(tx, metaLast, c.Registry.Seq()))
}

const lidSize = 2 + 1 + 8

func encodeLID(l LID) []byte {
	b := append(binary.BigEndian.AppendUint16(nil, uint16(l.Base)), l.LMC)
	return binary.BigEndian.AppendUint64(b, uint64(l.Absent))
}

func decodeLID(key, value []byte) LID {
	return LID{
		Port: mad.GUID(binary.BigEndian.Uint64(key)), Base: mad.LID(binary.BigEndian.Uint16(value)),
		LMC: value[2], Absent: int64(binary.BigEndian.Uint64(value[3:])),
	}
}

// loadRegistry makes the registry of its snapshot and of the Changes since.
func loadRegistry(tx *bbolt.Tx, c *Contents) error {
	seq, err := getMeta(tx, metaSnapshot)
	if err != nil {
		return err
	}
	c.Registry, err = registry.Restore(seq, decodeChanges(pieces(tx), &c.snapshot))
	if err != nil {
		return fmt.Errorf("%w: snapshot: %w", errDamaged, err)
	}
	for record, err := range records(tx, bucketChanges, 8, 0) {
		if err != nil {
			return err
		}
		if first := binary.BigEndian.Uint64(record[0]); first != c.Registry.Seq()+1 {
			return fmt.Errorf("%w: change %d is followed by %d", errDamaged, c.Registry.Seq(), first)
		}
		for change, err := range decodeChanges(single(record), &c.log) {
			if err == nil {
				err = c.Registry.Apply(change)
			}
			if err != nil {
				return fmt.Errorf("%w: change %d: %w", errDamaged, c.Registry.Seq()+1, err)
			}
		}
	}
	return nil
}

// pieces iterates over the snapshot, of which none is missing.
func pieces(tx *bbolt.Tx) iter.Seq2[[2][]byte, error] {
	return func(yield func([2][]byte, error) bool) {
		n := uint64(0)
		for record, err := range records(tx, bucketSnapshot, 4, 0) {
			n++
			if !yield(record, err) || err != nil {
				return
			}
		}
		if err := expect(tx, metaPieces, n); err != nil {
			yield([2][]byte{}, err)
		}
	}
}

func single(record [2][]byte) iter.Seq2[[2][]byte, error] {
	return func(yield func([2][]byte, error) bool) { yield(record, nil) }
}

// decodeChanges iterates over the Changes in records and adds up their length.
func decodeChanges(records iter.Seq2[[2][]byte, error], size *int) iter.Seq2[registry.Change, error] {
	return func(yield func(registry.Change, error) bool) {
		for record, err := range records {
			if err != nil {
				yield(nil, err)
				return
			}
			*size += len(record[1])
			for b := record[1]; len(b) > 0; {
				var c registry.Change
				c, b, err = registry.Decode(b)
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// writeAll fills an empty file and returns the length of the snapshot.
func writeAll(tx *bbolt.Tx, h *held, port mad.GUID) (int, error) {
	for _, name := range [][]byte{bucketMeta, bucketLIDs, bucketSnapshot, bucketChanges, bucketTerms, bucketTexts} {
		if _, err := tx.CreateBucket(name); err != nil {
			return 0, err
		}
	}
	all := h.all()
	err := errors.Join(tx.Bucket(bucketMeta).Put(metaFormat, []byte(format)),
		putMeta(tx, metaSchema, schemaOf(h.registry)),
		putMeta(tx, metaPrefix, uint64(mad.DefaultPrefix)), putMeta(tx, metaPort, uint64(port)), writeDelta(tx, &all))
	if err != nil {
		return 0, err
	}
	return writeSnapshot(tx, h.registry)
}

// writeDelta writes what was put, but for the registry.
func writeDelta(tx *bbolt.Tx, d *delta) error {
	err := errors.Join(putMeta(tx, metaLIDs, d.total.lids), putMeta(tx, metaTerms, d.total.terms),
		putMeta(tx, metaTexts, d.total.texts), putMeta(tx, metaLast, d.total.last))
	if err != nil {
		return err
	}
	if d.prefix != 0 {
		if err := putMeta(tx, metaPrefix, uint64(d.prefix)); err != nil {
			return err
		}
	}
	lids := tx.Bucket(bucketLIDs)
	ports := make([]mad.GUID, 0, len(d.lids))
	for port := range d.lids {
		ports = append(ports, port)
	}
	slices.Sort(ports)
	for _, port := range ports {
		k := key64(uint64(port))
		var err error
		if l := d.lids[port]; l.Base != 0 {
			err = lids.Put(k, seal(k, encodeLID(l)))
		} else {
			err = lids.Delete(k)
		}
		if err != nil {
			return err
		}
	}
	for name, text := range d.texts {
		k := []byte(name)
		if err := tx.Bucket(bucketTexts).Put(k, seal(k, text)); err != nil {
			return err
		}
	}
	if d.terms == nil {
		return nil
	}
	if err := tx.DeleteBucket(bucketTerms); err != nil {
		return err
	}
	terms, err := tx.CreateBucket(bucketTerms)
	if err != nil {
		return err
	}
	for _, r := range d.terms {
		k, v := key64(r.Number), append(key64(uint64(r.Began)), 0)
		if r.Master {
			v[8] = 1
		}
		if err := terms.Put(k, seal(k, v)); err != nil {
			return err
		}
	}
	return nil
}

// writeChanges appends to the log.
func writeChanges(tx *bbolt.Tx, first uint64, changes []byte) error {
	log := tx.Bucket(bucketChanges)
	log.FillPercent = 1 // keys only grow
	k := key64(first)
	return log.Put(k, seal(k, changes))
}

// writeSnapshot replaces snapshot and log by a State, and returns its length.
func writeSnapshot(tx *bbolt.Tx, state *registry.State) (size int, err error) {
	for _, name := range [][]byte{bucketSnapshot, bucketChanges} {
		if err := tx.DeleteBucket(name); err != nil {
			return 0, err
		}
		if _, err := tx.CreateBucket(name); err != nil {
			return 0, err
		}
	}
	snapshot := tx.Bucket(bucketSnapshot)
	snapshot.FillPercent = 1
	number := uint32(0)
	var piece []byte
	flush := func() error {
		k := binary.BigEndian.AppendUint32(nil, number)
		size += len(piece)
		err := snapshot.Put(k, seal(k, piece))
		number, piece = number+1, piece[:0]
		return err
	}
	for c := range state.Changes() {
		if piece = c.AppendTo(piece); len(piece) >= pieceSize {
			if err := flush(); err != nil {
				return 0, err
			}
		}
	}
	if err := flush(); err != nil {
		return 0, err
	}
	return size, errors.Join(putMeta(tx, metaSnapshot, state.Seq()), putMeta(tx, metaPieces, uint64(number)))
}
