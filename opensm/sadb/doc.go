// Package sadb reads and writes OpenSM's SA database, the file that its sa_db_dump
// leaves and its sa_db_file names: what clients have registered, a record a line.
//
// OpenSM gives a file up at the first line that it cannot read. Here every line stands
// independently: valid lines are used, invalid ones are reported with their position.
package sadb
