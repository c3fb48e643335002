package sweep

import "testing"

// TestWhose: every transition. Another manager's routes are repaired and not improved, so that a wrong answer either
// moves routes that are in use, or never takes a better engine.
func TestWhose(t *testing.T) {
	all := []whose{ownRoutes, foundRoutes, recordedRoutes, coldRoutes}
	for _, c := range []struct {
		what string
		from []whose // all if empty
		e    evidence
		want whose
	}{
		{what: "first sweep, nothing uses the subnet", e: evidence{first: true, read: true, cold: true},
			want: coldRoutes},
		{what: "first sweep, nothing uses the subnet, with the record's tables",
			e: evidence{first: true, read: true, cold: true, recorded: true}, want: coldRoutes},
		{what: "first sweep, interim routes", e: evidence{first: true, read: true, interim: true}, want: coldRoutes},
		{what: "first sweep, tables of the record", e: evidence{first: true, read: true, recorded: true},
			want: recordedRoutes},
		{what: "first sweep, other tables", e: evidence{first: true, read: true}, want: foundRoutes},
		{what: "first sweep, no switch has shown a table", from: []whose{ownRoutes, coldRoutes},
			e: evidence{first: true}, want: ownRoutes},
		{what: "later, a switch is new", from: []whose{ownRoutes, coldRoutes}, e: evidence{read: true},
			want: ownRoutes},
		{what: "later, another manager's", from: []whose{foundRoutes}, e: evidence{read: true}, want: foundRoutes},
		{what: "later, the record's engine has refused", from: []whose{recordedRoutes}, want: foundRoutes},
		{what: "later, the record's engine is still at work", from: []whose{recordedRoutes}, e: evidence{serves: true},
			want: recordedRoutes},
		{what: "later, interim routes of this manager", from: []whose{ownRoutes}, e: evidence{serves: true},
			want: ownRoutes},
		{what: "later, interim routes for another manager's", from: []whose{foundRoutes}, e: evidence{serves: true},
			want: foundRoutes},
	} {
		if len(c.from) == 0 {
			c.from = all
		}
		for _, from := range c.from {
			if is := from.begins(c.e); is != c.want {
				t.Errorf("%s, from %d: %d, want %d", c.what, from, is, c.want)
			}
		}
	}
}
