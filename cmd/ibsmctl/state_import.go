package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	file, kind string
	registry   *registry.Registry
	lids       []store.LID // in order of GUID; nil where the store's stay
	prefix     mad.Prefix  // of the subnet that it is from; 0 where the file does not say
	port       mad.GUID    // of the manager that it is from; 0 where the file does not say
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
		was, err = in.newStore(target)
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

// readImport reads a file of either kind. It rejects a file with an error.
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
	if head := bytes.TrimSpace(text); len(head) > 0 && head[0] == '{' {
		return readExport(file, text)
	}
	reg, found := sadb.Read(file, text)
	if err := found.Err(); err != nil {
		return nil, err
	}
	return &imported{file: file, kind: "OpenSM's SA database", registry: reg}, nil
}

// newStore is a store that does not exist yet, whose folder is named after its port.
func (in *imported) newStore(path string) (*keptState, error) {
	folder := filepath.Base(filepath.Dir(path))
	port, err := mad.ParseGUID(folder)
	if err != nil || !strings.HasPrefix(folder, "0x") {
		return nil, fmt.Errorf("state store %s does not exist, and its directory is not named after a port GUID such as 0x0002c90300a1b2c3", path)
	}
	prefix := in.prefix
	if prefix == 0 {
		prefix = mad.DefaultPrefix
	}
	return &keptState{Contents: store.NewContents(), file: path, prefix: prefix, port: port}, nil
}

// fits returns an error for records that do not belong to a subnet with a prefix.
func (in *imported) fits(prefix mad.Prefix) error {
	if in.prefix != 0 && in.prefix != prefix {
		return fmt.Errorf("%s is from a subnet with prefix %v, the state store from a subnet with prefix %v", in.file, in.prefix, prefix)
	}
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
			return fmt.Errorf("%s: the prefix of %v differs from the prefix of the state store, %v", in.file, gid, prefix)
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
	batch := store.Batch{Registry: in.registry.Freeze(), LIDs: in.lids}
	if in.lids != nil {
		for _, l := range now.LIDs {
			if _, stays := slices.BinarySearchFunc(in.lids, l.Port, func(n store.LID, port mad.GUID) int { return cmp.Compare(n.Port, port) }); !stays {
				batch.Forget = append(batch.Forget, l.Port)
			}
		}
	}
	s.Put(batch, nil)
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
	if in.lids != nil {
		t.add("LIDs", fmt.Sprint(len(was.LIDs)), fmt.Sprint(len(in.lids)))
	}
	verb := "imported"
	if dryRun {
		verb = "would be imported; nothing was written"
	}
	if err := t.print(w, terminalWidth(w)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s (%s) into %s: %s\n", in.file, in.kind, was.file, verb)
	return err
}
