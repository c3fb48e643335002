package main_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"ibsm/mad/smp"
)

var rewriteFields = flag.Bool("rewrite", false, "write docs/fields.md anew")

const fieldsPage = "../../docs/fields.md"

const fieldsHead = `# Fields of ports and switches, beside OpenSM

Generated from the rows in ` + "`cmd/ibsm`" + ` by ` + "`go test ./cmd/ibsm -run TestFieldsPage -rewrite`" + `.

` + "`TestFields`" + ` makes fabrics and settings at random and runs OpenSM 3.3.23 and ibsm on each: from a cold start, with values that devices
hold from before; then hosts join multicast groups, ask for alias GUIDs and leave groups, a node reboots, a link is lost, and a setting is
changed by SIGHUP. After each it compares, for every port, the value of every settable field of PortInfo, SwitchInfo and ExtendedPortInfo and
every entry of the tables, all values that each manager has sent in place of others, over how many links the forwarding tables lead from each switch to each LID, and whom members of groups reach. What differs has a row here, whose
condition in ` + "`cmd/ibsm/fields_match*_test.go`" + ` names the ports and the value that ibsm must have left; anything else fails the test, which runs 200 fabrics with ` + "`IBSM_PROOF=1`" + `. ` + "`TestFieldsClosed`" + ` puts
wrong values into every field and table, and none may pass. Both have the same ` + "`guid2lid`" + `,
since OpenSM assigns LIDs in the order of the bytes of port GUIDs in memory, and ibsm in the order of their values.

` + "\"Not chosen\" is explained in [options.md](options.md): a default in opensm.conf." + ` NodeDescription and SMInfo are not set by either.

| attribute | field | when | OpenSM | ibsm | why |
| --- | --- | --- | --- | --- | --- |
`

func fieldsText() string {
	var b strings.Builder
	b.WriteString(fieldsHead)
	for i := range fieldRows {
		r := &fieldRows[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", smp.AttrName(r.attr), r.fields, r.when, r.opensm, r.ibsm, r.reason)
	}
	return b.String()
}

// TestFieldsPage: the page has the rows that TestFields goes by.
func TestFieldsPage(t *testing.T) {
	if *rewriteFields {
		if err := os.WriteFile(fieldsPage, []byte(fieldsText()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(fieldsPage)
	if err != nil || string(got) != fieldsText() {
		t.Errorf("%s does not have these rows (%v); -rewrite writes it", fieldsPage, err)
	}
}
