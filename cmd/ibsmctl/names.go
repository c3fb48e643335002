package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"ibsm/conf/diag"
	"ibsm/ctl"
	"ibsm/mad"
	osmnames "ibsm/opensm/names"
)

// names are those that an operator gives to nodes. A nil one has none.
type names osmnames.Map

// readNames reads a node-name-map, and returns its text, too. Lines with an error are left out, with a warning.
func readNames(file string, stderr io.Writer) (names, []byte, error) {
	text, err := readUpTo(file, ctl.MaxNames)
	if err != nil {
		return nil, nil, err
	}
	m, err := osmnames.Read(file, bytes.NewReader(text))
	var wrong diag.List
	if len(m) > 0 && errors.As(err, &wrong) {
		wrong.Warn(stderr)
		err = nil
	}
	return names(m), text, err
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

// guidAndDesc is a node in a step of a plan: its GUID, and its NodeDescription in quotes.
var guidAndDesc = regexp.MustCompile(`(0x[0-9a-f]{16}) ("(?:[^"\\]|\\.)*")`)

// inStep is a step of a plan with names in place of NodeDescriptions.
func (n names) inStep(text string) string {
	return guidAndDesc.ReplaceAllStringFunc(text, func(node string) string {
		guid, quoted, _ := strings.Cut(node, " ")
		desc, err := strconv.Unquote(quoted)
		if err != nil {
			return node
		}
		return guid + " " + strconv.Quote(n.of(guid, desc))
	})
}

// withPeer is a text of a change with the name of the port with which it ends.
func (n names) withPeer(text string, p *ctl.Peer) string {
	if p == nil {
		return text
	}
	before, ends := strings.CutSuffix(text, fmt.Sprintf("%s port %d", p.Name, p.Port))
	if !ends {
		return text
	}
	return fmt.Sprintf("%s%s port %d", before, n.of(p.Node, p.Name), p.Port)
}

// resolve is the GUID of a node that was given the name, or the name itself.
func (n names) resolve(name string) string {
	if guid, ok := osmnames.Map(n).Find(name); ok {
		return guid.String()
	}
	return name
}
