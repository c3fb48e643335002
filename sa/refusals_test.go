package sa

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ibsm/mad"
)

// TestRefusalsLimit: of each sender so many refusals are logged a minute, and then how many were
// not; what another sends is logged all the same. What is kept is bounded.
func TestRefusalsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		r := &Refusals{Log: func(_ slog.Level, text string) { lines = append(lines, text) }}
		refuse := func(from mad.GUID, group byte) {
			r.add(from, &refused{cause: "why", lines: []string{fmt.Sprint("from ", from)}, port: from, mgid: mad.GID{0xff, 15: group}})
		}
		for range 1000 {
			refuse(1, 1)
		}
		refuse(2, 1)
		if len(lines) != refusalsAMinute+1 || !strings.Contains(lines[refusalsAMinute], "from 0x0000000000000002") {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
		if all := r.All(); len(all) != 2 || all[0].Count+all[1].Count != 1001 {
			t.Errorf("%+v", all)
		}
		time.Sleep(time.Minute)
		lines = nil
		refuse(1, 1)
		if len(lines) != 2 || lines[0] != "refused requests of port 0x0000000000000001 are not logged: 990 in the last minute" {
			t.Errorf("%q", lines)
		}
		r.joined(1, mad.GID{0xff, 15: 1})
		if all := r.All(); len(all) != 1 || all[0].Port != 2 {
			t.Errorf("after the join: %+v", all)
		}
		for from := range mad.GUID(3 * maxRefusals) {
			refuse(from+1, 2)
		}
		if all := r.All(); len(all) != maxRefusals {
			t.Errorf("%d are kept", len(all))
		}
		var none Refusals // as of a manager without a log
		none.add(1, &refused{cause: "why", lines: []string{"x"}})
	})
}
