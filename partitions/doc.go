// Package partitions is partitions.conf: who may talk to whom.
//
// Parse reads a file into a tree that keeps every byte, so that edits and formatting
// leave alone what they are not about. Resolve makes a Policy of it, the meaning of the
// file, with the places that give it; what is wrong comes back as a list, and a file with
// errors means nothing at all. The grammar is that of OpenSM. Where OpenSM misreads a
// file that is right, this package reads what is written and warns of the difference.
//
// The package opens no files and sends nothing.
package partitions
