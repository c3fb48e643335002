package store

import (
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"

	"ibsm/mad"
)

// Reasons for which Open refuses a file and leaves it as it is.
var (
	ErrNotStore = errors.New("not a state store of ibsm")
	ErrSchema   = errors.New("written by another version of ibsm")
	ErrForeign  = errors.New("the state store belongs to another port")
	ErrInUse    = errors.New("in use by another process")
)

// identity is what a file says of itself: the port of its manager, and the prefix that the subnet had.
type identity struct {
	prefix mad.Prefix
	port   mad.GUID
}

// isOf returns an error if the file belongs to another manager. This is the one place that decides it, and the GUID of
// the port alone decides: two managers do not share a file, and what one of them knows is wrong for the other. The
// prefix does not: the operator of a subnet may change it, and then LIDs, terms and registrations are still those of
// this subnet. Whether a port was moved to another subnet cannot be known from either.
func (is identity) isOf(port mad.GUID) error {
	if is.port == port {
		return nil
	}
	return fmt.Errorf(
		"%w: it belongs to port %s, not to %s; name another file for this one, or move the file away if the adapter was changed on purpose",
		ErrForeign, is.port, port)
}

// Check returns the error with which Open would refuse a file, as far as that does not depend on other processes:
// ErrNotStore, ErrSchema or ErrForeign. It changes nothing. A file that cannot be read here is not judged.
func Check(path string, port mad.GUID) error {
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() && info.Size() == 0 {
		return nil
	}
	_, prefix, of, err := Look(path)
	if err == nil {
		if err = (identity{prefix, of}).isOf(port); err != nil {
			err = fmt.Errorf("store %s: %w", path, err)
		}
	}
	if errors.Is(err, ErrNotStore) || errors.Is(err, ErrSchema) || errors.Is(err, ErrForeign) {
		return err
	}
	return nil
}

// introduce reads whose a file is, which must be of a schema from firstSchema to Schema.
func introduce(tx *bbolt.Tx) (is identity, err error) {
	meta := tx.Bucket(bucketMeta)
	if meta == nil || string(meta.Get(metaFormat)) != format {
		if tx.Bucket(bucketSnapshot) != nil || tx.Bucket(bucketChanges) != nil {
			return is, fmt.Errorf("%w: it has the tables of a state store, but its identity is missing", errDamaged)
		}
		return is, fmt.Errorf("%w: it is a database of another program; name another file, or move it away", ErrNotStore)
	}
	schema, err := getMeta(tx, metaSchema)
	if err != nil {
		return is, err
	}
	if schema < firstSchema || schema > Schema {
		return is, fmt.Errorf(
			"%w: its schema is %d and this version understands %d; run the version that wrote it, or move the file away, which loses its content",
			ErrSchema, schema, Schema)
	}
	prefix, err := getMeta(tx, metaPrefix)
	if err != nil {
		return is, err
	}
	port, err := getMeta(tx, metaPort)
	if err != nil {
		return is, err
	}
	return identity{mad.Prefix(prefix), mad.GUID(port)}, nil
}
