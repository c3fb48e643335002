// Package partitions implements partitions.conf: which ports may communicate.
//
// Parse reads a file into a tree that keeps every byte, so that edits and formatting do
// not touch other parts. File.Policy returns its meaning, with positions; errors are a list, and
// a file with errors has no policy. The grammar is that of OpenSM. Where OpenSM misreads a
// correct file, this package follows the file and warns of the difference.
//
// The package opens no files and sends nothing.
package partitions
