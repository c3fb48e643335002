package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ibsm/mad"
	"ibsm/opensm/sadb"
	"ibsm/registry"
	"ibsm/store"
)

// maxImport bounds a file that is imported, in bytes.
const maxImport = 1 << 30

// imported is what a file holds for a store.
type imported struct {
	file     string
	registry *registry.Registry
}

// importState puts what a file holds into a store.
func importState(file, target string, dryRun bool, stdout io.Writer) error {
	in, err := readImport(file)
	if err != nil {
		return err
	}
	if target == "" {
		if target, err = theStore(storePattern); err != nil {
			return err
		}
	}
	was, err := lookAt(target, "")
	if errors.Is(err, fs.ErrNotExist) {
		was, err = newStore(target)
	}
	if err != nil {
		return err
	}
	if err := in.fits(was.prefix); err != nil {
		return err
	}
	if !dryRun {
		if err := in.put(was); err != nil {
			return err
		}
	}
	return in.print(stdout, was, dryRun)
}

// readImport reads OpenSM's SA database. It rejects a file with an error.
func readImport(file string) (*imported, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxImport+1))
	if err == nil && len(text) > maxImport {
		err = fmt.Errorf("%s is longer than %d bytes", file, maxImport)
	}
	if err != nil {
		return nil, err
	}
	reg, found := sadb.Read(file, text)
	if err := found.Err(); err != nil {
		return nil, err
	}
	return &imported{file, reg}, nil
}

// newStore is a store that does not exist yet, whose folder is named after its port.
func newStore(path string) (*keptState, error) {
	folder := filepath.Base(filepath.Dir(path))
	port, err := mad.ParseGUID(folder)
	if err != nil || !strings.HasPrefix(folder, "0x") {
		return nil, fmt.Errorf(
			"state store %s does not exist, and its directory is not named after a port GUID such as 0x0002c90300a1b2c3", path)
	}
	return &keptState{Contents: store.NewContents(), file: path, prefix: mad.DefaultPrefix, port: port}, nil
}

// fits returns an error for records that do not belong to a subnet with a prefix.
func (in *imported) fits(prefix mad.Prefix) error {
	for c := range in.registry.Changes() {
		var gid mad.GID
		switch c := c.(type) {
		case registry.PutMember:
			gid = c.Port
		case registry.PutService:
			gid = c.GID
		case registry.PutSubscription:
			gid = c.Subscriber
		default:
			continue
		}
		if p := gid.Prefix(); !gid.IsMulticast() && p != prefix && p != mad.DefaultPrefix {
			return fmt.Errorf("%s: the prefix of %v differs from the prefix of the state store, %v", in.file, gid,
				prefix)
		}
	}
	return nil
}

// put writes it into the store, whole or not at all.
func (in *imported) put(was *keptState) error {
	s, now, err := store.Open(store.Config{Path: was.file, Prefix: was.prefix, Port: was.port})
	switch {
	case errors.Is(err, store.ErrInUse):
		return fmt.Errorf("%w; stop the manager before an import", err)
	case err != nil:
		return err
	case now.Damage != nil:
		return errors.Join(fmt.Errorf("%s is damaged: %w", was.file, now.Damage), s.Close())
	}
	s.Put(store.Batch{Registry: in.registry.Freeze()}, nil)
	return errors.Join(s.Flush(), s.Close())
}

// print compares the previous and the imported contents of the store.
func (in *imported) print(w io.Writer, was *keptState, dryRun bool) error {
	t := &table{columns: []column{{head: ""}, {head: "WAS", right: true}, {head: "IMPORTED", right: true}}}
	a, b := was.Registry.Counts(), in.registry.Counts()
	for _, row := range []struct {
		name     string
		was, now int
	}{
		{"groups", a.Groups, b.Groups}, {"members", a.Members, b.Members}, {"services", a.Services, b.Services},
		{"subscriptions", a.Subscriptions, b.Subscriptions}, {"alias GUIDs", a.Aliases, b.Aliases},
		{"ports that demand a GRH", a.GRHPorts, b.GRHPorts},
	} {
		t.add(row.name, fmt.Sprint(row.was), fmt.Sprint(row.now))
	}
	verb := "imported"
	if dryRun {
		verb = "would be imported; nothing was written"
	}
	if err := t.print(w, terminalWidth(w)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s (OpenSM's SA database) into %s: %s\n", in.file, was.file, verb)
	return err
}
