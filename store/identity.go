package store

import (
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"ibsm/mad"
)

// Reasons for which Open refuses a file and leaves it as it is.
var (
	ErrNotStore = errors.New("not a store of ibsm")
	ErrNewer    = errors.New("written by a newer ibsm")
	ErrForeign  = errors.New("the store of another subnet or port")
	ErrInUse    = errors.New("in use by another process")
)

// identity is whose store it is: state of one subnet is wrong in another, and two
// managers do not share a file.
type identity struct {
	prefix mad.Prefix
	port   mad.GUID
}

// identify reads what a file says of itself and returns its schema.
func identify(tx *bbolt.Tx, want identity) (schema int, err error) {
	schema, is, err := introduce(tx)
	if err == nil && is != want {
		err = fmt.Errorf("%w: it belongs to subnet prefix %s and port %s, not to %s and %s; name another file for this one, "+
			"or move the file away if the prefix or the adapter was changed on purpose", ErrForeign, is.prefix, is.port, want.prefix, want.port)
	}
	if err != nil {
		return 0, err
	}
	return schema, nil
}

// introduce reads the schema of a file and whose it is.
func introduce(tx *bbolt.Tx) (schema int, is identity, err error) {
	meta := tx.Bucket(bucketMeta)
	if meta == nil || string(meta.Get(metaFormat)) != format {
		if tx.Bucket(bucketSnapshot) != nil || tx.Bucket(bucketChanges) != nil {
			return 0, is, fmt.Errorf("%w: it has the parts of a store and does not say that it is one", errDamaged)
		}
		return 0, is, fmt.Errorf("%w: it is a database of something else; name another file or move it away", ErrNotStore)
	}
	version, err := getMeta(tx, metaSchema)
	if err != nil {
		return 0, is, err
	}
	if version > Schema {
		return 0, is, fmt.Errorf("%w: its schema is %d and this version knows %d; run the newer version, or move the file away, which loses its content",
			ErrNewer, version, Schema)
	}
	if version == 0 {
		return 0, is, fmt.Errorf("%w: it says that its schema is 0", errDamaged)
	}
	prefix, err := getMeta(tx, metaPrefix)
	if err != nil {
		return 0, is, err
	}
	port, err := getMeta(tx, metaPort)
	if err != nil {
		return 0, is, err
	}
	return int(version), identity{mad.Prefix(prefix), mad.GUID(port)}, nil
}

// migrate brings a file to the schema of this version, in the transaction it is given.
func migrate(tx *bbolt.Tx, from int, steps []func(*bbolt.Tx) error) error {
	for i, step := range steps[from-1:] {
		if err := step(tx); err != nil {
			return fmt.Errorf("from schema %d to %d: %w", from+i, from+i+1, err)
		}
	}
	return putMeta(tx, metaSchema, uint64(len(steps)+1))
}
