package main

import (
	"errors"
	"io"
	"os"

	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	osmnames "ibsm/opensm/names"
)

// names are those that an operator gives to nodes. A nil one has none.
type names osmnames.Map

// readNames reads a node-name-map. Lines with an error are left out, with a warning.
func readNames(file string, stderr io.Writer) (names, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := osmnames.Read(file, f)
	var wrong diag.List
	if len(m) > 0 && errors.As(err, &wrong) {
		wrong.Warn(stderr)
		err = nil
	}
	return names(m), err
}

// add adds a name that the manager has.
func (n names) add(given *ctl.NodeName) error {
	guid, err := mad.ParseGUID(given.GUID)
	n[guid] = given.Name
	return err
}

// of is the name of a node, whose GUID is as the manager prints it.
func (n names) of(guid, desc string) string {
	g, err := mad.ParseGUID(guid)
	if err != nil {
		return desc
	}
	return osmnames.Map(n).Of(g, desc)
}

// resolve is the GUID of a node that was given the name, or the name itself.
func (n names) resolve(name string) string {
	if guid, ok := osmnames.Map(n).Find(name); ok {
		return guid.String()
	}
	return name
}
