package manager

import (
	"fmt"

	"ibsm/finding"
	"ibsm/sweep/multicast"
)

// Forwarded says that the switches' tables carry all registrations up to Seq. It is sent for the last of the States
// passed with RegistryChanged, even if no table had to change, and if some switch did not accept its table: Failures
// lists those. A manager that is not master forwards nothing.
type Forwarded struct{ multicast.Forwarding }

func (Forwarded) action() {}

// multicastFindings are the findings after a finished round, including the switches that trees avoid.
func multicastFindings(done *multicast.Forwarding, avoided []finding.Finding) []finding.Finding {
	all := avoided
	add := func(kind finding.Kind, format string, args ...any) {
		all = append(all, finding.Finding{Kind: kind, Detail: fmt.Sprintf(format, args...)})
	}
	switch {
	case done.Err != nil:
		add(finding.MFTsIncomplete, "%v", done.Err)
	case len(done.Failures) > 0:
		f := &done.Failures[0]
		all = append(all, finding.Finding{Kind: finding.MFTsIncomplete, Node: f.Node, Detail: f.Detail,
			Fields: []any{"failures", len(done.Failures)}})
	}
	if done.Missed > 0 {
		add(finding.Unreached, "%d", done.Missed)
	}
	return all
}
