// Package store keeps on disk what a manager must not lose: the LIDs it gave out, the
// registry, the last good configuration and partitions, and its terms.
//
// The truth is in memory. A Store holds the latest contents, so that it can write the
// file anew at any time: when a write fails, on a disk that is full or has gone
// read-only, the manager runs on, and what it missed is written whole once that works
// again. A file that is damaged is set aside under another name, for the fabric still
// knows the LIDs. A file that was written by another version or for another subnet, or
// that is none of ours, is refused and left as it is.
//
// In the file, a bbolt database, every value begins with a checksum over its key and
// itself. The registry is a snapshot in pieces and a log of Changes since; one
// transaction carries all that was put while the one before was being written.
package store
