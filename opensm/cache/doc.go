// Package cache reads and writes the files that OpenSM keeps in OSM_CACHE_DIR, so that
// either can take over from the other at any moment: guid2lid, guid2mkey, neighbors.
//
// They are read as OpenSM reads them. A record is a line "KEY VALUE" and an empty line;
// records that OpenSM skips are skipped, with a warning that says where. In one thing
// the reader is kinder: where the empty line is missing, OpenSM takes the next record
// for a part of the value and loses it.
package cache
