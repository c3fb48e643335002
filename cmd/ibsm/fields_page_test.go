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

var fieldsHead = strings.ReplaceAll(`# Fields of ports and switches, beside OpenSM

Generated from the rows in 'cmd/ibsm' by 'go test ./cmd/ibsm -run TestFieldsPage -rewrite'.

Every field of ports and switches that OpenSM 3.3.23 and ibsm leave with different values on the same subnet, and why.

'TestFields' generates random fabrics and settings, and runs both managers on each: first a cold start on devices that
hold old values; then hosts join and leave multicast groups and ask for alias GUIDs, a node reboots, a link is lost, and
SIGHUP changes a setting. After each step it compares, for every port,

- every settable field of PortInfo, SwitchInfo and ExtendedPortInfo, and every entry of the tables;
- all values that each manager has replaced;
- the number of links on the route from each switch to each LID, and the members that each member of a group reaches.

Each difference has a row here, with a condition in 'cmd/ibsm/fields_match*_test.go' that names the ports and the value
that ibsm must have left; any other difference fails the test, which runs 200 fabrics with 'IBSM_PROOF=1'.
'TestFieldsClosed' writes wrong values into every field and table, and none may pass. Both managers have the same
'guid2lid', since OpenSM assigns LIDs in the order of the bytes of port GUIDs in memory, and ibsm in the order of their
values.

"Not set" is explained in [options.md](options.md): a default in opensm.conf. NodeDescription and SMInfo are not set
by either manager.

| attribute | field | when | OpenSM | ibsm | why |
| --- | --- | --- | --- | --- | --- |
`, "'", "`")

func fieldsText() string {
	var b strings.Builder
	b.WriteString(fieldsHead)
	for i := range fieldRows {
		r := &fieldRows[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", smp.AttrName(r.attr), r.fields, r.when, r.opensm, r.ibsm,
			r.reason)
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
