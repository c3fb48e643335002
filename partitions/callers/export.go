package callers

import (
	"fmt"
	"strings"

	"ibsm/partitions"
	"ibsm/registry"
)

// Export is the partitions of callers as partitions.conf, for OpenSM, or for a file that has them from then on. Members
// by the names of hosts are as in ibsm's files: ibsmctl partitions export writes GUIDs in their place.
func Export(state *registry.State) []byte {
	var b strings.Builder
	for p := range state.Partitions() {
		if note := oneLine(p.Note); note != "" {
			fmt.Fprintf(&b, "# %s\n", note)
		}
		head := fmt.Sprintf("%s=%s", p.Name, p.Key)
		if p.SL != 0 { // the last definition decides
			head += fmt.Sprintf(", sl=%d", p.SL)
		}
		var flags strings.Builder
		if p.IPoIB {
			flags.WriteString(", ipoib")
			for _, f := range []struct {
				word  string
				value uint64
			}{{"mtu", uint64(p.MTU)}, {"rate", uint64(p.Rate)}, {"scope", uint64(p.Scope)}, {"Q_Key", uint64(p.QKey)}} {
				if f.value != 0 {
					fmt.Fprintf(&flags, ", %s=%d", f.word, f.value)
				}
			}
		}
		var members [2][]string // those with indx0 need a definition of their own
		for m := range state.PartitionMembers(p.Key) {
			who := m.Host
			if who == "" {
				who = m.Port.String()
			}
			kind := 0
			if m.Index0 {
				kind = 1
			}
			members[kind] = append(members[kind], who+"="+partitions.Membership(m.Membership).String())
		}
		writeDefinition(&b, head+flags.String(), members[0])
		if len(members[1]) > 0 {
			writeDefinition(&b, head+", indx0", members[1])
		}
	}
	return []byte(b.String())
}

// writeDefinition writes a definition, with its members one a line.
func writeDefinition(b *strings.Builder, head string, members []string) {
	b.WriteString(head + " :")
	if len(members) == 0 {
		b.WriteString(" NONE")
	}
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    " + m)
	}
	b.WriteString(" ;\n")
}

// oneLine is a text without what would end a comment.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
